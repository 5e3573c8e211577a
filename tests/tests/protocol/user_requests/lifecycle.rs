//! The beginning and the end of a connection.

use mcp_runtime::testing::TestClient;
use mcp_runtime::{Revision, prelude::*};
use mcp_tests::{fixture, process::Process};
use serde_json::Value;

use super::{MODERN, client, exchange, is_silent};

const MISBEHAVING: &str = env!("CARGO_BIN_EXE_misbehaving");

#[test]
fn after_shutdown_only_exit_is_accepted() {
    let mut server = Process::start(MISBEHAVING);
    // The newest revision has no such method, and its requests end nothing.
    let modern: Value = serde_json::from_str(MODERN).unwrap();
    server.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "shutdown", "params": {"_meta": modern}}));
    assert_eq!(server.answer(1)["error"]["code"], -32601);
    server.serves();

    server.call(2, "sleep", &json!({"ms": 100}));
    server.send(&json!({"jsonrpc": "2.0", "id": 3, "method": "shutdown"}));
    assert_eq!(server.text(2), "slept 100", "what was begun is finished");
    assert_eq!(server.answer(3)["result"], json!({}));
    for (id, method) in (4..).zip(["ping", "tools/list", "shutdown", "initialize"]) {
        server.notify("notifications/initialized", &json!({}));
        server.send(&json!({"jsonrpc": "2.0", "id": id, "method": method}));
        let refused = server.answer(id);
        assert_eq!(refused["error"]["code"], -32600, "{refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains("shutting down"), "{refused}");
    }
    server.notify("exit", &json!({}));
    assert!(server.ended().success());
}

#[test]
fn exit_code_depends_on_shutdown() {
    for (shut_down, code) in [(true, 0), (false, 1)] {
        let mut server = Process::start(MISBEHAVING);
        if shut_down {
            server.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "shutdown"}));
            server.answer(1);
        }
        server.notify("exit", &json!({}));
        assert_eq!(server.ended().code(), Some(code));
    }
}

#[test]
fn server_sends_no_exit_and_closes_stdout() {
    let mut server = Process::start(MISBEHAVING);
    server.call(1, "sleep", &json!({"ms": 20}));
    server.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "shutdown"}));
    let (rest, _) = server.finish();
    assert_eq!(rest.len(), 2, "two answers and the end: {rest:?}");
    assert!(rest.iter().all(|line| line.contains(r#""result":"#) && !line.contains("exit")), "{rest:?}");
}

#[tokio::test]
async fn bare_initialized_is_accepted() -> Result<()> {
    let client = TestClient::connect_raw(fixture::server());
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
    assert_eq!(exchange(&client, hello).await["result"]["protocolVersion"], "2025-06-18");
    client.notify("initialized", &json!({}))?;
    is_silent(&client).await;
    Ok(())
}

#[tokio::test]
async fn server_never_sends_initialized() -> Result<()> {
    let client = TestClient::connect_raw(fixture::server());
    client.notify("$/initialized", &json!({}))?;
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
    assert!(exchange(&client, hello).await["result"].is_object());
    client.notify("$/initialized", &json!({}))?;
    is_silent(&client).await;
    assert_eq!(client.close().await?, [""; 0]);
    Ok(())
}

/// The result of `initialize` with these parameters, by a server with everything.
async fn initialize(params: Value) -> Value {
    let client = TestClient::connect_raw(fixture::server());
    let line = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string();
    let answer = exchange(&client, &line).await;
    is_silent(&client).await;
    answer["result"].clone()
}

#[tokio::test]
async fn unknown_version_negotiates_the_newest_with_sessions() {
    let params = json!({"protocolVersion": "1.0", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    assert_eq!(initialize(params).await["protocolVersion"], "2025-11-25");
}

#[tokio::test]
async fn client_info_is_optional() {
    let result = initialize(json!({"protocolVersion": "2024-11-05", "capabilities": {}})).await;
    assert_eq!(result["protocolVersion"], "2024-11-05");
    assert_eq!(result["serverInfo"]["name"], "fixture");
}

#[tokio::test]
async fn unknown_initialize_params_are_ignored() {
    let result = initialize(json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "processId": 7,
        "rootUri": "file:///home/me",
        "workspaceFolders": [{"uri": "file:///home/me", "name": "me"}],
    }))
    .await;
    assert_eq!(result["protocolVersion"], "2025-11-25");
}

#[tokio::test]
async fn server_capabilities_do_not_depend_on_the_client() {
    let nothing = initialize(json!({"protocolVersion": "2025-11-25", "capabilities": {}})).await;
    let little = initialize(json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}})).await;
    assert_eq!(nothing, little);
    assert_eq!(nothing["capabilities"], json!({"tools": {}, "resources": {}, "prompts": {}}));
}

