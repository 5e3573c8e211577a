//! Row 43: an attribute under another name in a `#[handlers]` block, which sees names only.
use mcp_runtime::prelude::*;
use mcp_runtime::tool as mcp_tool;

struct Some;

#[handlers]
impl Some {
    #[mcp_tool]
    fn first(&self) {}

    #[tool]
    fn second(&self) {}
}

struct All;

#[handlers]
impl All {
    #[mcp_tool(read_only)]
    fn first(&self) {}

    #[mcp_tool]
    fn second(&self) {}
}

fn main() {
    let _ = Server::new("s", "1").mount(Some).mount(All);
}
