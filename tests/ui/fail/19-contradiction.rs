//! Row 19: keys that contradict each other, or the function.
use mcp_runtime::prelude::*;

#[tool(read_only, destructive)]
fn first() {}

#[tool(destructive = true, title = "Second", read_only)]
fn second() {}

#[tool(blocking)]
async fn third() {}

#[tool(timeout = "5s")]
fn fourth() {}

fn main() {
    let _ = tools![first, second, third, fourth];
}
