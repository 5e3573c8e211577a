//! Row 5: lifetime parameters and where clauses.
use mcp_runtime::prelude::*;

#[tool]
fn first<'a>(text: String) -> String {
    text
}

#[tool]
fn second(text: String) -> String
where
    String: Clone,
{
    text.clone()
}

fn main() {
    let _ = tools![first, second];
}
