//! Row 32: names no field can have.
use mcp_runtime::prelude::*;
use serde::Serialize;

#[derive(Serialize, Resource)]
#[resource(uri = "page://{0}")]
struct Tuple(u64);

#[derive(Serialize, Resource)]
#[resource(uri = "page://{self}")]
struct Itself {
    id: u64,
}

fn main() {}
