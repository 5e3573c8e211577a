//! Row 11: an argument type without `Deserialize` and `JsonSchema`.
use mcp_runtime::prelude::*;

struct Point {
    x: f64,
}

#[tool]
fn first(point: Point) -> f64 {
    point.x
}

fn main() {
    let _ = tools![first];
}
