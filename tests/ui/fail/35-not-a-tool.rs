//! Row 35: what `tools![]` and its siblings cannot take.
use mcp_runtime::prelude::*;

fn helper() {}

#[prompt]
fn greet() -> String {
    String::new()
}

#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[resource("docs://manual")]
fn manual() -> String {
    String::new()
}

fn main() {
    helper();
    let _ = Server::new("s", "1")
        .tools(tools![add, greet, manual])
        .prompts(prompts![greet, add])
        .resources(resources![manual, add, greet]);
}
