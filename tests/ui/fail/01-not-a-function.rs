//! Row 1: `#[tool]` on an item that is not a function.
use mcp_runtime::prelude::*;

#[tool]
pub struct Config {
    pub root: String,
}

struct Notebook;

/// The docs are not the place to change.
#[tool(read_only)]
impl Notebook {
    fn search(&self) {}
}

#[prompt]
const GREETING: &str = "hello";

#[resource("docs://manual")]
pub(crate) static MANUAL: &str = "# Manual";

#[tool]
mod tools {}

#[handlers]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[handlers]
pub struct State {}

fn main() {
    let _ = (Config { root: GREETING.into() }, Notebook.search(), MANUAL, add(1, 2), State {});
}
