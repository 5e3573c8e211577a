//! Row 11: a type of another crate, without the feature of schemars that describes it.
use bytes::Bytes;
use mcp_runtime::Json;
use mcp_runtime::prelude::*;

#[tool]
fn first(contents: Bytes) -> usize {
    contents.len()
}

#[tool]
fn second() -> Json<Bytes> {
    Json(Bytes::new())
}

fn main() {
    let _ = tools![first, second];
}
