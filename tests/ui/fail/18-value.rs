//! Row 18: values of the wrong type.
use mcp_runtime::prelude::*;

#[tool(name = 5, title, read_only = "yes", icon = 1, meta = "x", blocking = 1, description = ADD)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tool(timeout = 30, crate = "mcp_runtime")]
async fn later(
    #[arg(rename = 1, header)] a: i64,
    #[arg(flatten = "yes")] b: serde_json::Value,
    #[arg(description = 'c')] c: i64,
) -> String {
    format!("{a}{b}{c}")
}

#[tool(timeout = "soon")]
async fn soon() {}

#[resource(
    "docs://manual",
    mime = text,
    audience = "everybody",
    priority = 2,
    last_modified = 2026,
    size = "big"
)]
fn manual() -> String {
    String::new()
}

#[tool("add two numbers")]
fn positional(#[arg("the first")] a: i64) -> i64 {
    a
}

#[derive(serde::Serialize, Resource)]
#[resource(uri = 5)]
struct Config {
    #[resource(text = true)]
    theme: String,
}

#[derive(serde::Serialize, Resource)]
#[resource("config://app")]
struct Positional {
    theme: String,
}

fn main() {
    let _ = (tools![add, later, soon, positional], resources![manual]);
    let theme = String::new;
    let _ = Server::new("s", "1").resource(Config { theme: theme() }).resource(Positional { theme: theme() });
}
