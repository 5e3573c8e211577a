//! Row 11: the same, inside other types, in a method and with a default.
use mcp_runtime::prelude::*;

#[derive(Default)]
struct Point {
    x: f64,
}

struct Plane;

#[handlers]
impl Plane {
    #[tool]
    async fn path(&self, points: Option<Vec<Point>>) -> f64 {
        points.unwrap_or_default().iter().map(|point| point.x).sum()
    }
}

#[prompt]
fn describe(point: Point) -> String {
    point.x.to_string()
}

#[resource("point://{point}")]
fn read(point: Point) -> String {
    point.x.to_string()
}

fn main() {
    let _ = Server::new("s", "1").mount(Plane).prompts(prompts![describe]).resources(resources![read]);
}
