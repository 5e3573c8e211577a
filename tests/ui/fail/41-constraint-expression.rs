//! Row 41: a constraint whose value is an expression, of a type that is no JSON.
use mcp_runtime::prelude::*;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(1);

#[tool]
fn wait(#[arg(max = LIMIT)] seconds: u64) -> u64 {
    seconds
}

fn main() {
    let _ = tools![wait];
}
