//! Row 25: `#[arg]` on a function that is no handler.
use mcp_runtime::prelude::*;

fn helper(#[arg(default = 1)] a: i64) -> i64 {
    a
}

struct Notebook;

#[handlers]
impl Notebook {
    #[tool]
    fn search(&self) -> i64 {
        self.helper(1)
    }

    fn helper(&self, #[arg(default = 1)] a: i64) -> i64 {
        a
    }
}

fn main() {
    helper(1);
    let _ = Server::new("s", "1").mount(Notebook);
}
