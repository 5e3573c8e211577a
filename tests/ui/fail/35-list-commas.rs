//! Row 35: a list with a comma missing, with one too many, or with something else in its place.
use mcp_runtime::prelude::*;

mod text {
    use mcp_runtime::prelude::*;

    #[tool]
    pub fn count() {}
}

#[tool]
fn add() {}

#[tool]
fn sub() {}

#[prompt]
fn greet() -> String {
    String::new()
}

fn main() {
    let _ = tools![add sub];
    let _ = tools![add; sub];
    let _ = tools![add, , sub];
    let _ = tools![, add];
    let _ = tools![text::{count}, add];
    let _ = tools![text::*];
    let _ = tools![add, fn];
    let _ = prompts![greet greet];
    let _ = tools![#[cfg(unix)]];
    let _ = tools![add, #[cfg(unix)] sub];
}
