//! Row 12: return types no client understands.
use mcp_runtime::prelude::*;

struct Point {
    x: f64,
}

#[tool]
fn sync(x: f64) -> Point {
    Point { x }
}

#[tool]
async fn later(x: f64) -> Point {
    Point { x }
}

#[tool(blocking)]
fn slow(x: f64) -> Point {
    Point { x }
}

#[tool]
fn fallible(x: f64) -> Result<Point> {
    Ok(Point { x })
}

#[tool]
fn many() -> Vec<String> {
    Vec::new()
}

#[prompt]
fn message() -> i64 {
    1
}

#[resource("point://one")]
fn contents() -> f64 {
    sync(1.0).x
}

struct Plane;

#[handlers]
impl Plane {
    #[tool]
    async fn point(&self) -> Option<Point> {
        None
    }
}

fn main() {
    let _ = tools![sync, later, slow, fallible, many];
    let _ = (prompts![message], resources![contents]);
    let _ = Server::new("s", "1").mount(Plane);
}
