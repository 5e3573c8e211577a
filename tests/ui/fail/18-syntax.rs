//! Row 18: what is between the parentheses is no list of keys.
use mcp_runtime::prelude::*;

#[tool(title: "Adder")]
fn colon() {}

#[tool(title = "Adder" read_only)]
fn comma() {}

#[tool(title = )]
fn nothing() {}

#[resource("docs://manual" mime = "text/plain")]
fn manual() -> String {
    String::new()
}

#[resource(mime = "text/plain", "docs://manual")]
fn last() -> String {
    String::new()
}

#[resource = "docs://manual"]
fn assigned() -> String {
    String::new()
}

#[tool]
fn argument(#[arg] a: i64, #[arg = 5] b: i64, #[arg(default 5)] c: i64) -> i64 {
    a + b + c
}

#[derive(serde::Serialize, Resource)]
#[resource(uri "config://app")]
struct Config {
    theme: String,
}

#[derive(serde::Serialize, Resource)]
#[resource = "config://app"]
struct Assigned {
    theme: String,
}

fn main() {
    let _ = (tools![colon, comma, nothing, argument], resources![manual, last, assigned]);
    let theme = String::new;
    let _ = Server::new("s", "1").resource(Config { theme: theme() }).resource(Assigned { theme: theme() });
}
