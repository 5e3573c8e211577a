//! Row 17: two attributes on one function.
use mcp_runtime::prelude::*;

#[tool]
#[prompt]
fn both() -> String {
    String::new()
}

#[tool]
#[tool(read_only)]
fn twice() -> String {
    String::new()
}

/// With something in between.
#[resource("docs://manual")]
#[inline]
#[mcp_runtime::tool]
fn resource_and_tool() -> String {
    both()
}

struct Notebook;

#[handlers]
impl Notebook {
    #[tool]
    #[prompt]
    fn both(&self) -> String {
        String::new()
    }

    #[tool]
    #[tool(read_only)]
    fn twice(&self) -> String {
        String::new()
    }
}

fn main() {
    let _ = (tools![both, twice], resources![resource_and_tool]);
    let _ = Server::new("s", "1").mount(Notebook);
}
