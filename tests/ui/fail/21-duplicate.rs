//! Row 21: one name or URI twice in a block.
use mcp_runtime::prelude::*;

struct Notebook;

#[handlers]
impl Notebook {
    #[tool]
    fn search(&self) {}

    #[tool(name = "search")]
    fn find(&self) {}

    // A prompt may be called like a tool.
    #[prompt(name = "search")]
    fn ask(&self) -> String {
        String::new()
    }

    #[resource("note://{id}")]
    fn note(&self, id: u64) -> String {
        id.to_string()
    }

    #[resource("note://{id}", name = "other")]
    fn same_note(&self, id: u64) -> String {
        id.to_string()
    }

    #[resource("note://{number}", name = "third")]
    fn same_places(&self, number: u64) -> String {
        number.to_string()
    }
}

fn main() {
    let _ = Server::new("s", "1").mount(Notebook);
}
