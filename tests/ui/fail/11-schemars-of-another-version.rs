//! Row 11: a `JsonSchema` of schemars 0.8.
use mcp_runtime::Json;
use mcp_runtime::prelude::*;

#[derive(serde::Deserialize, serde::Serialize, schemars08::JsonSchema)]
#[schemars(crate = "schemars08")]
struct Point {
    x: f64,
}

#[tool]
fn first(point: Point) -> f64 {
    point.x
}

#[tool]
fn second() -> Json<Point> {
    Json(Point { x: 1.0 })
}

fn main() {
    let _ = tools![first, second];
}
