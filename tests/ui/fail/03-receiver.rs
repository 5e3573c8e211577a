//! Row 3: receivers other than `&self`.
use mcp_runtime::prelude::*;

struct Notebook;

#[handlers]
impl Notebook {
    #[tool]
    fn by_value(self) {}

    #[tool]
    fn exclusive(&mut self) {}

    #[prompt]
    async fn boxed(self: Box<Self>) -> String {
        String::new()
    }

    #[resource("note://all")]
    fn counted(self: std::rc::Rc<Self>) -> String {
        String::new()
    }

    #[tool]
    fn pinned(self: std::pin::Pin<&Self>) {}

    #[tool]
    fn mutable_arc(self: &mut std::sync::Arc<Self>) {}

    #[tool]
    fn mutable(mut self) {
        self = Notebook;
    }
}

fn main() {
    let _ = Server::new("notes", "1").mount(Notebook);
    Notebook.by_value();
}
