//! Row 25: `#[arg]` on what is not the caller's, keys that make no sense there, other attributes.
use mcp_runtime::prelude::*;

#[tool]
fn context(#[arg(description = "the context")] ctx: &Context) -> String {
    ctx.request_id().to_owned()
}

struct Notebook;

#[handlers]
impl Notebook {
    #[tool]
    fn receiver(#[arg(default)] &self) {}
}

#[prompt]
fn prompt(#[arg(header = "Region")] region: String, #[arg(flatten)] rest: String) -> String {
    region + &rest
}

#[tool]
fn tool(#[arg(complete = names)] name: String, #[arg(header = "not a header")] region: String) -> String {
    name + &region
}

#[tool]
fn flat(#[arg(flatten, rename = "x", default, header = "X")] all: serde_json::Value) -> String {
    all.to_string()
}

#[tool]
fn conditional(#[cfg(unix)] a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = (tools![context, tool, flat, conditional], prompts![prompt]);
    let _ = Server::new("s", "1").mount(Notebook);
}
