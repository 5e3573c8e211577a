//! Row 33: two blocks of one type.
use mcp_runtime::prelude::*;

struct Notebook;

#[handlers]
impl Notebook {
    #[tool]
    fn search(&self) {}
}

#[handlers]
impl Notebook {
    #[tool]
    fn create(&self) {}
}

fn main() {
    let _ = Server::new("s", "1").mount(Notebook);
}
