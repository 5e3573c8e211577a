//! Row 11: `Deserialize` alone, `JsonSchema` alone.
use mcp_runtime::prelude::*;

#[derive(serde::Deserialize)]
struct Decodable {
    x: f64,
}

#[derive(schemars::JsonSchema)]
struct Describable {
    x: f64,
}

#[tool]
fn first(point: Decodable) -> f64 {
    point.x
}

#[tool]
fn second(point: Describable) -> f64 {
    point.x
}

fn main() {
    let _ = tools![first, second];
}
