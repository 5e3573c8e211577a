//! Row 42: a return value that borrows from nothing that outlives it.
use mcp_runtime::prelude::*;

#[tool]
fn trimmed(text: String) -> &str {
    text.trim()
}

#[tool]
async fn constant() -> &str {
    "constant"
}

fn main() {
    let _ = tools![trimmed, constant];
}
