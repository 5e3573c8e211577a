//! Row 31: a completer of the wrong shape.
use std::rc::Rc;

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

fn others(typed: &str, language: &str) -> Vec<String> {
    vec![format!("{typed}{language}")]
}

async fn not_send(typed: &str) -> Vec<String> {
    let shared = Rc::new(typed.to_owned());
    tokio::task::yield_now().await;
    vec![shared.to_string()]
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

#[prompt]
fn wrong_others(#[arg(complete = others)] name: String) -> String {
    name
}

#[prompt]
fn wrong_future(#[arg(complete = not_send)] name: String) -> String {
    name
}

#[prompt]
fn without_state(#[arg(complete = Library::all)] name: String) -> String {
    name
}

struct Library;

#[handlers]
impl Library {
    #[prompt]
    fn review(&self, #[arg(complete = Self::titles)] title: String) -> String {
        title
    }

    fn titles(&self) -> Vec<String> {
        Vec::new()
    }

    fn all(&self, typed: &str) -> Vec<String> {
        vec![typed.to_owned()]
    }
}

fn main() {
    let prompts = prompts![wrong_result, wrong_argument, no_argument, wrong_others, wrong_future, without_state];
    let _ = Server::new("s", "1").prompts(prompts).mount(Library);
}
