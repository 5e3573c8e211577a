//! Row 13: the same, through `?`.
use mcp_runtime::prelude::*;

#[derive(Debug)]
struct Failed;

fn work() -> std::result::Result<String, Failed> {
    Err(Failed)
}

#[tool]
fn run() -> Result<String> {
    Ok(work()?)
}

fn main() {
    let _ = tools![run];
}
