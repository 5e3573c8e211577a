//! Layers over HTTP: around calls of both eras, whether they are ready at once or wait.

use std::time::Duration;

use mcp_runtime::layers::{Call, Next, Outcome};
use mcp_runtime::{Revision, ToolResult, prelude::*};
use mcp_tests::http::{Response, Site, call, call_in};
use serde_json::Value;

/// Add two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Wait for a moment.
#[tool]
async fn wait(ms: u64) -> &'static str {
    tokio::time::sleep(Duration::from_millis(ms)).await;
    "waited"
}

/// Answers some calls itself, and adds to the others.
async fn counted(mut call: Call, next: Next) -> Result<Outcome> {
    let mut arguments: Value = call.arguments_as()?;
    if arguments["a"] == 13 {
        return Ok(ToolResult::error("no luck").into());
    }
    if arguments["a"].is_number() {
        arguments["b"] = json!(40);
    }
    call.set_arguments(&arguments)?;
    Ok(next.run(call).await)
}

/// The text of the answer, and whether it is an error.
fn told(response: &Response) -> (String, bool) {
    assert_eq!(response.status, 200, "{response:?}");
    let answer = if response.header("content-type") == Some("application/json") {
        response.json()
    } else {
        response.events().pop().expect("an answer")
    };
    let result = &answer["result"];
    (result["content"][0]["text"].as_str().unwrap_or_default().to_owned(), result["isError"] == true)
}

#[tokio::test]
async fn layers_surround_calls_of_both_eras() {
    let server = Server::new("layered", "1.0.0").tools(tools![add, wait]).layer(counted);
    let site = Site::of(server).await;
    let session = site.session(Revision::V2025_11_25).await;
    let calls = [
        ("add", json!({"a": 2, "b": 1}), ("42", false)),
        ("add", json!({"a": 13, "b": 1}), ("no luck", true)),
        ("wait", json!({"ms": 20}), ("waited", false)),
    ];
    for (id, (name, arguments, (text, is_error))) in (1..).zip(calls) {
        let expected = (text.to_owned(), is_error);
        assert_eq!(told(&site.ask(&call(name, &arguments)).await), expected, "{name}");
        assert_eq!(told(&site.ask(&call_in(&session, id, name, &arguments)).await), expected, "{name} in a session");
    }
}
