//! Row 33: a block of a type that borrows, with the lifetime left out.
use mcp_runtime::prelude::*;

struct Borrowing<'a>(&'a str);

#[handlers]
impl Borrowing<'_> {
    #[tool]
    fn show(&self) -> String {
        self.0.to_owned()
    }

    #[tool]
    async fn later(&self) -> String {
        self.0.to_owned()
    }
}

fn main() {
    let _ = Server::new("s", "1").mount(Borrowing(""));
}
