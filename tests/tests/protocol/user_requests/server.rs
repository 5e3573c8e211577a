//! The server's API: handle, hooks, limits, custom methods.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::hooks::DisconnectReason;
use mcp_runtime::prelude::*;
use mcp_runtime::store::Change;
use mcp_runtime::testing::TestClient;
use mcp_runtime::{Limits, Revision};
use serde_json::Value;
use tokio::sync::Notify;

use super::{exchange, is_silent};

/// Say hello.
#[tool]
fn hello() -> &'static str {
    "hello"
}

/// Take one's time.
#[tool]
async fn sleep() -> &'static str {
    tokio::time::sleep(Duration::from_millis(60)).await;
    "slept"
}

/// The root of the client's project.
#[tool]
fn root(ctx: &Context) -> Option<String> {
    ctx.initialize_param("rootUri").map(str::to_owned)
}

/// A note.
#[resource("note://1", subscribe)]
fn note() -> &'static str {
    "milk"
}

fn server() -> Server {
    Server::new("asked", "1.0.0").tools(tools![hello, sleep, root]).resources(resources![note])
}

#[tokio::test]
async fn shutdown_and_abort_are_idempotent() -> Result<()> {
    static BEGUN: Notify = Notify::const_new();

    /// Says that it has begun, and sleeps.
    #[tool]
    async fn begin() -> &'static str {
        BEGUN.notify_one();
        tokio::time::sleep(Duration::from_millis(50)).await;
        "slept"
    }
    let server = server().tools(tools![begin]);
    let handle = server.handle();
    let client = TestClient::connect(server).await?;
    let close = async {
        BEGUN.notified().await;
        handle.shutdown().await;
        handle.shutdown().await;
        handle.abort();
    };
    let (answer, ()) = tokio::join!(client.call("begin", json!({})), close);
    assert_eq!(answer?.text(), "slept");
    assert!(client.call("hello", json!({})).await.is_err());
    Ok(())
}

#[tokio::test]
async fn on_initialized_and_on_disconnected_are_called() -> Result<()> {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let (initialized, disconnected) = (Arc::clone(&told), Arc::clone(&told));
    let server = server()
        .on_initialized(move |peer| initialized.lock().unwrap().push(peer.revision().to_string()))
        .on_disconnected(move |reason| {
            let eof = matches!(reason, DisconnectReason::Eof);
            disconnected.lock().unwrap().push(format!("eof: {eof}"));
        });
    let client = TestClient::with_revision(server, Revision::V2025_06_18).await?;
    client.close().await?;
    assert_eq!(*told.lock().unwrap(), ["2025-06-18", "eof: true"]);
    Ok(())
}

#[tokio::test]
async fn malformed_messages_call_on_protocol_error() -> Result<()> {
    let told: Arc<Mutex<Vec<i32>>> = Arc::default();
    let hook = Arc::clone(&told);
    let server = server().on_protocol_error(move |error| hook.lock().unwrap().push(error.code()));
    let client = TestClient::connect_raw(server);
    assert_eq!(exchange(&client, "{").await["error"]["code"], -32700);
    assert_eq!(exchange(&client, "{}").await["error"]["code"], -32600);
    is_silent(&client).await;
    assert_eq!(*told.lock().unwrap(), [-32700, -32600]);
    Ok(())
}

#[tokio::test]
async fn consecutive_errors_end_the_connection() -> Result<()> {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let hook = Arc::clone(&told);
    let mut limits = Limits::default();
    limits.consecutive_errors = 3;
    let server = server().limits(limits).on_transport_error(move |error| hook.lock().unwrap().push(error.to_string()));
    let client = TestClient::connect_raw(server);
    for line in ["x", "x", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "x", "x", "x"] {
        client.exchange(line).await?;
    }
    assert!(client.receive().await.is_err(), "it is over");
    assert_eq!(*told.lock().unwrap(), ["closing after 3 consecutive malformed messages"]);
    Ok(())
}

#[tokio::test]
async fn update_notification_has_the_uri() -> Result<()> {
    let server = server();
    let handle = server.handle();
    let client = TestClient::with_revision(server, Revision::V2025_11_25).await?;
    client.request("resources/subscribe", json!({"uri": "note://1"})).await?;
    handle.resource_updated("note://1");
    let told: Value = serde_json::from_str(&client.receive().await?)?;
    assert_eq!(told["params"], json!({"uri": "note://1"}));
    assert_eq!(Change::ResourceUpdated("a".into()), Change::ResourceUpdated("a".into()));
    Ok(())
}

#[test]
fn dollar_method_names_are_rejected() {
    let attempt = std::panic::catch_unwind(|| {
        drop(server().method("$/mine", |_, (): ()| async { Ok(()) }).into_service());
    });
    let text = *attempt.unwrap_err().downcast::<String>().unwrap();
    assert!(text.contains("reserved"), "{text}");
}

#[tokio::test]
async fn custom_method_wraps_its_value_in_an_object() -> Result<()> {
    let server = server().method("asked.example/sum", |_, all: Vec<i64>| async move { Ok(all.iter().sum::<i64>()) });
    let client = TestClient::with_revision(server, Revision::V2024_11_05).await?;
    let answer = exchange(&client, r#"{"jsonrpc":"2.0","id":1,"method":"asked.example/sum","params":[1,2]}"#).await;
    assert_eq!(answer["result"], json!({"value": 3}));
    Ok(())
}

#[tokio::test]
async fn server_timeout_applies_to_all_handlers() -> Result<()> {
    let client = TestClient::connect(server().timeout(Duration::from_millis(5))).await?;
    let answer = client.call("sleep", json!({})).await?;
    assert_eq!((answer.is_error(), answer.text()), (true, "The tool timed out after 5ms.".to_owned()));
    Ok(())
}

#[tokio::test]
async fn extra_initialize_params_can_be_read() -> Result<()> {
    let client = TestClient::connect_raw(server());
    let params = r#"{"protocolVersion":"2024-11-05","rootUri":"file:///work","workspaceFolders":[]}"#;
    exchange(&client, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}"#)).await;
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"root"}}"#;
    assert_eq!(exchange(&client, call).await["result"]["content"][0]["text"], "\"file:///work\"");
    Ok(())
}

#[tokio::test]
async fn failing_notification_handler_calls_on_protocol_error() -> Result<()> {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let hook = Arc::clone(&told);
    let server = server()
        .notification("asked.example/note", |_, (): ()| async { Err(Error::msg("no")) })
        .on_protocol_error(move |error| hook.lock().unwrap().push(error.message().to_owned()));
    let client = TestClient::with_revision(server, Revision::V2025_11_25).await?;
    client.notify("asked.example/note", &json!({}))?;
    is_silent(&client).await;
    client.close().await?;
    assert_eq!(*told.lock().unwrap(), ["no"]);
    Ok(())
}
