//! Row 20: names no client accepts.
use mcp_runtime::prelude::*;

#[tool(name = "add numbers")]
fn space() {}

#[tool(name = "")]
fn empty() {}

#[tool(
    name = "a23456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
)]
fn long() {}

#[tool]
fn größe() {}

#[prompt(name = "notes/review")]
fn slash() -> String {
    String::new()
}

// Resources are found by URI; their names are for people.
#[resource("docs://manual", name = "The manual, in full")]
fn manual() -> String {
    String::new()
}

fn main() {
    let _ = (tools![space, empty, long, größe], prompts![slash], resources![manual]);
}
