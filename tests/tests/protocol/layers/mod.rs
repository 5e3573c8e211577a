//! Layers around calls: what they see, change and answer, in every revision. Those of attributes are in
//! `macros/layers.rs`, asks and tasks in `ask_and_task/layers.rs`, the ready ones in `ready_layers`.
#![allow(clippy::unused_async, reason = "the shapes of handlers are what is tested, not what they do")]

mod arguments;
mod outcomes;
mod running;
mod surround;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::layers::{Call, Layer, Next};
use mcp_runtime::prelude::*;
use mcp_runtime::{Json, ToolResult};
use schemars::JsonSchema;
use serde::Serialize;

/// Double a number.
#[tool(read_only)]
fn double(#[arg(max = 100)] number: u32) -> u32 {
    number * 2
}

/// Double a number, later.
#[tool]
async fn double_later(number: u32) -> u32 {
    tokio::time::sleep(Duration::from_millis(1)).await;
    number * 2
}

/// Double a number on a thread.
#[tool(blocking)]
fn double_slowly(number: u32) -> u32 {
    number * 2
}

/// Fails.
#[tool]
fn fail(how: String) -> Result<ToolResult> {
    match &*how {
        "is_error" => Ok(ToolResult::error("it is an error")),
        "protocol" => Err(Error::invalid_params("not so").with_data(json!({"a": 1}))),
        "panic" => panic!("as asked"),
        _ => Err(std::io::Error::other("disk full").into()),
    }
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: u32,
}

/// Add.
#[tool]
fn add(a: u32, b: u32) -> Json<Sum> {
    Json(Sum { sum: a + b })
}

fn colours(typed: &str) -> Vec<&'static str> {
    ["red", "green", "grey"].into_iter().filter(|colour| colour.starts_with(typed)).collect()
}

/// Paint something.
#[prompt]
fn paint(#[arg(complete = colours)] colour: String) -> String {
    format!("Paint it {colour}.")
}

/// The motto.
#[resource("note://motto")]
fn motto() -> &'static str {
    "slow and steady"
}

/// A note.
#[resource("note://{id}")]
fn note(id: u32) -> String {
    format!("note {id}")
}

/// A note by its name.
#[resource("note://{name}/named")]
async fn named(name: String) -> String {
    format!("the note {name}")
}

fn server() -> Server {
    Server::new("layered", "1.0.0")
        .tools(tools![double, double_later, double_slowly, fail, add])
        .prompts(prompts![paint])
        .resources(resources![motto, note, named])
        .method("tests.example/half", |_, number: Half| async move { Ok(number.of / 2) })
}

#[derive(serde::Deserialize)]
struct Half {
    of: u32,
}

/// What layers have seen.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn note(&self, text: impl Into<String>) {
        self.0.lock().unwrap().push(text.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// A layer that notes what goes in and what comes out.
    fn layer(&self, name: &'static str) -> impl Layer + use<> {
        let seen = self.clone();
        move |call: Call, next: Next| {
            let seen = seen.clone();
            async move {
                seen.note(format!("{name} {} {} {}", call.kind().as_str(), call.name(), call.arguments()));
                let outcome = next.run(call).await;
                seen.note(format!("{name} {}", if outcome.is_error() { "failed" } else { "done" }));
                outcome
            }
        }
    }
}
