//! Generated code does not need the prelude.
#![no_implicit_prelude]
#![allow(dead_code, clippy::unused_async, reason = "compiling is the test")]

use ::mcp_runtime::{Context, Json, Resource, handlers, prompt, prompts, resource, resources, tool, tools};
use ::std::option::Option;
use ::std::string::String;
use ::std::vec::Vec;

/// Add.
#[tool(title = "Adder", meta = { "a": 1 }, icon = "https://example.com/a.png")]
fn add(
    a: i64,
    #[arg(default = 1, description = "b")] b: i64,
    #[arg(default = "x")] c: String,
    ctx: &Context,
) -> String {
    ::std::format!("{a}{b}{c}{}", ctx.request_id())
}

#[doc = ::core::include_str!("../included.md")]
#[tool(blocking)]
fn block(#[arg(default)] a: Option<i64>) -> Json<Vec<i64>> {
    Json(::std::vec![a.unwrap_or(0)])
}

#[tool(timeout = "5s")]
async fn later(#[arg(flatten)] all: ::std::collections::BTreeMap<String, i64>) -> i64 {
    all["a"]
}

#[prompt]
fn ask(#[arg(complete = texts)] text: String) -> String {
    text
}

async fn texts(typed: &str) -> Vec<String> {
    ::std::vec![::std::convert::Into::into(typed)]
}

#[resource("note://{id}")]
async fn note(id: u64) -> Option<String> {
    Option::Some(::std::string::ToString::to_string(&id))
}

struct State(i64);

#[handlers]
impl State {
    #[tool]
    fn get(&self, ctx: &Context) -> i64 {
        let _ = ctx;
        self.0
    }

    #[tool]
    async fn later(&self, a: i64) -> i64 {
        self.0 + a
    }

    #[tool(blocking)]
    fn block(&self, a: i64) -> i64 {
        self.0 + a
    }

    #[prompt]
    fn ask(&self, #[arg(complete = Self::texts)] text: String) -> String {
        ::std::format!("{text}{}", self.0)
    }

    fn texts(&self, typed: &str, others: &::mcp_runtime::protocol::CompletionContext) -> Vec<String> {
        ::std::vec![::std::format!("{}{typed}{others:?}", self.0)]
    }
}

#[derive(Resource)]
#[resource(uri = "config://{name}", name = "{name}", size)]
struct Config {
    name: String,
    #[resource(blob)]
    data: Vec<u8>,
    #[resource(last_modified)]
    changed: String,
}

#[derive(::serde::Serialize, Resource)]
#[resource(uri = "whole://config")]
struct Whole {
    name: String,
}

#[test]
fn compiles() {
    let server = ::mcp_runtime::Server::new("test", "1")
        .tools(tools![add, block, later])
        .prompts(prompts![ask])
        .resources(resources![note])
        .resource(Config { name: String::new(), data: Vec::new(), changed: String::new() })
        .resource(Whole { name: String::new() })
        .mount_as("state", State(1));
    ::std::mem::drop(server);
}
