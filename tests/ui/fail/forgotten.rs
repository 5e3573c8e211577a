//! A tool that is registered nowhere is reported by rustc, like any function nobody calls.
#![deny(dead_code)]
use mcp_runtime::prelude::*;

#[tool]
fn forgotten() {}

#[prompt]
async fn forgotten_prompt() -> String {
    String::new()
}

#[resource("note://{id}")]
fn forgotten_resource(id: u64) -> String {
    id.to_string()
}

#[tool]
fn used() {}

fn main() {
    let _ = tools![used];
}
