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

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Range {
    lo: i64,
    hi: i64,
}

#[tool]
fn length(Range { lo, hi }: Range) -> i64 {
    hi - lo
}

fn main() {
    let _ = tools![distance, ignore, length];
    let _ = resources![note];
}
