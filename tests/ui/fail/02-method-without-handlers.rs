//! Row 2: `#[tool]` on a method whose impl block has no `#[handlers]`.
use mcp_runtime::prelude::*;

struct Notebook;

impl Notebook {
    /// Find notes.
    #[tool]
    fn search(&self, query: String) -> String {
        query
    }

    #[prompt(title = "Review")]
    async fn review(&self) -> String {
        self.search(String::new())
    }
}

fn main() {
    Notebook.search(String::new());
    let _ = Notebook.review();
}