#[tokio::test]
async fn unknown_and_empty_client_capabilities_are_accepted() {
    for capabilities in [
        json!({"tools": {"listChanged": true}, "resources": {"subscribe": true}, "prompts": {}}),
        json!({"roots": null, "sampling": [], "x": {"y": 1}}),
        Value::Null,
    ] {
        let result = initialize(json!({"protocolVersion": "2025-06-18", "capabilities": capabilities})).await;
        assert_eq!(result["protocolVersion"], "2025-06-18", "{capabilities}");
    }
}

fn cities(_: &str) -> Vec<String> {
    vec!["北京".to_owned()]
}

/// Describe a city.
#[prompt]
fn describe(#[arg(complete = cities)] city: String) -> String {
    city
}

#[tokio::test]
async fn completions_capability_is_declared_in_2024_11_05() -> Result<()> {
    let client = TestClient::connect_raw(Server::new("cities", "1.0.0").prompts(prompts![describe]));
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}"#;
    let result = &exchange(&client, hello).await["result"];
    assert_eq!(result["protocolVersion"], "2024-11-05");
    assert_eq!(result["capabilities"]["completions"], json!({}));
    let params = json!({"ref": {"type": "ref/prompt", "name": "describe"}, "argument": {"name": "city", "value": ""}});
    let result = client.request("completion/complete", params).await?;
    assert_eq!(result["completion"]["values"], json!(["北京"]));
    Ok(())
}

#[tokio::test]
async fn before_initialize_only_ping_is_served() -> Result<()> {
    let client = TestClient::connect_raw(fixture::server());
    is_silent(&client).await;
    for method in ["tools/list", "tools/call", "resources/list", "resources/read", "prompts/list", "logging/setLevel"] {
        let answer =
            exchange(&client, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{}}}}"#)).await;
        // -32002 would be a resource that was not found.
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("send `initialize`"), "{answer}");
    }
    // A request that says everything itself needs none.
    let line = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{{"_meta":{MODERN}}}}}"#);
    assert!(exchange(&client, &line).await["result"]["tools"].is_array());
    Ok(())
}

#[tokio::test]
async fn repeated_violations_do_not_end_the_connection() -> Result<()> {
    let client = client().await;
    for round in 0..200 {
        for line in ["{", "[]", "5", r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, r#"{"jsonrpc":"2.0","id":1}"#] {
            let code = exchange(&client, line).await["error"]["code"].clone();
            assert!(code == -32700 || code == -32600, "{line} in round {round}: {code}");
        }
    }
    assert_eq!(client.call("add", json!({"a": 1, "b": 2})).await?.text(), "3");
    Ok(())
}

#[tokio::test]
async fn modern_client_gets_no_requests() -> Result<()> {
    // A server that tells all it can in a call: what it sends is told or answered, not asked.
    let client = TestClient::with_revision(fixture::talkative(), Revision::V2026_07_28).await?;
    for tool in ["steps", "at_once"] {
        let mut meta: Value = serde_json::from_str(MODERN)?;
        meta["progressToken"] = json!("t");
        meta["io.modelcontextprotocol/logLevel"] = json!("debug");
        let arguments = if tool == "steps" { json!({"n": 2}) } else { json!({}) };
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        client.send(&json!({"jsonrpc": "2.0", "id": tool, "method": "tools/call", "params": params}).to_string())?;
        loop {
            let message: Value = serde_json::from_str(&client.receive().await?)?;
            assert!(message.get("id").is_none() || message.get("method").is_none(), "{message}");
            if message["id"] == tool {
                break;
            }
        }
    }
    Ok(())
}
