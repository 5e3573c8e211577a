//! Row 33: `#[handlers]` on an impl block it cannot collect.
use mcp_runtime::prelude::*;

trait Search {
    fn search(&self, query: String) -> String;
}

struct Notebook;

#[handlers]
impl Search for Notebook {
    #[tool]
    fn search(&self, query: String) -> String {
        query
    }
}

struct Store<T>(T);

#[handlers]
impl<T: ToString + Send + Sync> Store<T> {
    #[tool]
    fn show<U: ToString>(&self) -> String {
        self.0.to_string()
    }
}

struct Borrowing<'a>(&'a str);

#[handlers]
impl<'a> Borrowing<'a> {
    #[tool]
    fn show(&self) -> String {
        self.0.to_owned()
    }
}

struct Empty;

#[handlers]
impl Empty {
    fn helper(&self) {}
}

fn main() {
    Empty.helper();
    let _ = Server::new("s", "1").mount(Notebook).mount(Store(1)).mount(Borrowing("")).mount(Empty);
}
