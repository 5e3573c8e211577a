//! Row 31: a completer of the wrong shape.
use mcp_runtime::prelude::*;

fn numbers(typed: &str) -> Vec<u32> {
    vec![typed.len() as u32]
}

fn owned(typed: String) -> Vec<String> {
    vec![typed]
}

fn nothing() -> Vec<String> {
    Vec::new()
}

#[prompt]
fn wrong_result(#[arg(complete = numbers)] name: String) -> String {
    name
}

#[prompt]
fn wrong_argument(#[arg(complete = owned)] name: String) -> String {
    name
}

#[prompt]
fn no_argument(#[arg(complete = nothing)] name: String) -> String {
    name
}

struct Library;

#[handlers]
impl Library {
    #[prompt]
    fn review(&self, #[arg(complete = Self::titles)] title: String) -> String {
        title
    }

    fn titles(typed: &str) -> Vec<String> {
        vec![typed.to_owned()]
    }
}

fn main() {
    let _ = Server::new("s", "1").prompts(prompts![wrong_result, wrong_argument, no_argument]).mount(Library);
}
