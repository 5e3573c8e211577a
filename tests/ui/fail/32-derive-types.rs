//! Row 32: fields and structs whose types do not fit.
use mcp_runtime::prelude::*;

struct Opaque;

#[derive(Resource)]
#[resource(uri = "config://app")]
struct NotSerialize {
    theme: String,
}

#[derive(Resource)]
#[resource(uri = "page://one")]
struct NotText {
    #[resource(text)]
    body: Opaque,
}

#[derive(Resource)]
#[resource(uri = "page://two")]
struct NotBytes {
    #[resource(blob)]
    body: Opaque,
}

#[derive(serde::Serialize, Resource)]
#[resource(uri = "page://{id}")]
struct NotDisplay {
    #[serde(skip)]
    id: Opaque,
}

#[derive(Resource)]
#[resource(uri = "page://three")]
struct NotTime {
    #[resource(text)]
    body: String,
    #[resource(last_modified)]
    changed: Opaque,
}

fn main() {}
