use mcp_runtime::prelude::*;

fn trusted(name: &str) -> bool {
    name == "me"
}

#[tool(visible_if = trusted)]
fn vault() {}

#[tool(visible_if)]
fn safe() {}

fn main() {
    let _ = tools![vault, safe];
}
