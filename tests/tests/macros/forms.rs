//! Functions as people write them: destructured arguments, `const fn`, attributes behind `cfg_attr` or another name.

use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use mcp_runtime::tool as mcp_tool;
use mcp_runtime::{prompt as mcp_prompt, resource as mcp_resource};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{client, connect};

#[derive(Deserialize, JsonSchema)]
struct Range {
    lo: i64,
    hi: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Limits {
    limit: usize,
    /// Where to begin.
    offset: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
struct Unread {
    note: Option<String>,
}

#[tool]
fn length(#[arg(flatten)] Range { lo, hi }: Range, name: String) -> String {
    format!("{name}: {}", hi - lo)
}

#[tool]
async fn several(
    #[arg(flatten)] Range { lo, .. }: Range,
    #[arg(flatten)] Limits { limit, offset: from @ (Some(_) | None) }: Limits,
    #[arg(flatten)] _: Unread,
) -> String {
    format!("{lo} {limit} {from:?}")
}

#[tool]
const fn double(n: i64) -> i64 {
    n * 2
}

const FOUR: i64 = double(2);

#[mcp_tool(read_only)]
fn renamed(n: u8) -> u8 {
    n
}

#[mcp_prompt]
fn renamed_prompt() -> &'static str {
    "asked"
}

#[mcp_resource("renamed://one")]
fn renamed_resource() -> &'static str {
    "contents"
}

#[tokio::test]
async fn flattened_structs_may_be_destructured() {
    let client = client(tools![length, several]).await;
    assert_eq!(client.call("length", json!({"lo": 1, "hi": 4, "name": "it"})).await.unwrap().text(), "it: 3");
    let arguments = json!({"lo": 1, "hi": 4, "limit": 5, "offset": 6});
    assert_eq!(client.call("several", arguments).await.unwrap().text(), "1 5 Some(6)");
    let [tool, _] = tools![length, several];
    assert_eq!(tool.descriptor().input_schema["required"], json!(["lo", "hi", "name"]));
}

#[tokio::test]
async fn const_functions_are_handlers() {
    assert_eq!(FOUR, 4);
    assert_eq!(client(tools![double]).await.call("double", json!({"n": 3})).await.unwrap().text(), "6");
}

#[tokio::test]
async fn attributes_may_be_imported_under_another_name() {
    let server = Server::new("test", "1.0.0").tools(tools![renamed]).prompts(prompts![renamed_prompt]);
    let client = connect(server.resources(resources![renamed_resource])).await;
    assert_eq!(client.call("renamed", json!({"n": 3})).await.unwrap().text(), "3");
    assert_eq!(client.get_prompt("renamed_prompt", json!({})).await.unwrap().text(), "asked");
    assert_eq!(client.read("renamed://one").await.unwrap().text(), "contents");
}

#[cfg_attr(all(), tool(title = "On"))]
#[cfg_attr(any(), tool(title = "Off"))]
fn conditional(
    #[cfg_attr(all(), arg(min = 1), allow(unused_variables))] on: u32,
    #[cfg_attr(any(), arg(min = 2), allow(unused_variables))] off: u32,
    #[cfg_attr(any(), arg(rename = "other", nonsense_if_read = 1))]
    #[cfg_attr(all(), arg(rename = "this"))]
    #[cfg_attr(all(), doc = "Which one.")]
    name: String,
) -> String {
    format!("{on} {off} {name}")
}

/// Never a tool, so the attribute of its argument is never seen.
#[cfg_attr(any(), tool)]
fn plain(#[cfg_attr(any(), arg(min = 1))] n: u32) -> u32 {
    n
}

struct Block;

#[cfg_attr(all(), handlers)]
impl Block {
    /// With a condition that holds.
    #[cfg_attr(all(), tool(read_only), allow(dead_code))]
    #[cfg_attr(any(), inline)]
    fn on(&self, #[cfg_attr(all(), arg(max = 3))] n: u32) -> u32 {
        n
    }

    #[cfg_attr(any(), tool)]
    fn off(&self, #[cfg_attr(any(), arg(max = 3))] n: u32) -> u32 {
        n
    }

    #[prompt]
    fn ask(&self, #[cfg_attr(any(), arg(rename = "other"))] topic: String) -> String {
        topic
    }

    #[resource("block://{id}")]
    fn contents(&self, #[cfg_attr(all(), arg(rename = "id"))] number: u32) -> String {
        number.to_string()
    }
}

async fn listed(client: &TestClient) -> Vec<Value> {
    let list = client.request("tools/list", json!({})).await.unwrap();
    list["tools"].as_array().unwrap().clone()
}

#[tokio::test]
async fn conditional_attributes_are_conditional() {
    let client = client(tools![conditional]).await;
    let tools = listed(&client).await;
    assert_eq!(tools[0]["title"], "On");
    let properties = &tools[0]["inputSchema"]["properties"];
    assert_eq!(properties["on"]["minimum"], 1);
    assert_eq!(properties["off"].get("minimum").and_then(Value::as_i64).unwrap_or(0), 0);
    assert_eq!(properties["this"]["description"], "Which one.");
    assert_eq!(client.call("conditional", json!({"on": 1, "off": 2, "this": "x"})).await.unwrap().text(), "1 2 x");
    assert_eq!(plain(0), 0);
}

#[tokio::test]
async fn conditional_methods_are_conditional() {
    let client = connect(Server::new("test", "1.0.0").mount(Block)).await;
    let tools = listed(&client).await;
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0]["name"], "on");
    assert_eq!(tools[0]["description"], "With a condition that holds.");
    assert_eq!(tools[0]["inputSchema"]["properties"]["n"]["maximum"], 3);
    assert_eq!(client.get_prompt("ask", json!({"topic": "it"})).await.unwrap().text(), "it");
    assert_eq!(client.read("block://7").await.unwrap().text(), "7");
    assert_eq!(Block.off(1), 1);
}
