//! Row 33: a generic type, mounted with a parameter that threads cannot share.
use std::rc::Rc;

use mcp_runtime::prelude::*;

struct App<S>(S);

#[handlers]
impl<S: AsRef<str>> App<S> {
    #[tool]
    fn show(&self) -> &str {
        self.0.as_ref()
    }

    #[tool]
    async fn later(&self) -> String {
        self.0.as_ref().to_owned()
    }
}

fn main() {
    let _ = Server::new("s", "1").mount(App(Rc::<str>::from("shared")));
}
