//! Row 23: the default of an `Option`, without `Some`.
use mcp_runtime::prelude::*;

#[tool]
fn number(#[arg(default = 5)] limit: Option<u32>, #[arg(default = "x")] tag: std::option::Option<String>) -> u32 {
    limit.unwrap_or(tag.map_or(0, |tag| tag.len() as u32))
}

#[tool]
fn both(#[arg(default = Some(5))] limit: Option<u32>) -> u32 {
    limit.unwrap_or_default()
}

fn main() {
    let _ = tools![number, both];
}
