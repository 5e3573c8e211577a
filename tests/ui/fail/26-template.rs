//! Row 26: templates that cannot be read.
use mcp_runtime::prelude::*;

#[resource("note://{id")]
fn unclosed(id: u64) -> String {
    id.to_string()
}

#[resource("note://id}")]
fn unopened() -> String {
    String::new()
}

#[resource("note://{?id}")]
fn operator(id: u64) -> String {
    id.to_string()
}

#[resource("note://{}")]
fn nameless() -> String {
    String::new()
}

#[resource("note://{id*}")]
fn modifier(id: u64) -> String {
    id.to_string()
}

#[resource("note://{a}{b}")]
fn adjacent(a: u64, b: u64) -> String {
    format!("{a}{b}")
}

#[resource("note://{id}/{id}")]
fn twice(id: u64) -> String {
    id.to_string()
}

fn main() {
    let _ = resources![unclosed, unopened, operator, nameless, modifier, adjacent, twice];
}
