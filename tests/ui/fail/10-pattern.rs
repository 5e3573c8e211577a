//! Row 10: arguments without a name.
use mcp_runtime::prelude::*;

#[tool]
fn distance((x, y): (f64, f64)) -> f64 {
    x.hypot(y)
}

#[tool]
fn ignore(_: String) {}

#[resource("note://{id}")]
async fn note(ref id: String) -> String {
    id.clone()
}

fn main() {
    let _ = tools![distance, ignore];
    let _ = resources![note];
}
