//! Row 16: a key of another macro.
use mcp_runtime::prelude::*;

#[tool(mime = "text/plain")]
fn first() {}

#[tool(priority = 0.5, uri = "x://y", default = 5)]
fn second() {}

#[prompt(read_only)]
fn third() -> String {
    String::new()
}

#[resource("docs://manual", destructive = false)]
fn fourth() -> String {
    String::new()
}

#[resource(uri = "docs://manual")]
fn fifth() -> String {
    String::new()
}

#[derive(serde::Serialize, Resource)]
#[resource(uri = "config://app", timeout = "5s")]
struct Config {
    theme: String,
}

#[tool]
fn sixth(#[arg(title = "A")] a: i64, #[arg(name = "c")] b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = (tools![first, second, sixth], prompts![third], resources![fourth, fifth]);
    let _ = Server::new("s", "1").resource(Config { theme: String::new() });
}
