//! Row 7: arguments that borrow by a lifetime.
use std::borrow::Cow;

use mcp_runtime::prelude::*;

#[tool]
fn text(query: Cow<'_, str>) -> usize {
    query.len()
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Query<'a> {
    text: &'a str,
}

#[tool]
fn structure(query: Query<'_>) -> usize {
    query.text.len()
}

#[tool]
async fn list(words: Vec<Cow<'_, str>>, tag: Option<Box<&str>>) -> usize {
    words.len() + tag.map_or(0, |tag| tag.len())
}

fn main() {
    let _ = tools![text, structure, list];
}
