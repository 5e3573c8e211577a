//! Row 34: a module or type with the name of the function. For now two errors, both of rustc.
use mcp_runtime::prelude::*;

mod search {}

#[tool]
fn search() {}

fn main() {}
