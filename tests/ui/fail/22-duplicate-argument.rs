//! Row 22: one property twice.
use mcp_runtime::prelude::*;

#[tool]
fn copy(from: String, #[arg(rename = "from")] to: String) -> String {
    from + &to
}

#[tool]
fn later(#[arg(rename = "b")] a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = tools![copy, later];
}
