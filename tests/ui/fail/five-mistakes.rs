//! Five mistakes in one item: all of them are reported, and nothing else.
use mcp_runtime::prelude::*;

#[tool(readonly, name = "search notes", title = 5)]
async fn search(query: &str, #[arg(defualt = 10)] limit: u32) -> String {
    query.repeat(limit as usize)
}

struct Notebook;

#[handlers]
impl Notebook {
    #[tool(readonly)]
    fn find(&mut self, query: &str) {
        let _ = query;
    }

    #[resource("note://{id", mime = 5)]
    fn note(&self, (id, _): (u64, u64)) -> String {
        id.to_string()
    }
}

fn main() {
    let _ = Server::new("s", "1").tools(tools![search]).mount(Notebook);
}
