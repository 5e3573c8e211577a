use mcp_runtime::prelude::*;

#[resource("atlas://sea", cache = "public")]
fn sea() -> &'static str {
    "blue"
}

#[resource("atlas://land", ttl = "1h", cache = "everybody")]
fn land() -> &'static str {
    "green"
}

#[tool(subscribe)]
fn tool() {}

fn main() {
    let _ = resources![sea, land];
}
