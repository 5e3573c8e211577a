//! Row 17: a key twice.
use mcp_runtime::prelude::*;

#[tool(title = "Adder", read_only, title = "Sum", read_only = false)]
fn add(#[arg(default = 1, default = 2)] a: i64, #[arg(default = 1)] #[arg(default = 2)] b: i64) -> i64 {
    a + b
}

#[derive(serde::Serialize, Resource)]
#[resource(uri = "config://app")]
#[resource(uri = "config://other")]
struct Config {
    theme: String,
}

fn main() {
    let _ = tools![add];
    let _ = Server::new("s", "1").resource(Config { theme: String::new() });
}
