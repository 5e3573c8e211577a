//! Row 7: arguments by reference.
use mcp_runtime::prelude::*;

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub struct Query {
    pub text: String,
}

#[tool]
fn text(query: &str) -> String {
    query.to_owned()
}

#[tool]
async fn list(words: &[String], limit: u32) -> usize {
    words.len().min(limit as usize)
}

#[tool]
fn number(count: &u32) -> u32 {
    *count
}

#[tool]
fn structure(query: &Query) -> String {
    query.text.clone()
}

#[resource("note://{id}")]
fn note(id: &str) -> String {
    id.to_owned()
}

#[tool]
fn maybe(tag: Option<&str>) -> usize {
    tag.map_or(0, str::len)
}

#[tool]
fn fixed(tag: &'static str) -> usize {
    tag.len()
}

fn main() {
    let _ = tools![text, list, number, structure, maybe, fixed];
    let _ = resources![note];
    text("called as before");
}
