//! Row 12: `Json<T>` of a type that cannot be written or described.
use mcp_runtime::{Json, prelude::*};

struct Neither {
    x: f64,
}

#[derive(serde::Serialize)]
struct NoSchema {
    x: f64,
}

#[tool]
fn first(x: f64) -> Json<Neither> {
    Json(Neither { x })
}

#[tool]
async fn second(x: f64) -> Result<Json<Vec<NoSchema>>> {
    Ok(Json(vec![NoSchema { x }]))
}

#[resource("point://one")]
fn third() -> Json<Neither> {
    Json(Neither { x: first(1.0).0.x })
}

fn main() {
    let _ = tools![first, second];
    let _ = resources![third];
}
