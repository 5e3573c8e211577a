//! The format of a response: one JSON text, or a stream if the handler sends notifications first.

use std::time::Duration;

use mcp_runtime::protocol::LogLevel;
use mcp_runtime::{Revision, prelude::*};
use mcp_tests::http::server::{SESSIONS, site, site_within};
use mcp_tests::http::{Ask, Response, Site, call, call_in, in_session, modern};
use serde_json::Value;

fn is_stream(response: &Response) {
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    assert_eq!(response.header("cache-control"), Some("no-cache, no-transform"));
    assert_eq!(response.header("x-accel-buffering"), Some("no"));
    assert_eq!(response.header("content-encoding"), None);
}

/// The method of each message of a stream.
fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["method"].as_str().unwrap_or("answer")).collect()
}

#[tokio::test]
async fn call_without_notifications_gets_json() {
    let (site, _) = site().await;
    let session = site.session(Revision::V2025_11_25).await;
    let asks = [
        ("sync", call("add", &json!({"a": 1, "b": 2}))),
        ("waiting", call("sleep", &json!({"ms": 5}))),
        ("talking to nobody who listens", call("steps", &json!({"n": 2}))),
        ("sync, in a session", call_in(&session, 1, "add", &json!({"a": 1, "b": 2}))),
        ("waiting, in a session", call_in(&session, 1, "sleep", &json!({"ms": 5}))),
    ];
    for (what, ask) in asks {
        let response = site.ask(&ask).await;
        assert_eq!((response.status, response.json()["id"].clone()), (200, json!(1)), "{what}");
        assert!(!response.text().contains('\n'), "{what}: one line");
        assert!(response.header("content-length").is_some(), "{what}");
    }
}

/// Log and return in one poll.
#[tool]
async fn log_last(ctx: &Context) -> &'static str {
    tokio::time::sleep(Duration::from_millis(5)).await;
    ctx.try_log(LogLevel::Warning, "last");
    "done"
}

#[tokio::test]
async fn notification_of_the_last_poll_precedes_the_answer() {
    let site = Site::of(Server::new("s", "1").tools(tools![log_last]).disable_signals()).await;
    let meta = json!({"io.modelcontextprotocol/logLevel": "info"});
    let ask = || modern("tools/call", json!({"name": "log_last", "arguments": {}, "_meta": meta}));
    let response = site.ask(&ask()).await;
    is_stream(&response);
    assert_eq!(kinds(&response.events()), ["notifications/message", "answer"]);
    let json_only = site.ask(&ask().but("accept", "application/json")).await;
    assert_eq!(json_only.json()["result"]["content"][0]["text"], "done");
    let session = site.session(Revision::V2025_11_25).await;
    let response = site.ask(&call_in(&session, 3, "log_last", &json!({}))).await;
    assert_eq!(kinds(&response.events()), ["notifications/message", "answer"]);
}

#[tokio::test]
async fn call_with_notifications_gets_a_stream() {
    let (site, _) = site().await;
    let both = json!({"progressToken": "p", "io.modelcontextprotocol/logLevel": "info"});
    let ask = |meta| modern("tools/call", json!({"name": "steps", "arguments": {"n": 2}, "_meta": meta}));
    let (progress, log) = ("notifications/progress", "notifications/message");

    let response = site.ask(&ask(both)).await;
    is_stream(&response);
    assert_eq!(kinds(&response.events()), [progress, log, progress, log, "answer"]);
    assert!(!response.text().lines().any(|line| line.starts_with("id:") || line.starts_with("retry:")));
    let token = &response.events()[0]["params"]["progressToken"];
    assert_eq!(token, "p");
    let only = site.ask(&ask(json!({"progressToken": 7}))).await;
    assert_eq!(kinds(&only.events()), [progress, progress, "answer"], "no level, no log");
    let only = site.ask(&ask(json!({"io.modelcontextprotocol/logLevel": "error"}))).await;
    assert_eq!(only.header("content-type"), Some("application/json"), "nothing as grave as that");

    for revision in SESSIONS {
        let session = site.session(revision).await;
        let response = site.ask(&call_in(&session, 3, "steps", &json!({"n": 2}))).await;
        is_stream(&response);
        assert_eq!(response.header("mcp-session-id"), None);
        assert_eq!(kinds(&response.events()), [progress, log, progress, log, "answer"], "{revision}");
        assert_eq!(response.events()[4]["id"], 3);
    }
}

#[tokio::test]
async fn notifications_of_a_ready_call_precede_the_response() {
    let (site, _) = site().await;
    let level = json!({"io.modelcontextprotocol/logLevel": "debug"});
    let response = site.ask(&modern("tools/call", json!({"name": "murmur", "_meta": level}))).await;
    is_stream(&response);
    assert_eq!(kinds(&response.events()), ["notifications/message", "answer"]);
    for revision in SESSIONS {
        let session = site.session(revision).await;
        let response = site.ask(&call_in(&session, 1, "murmur", &json!({}))).await;
        is_stream(&response);
        assert_eq!(kinds(&response.events()), ["notifications/message", "answer"], "{revision}");
        let silence = json!({"jsonrpc": "2.0", "id": 2, "method": "logging/setLevel", "params": {"level": "error"}});
        assert_eq!(site.ask(&in_session(&session, &silence)).await.outcome(), (200, 0));
        assert_eq!(site.ask(&call_in(&session, 3, "murmur", &json!({}))).await.json()["id"], 3);
    }
}

#[tokio::test]
async fn events_arrive_while_the_call_runs() {
    let (site, state) = site().await;
    let steps = modern("tools/call", json!({"name": "steps", "arguments": {"n": 10}, "_meta": {"progressToken": "p"}}));
    let (head, mut wire) = site.begin(&steps).await;
    is_stream(&head);
    assert_eq!(wire.event().await.unwrap()["params"]["progress"], 1);
    assert_eq!(state.finished.load(std::sync::atomic::Ordering::SeqCst), 0);
    let mut last = Value::Null;
    while let Some(event) = wire.event().await {
        last = event;
    }
    assert_eq!(last["id"], 1);
    // The connection is good for more.
    wire.send(&call("add", &json!({"a": 1, "b": 2})).bytes()).await;
    assert_eq!(wire.response().await.outcome(), (200, 0));
}

#[tokio::test]
async fn panicking_handler_gets_an_error_result() {
    let (site, _) = site().await;
    let session = site.session(Revision::V2025_11_25).await;
    for name in ["panic", "panic_later"] {
        for ask in [call(name, &json!({})), call_in(&session, 1, name, &json!({}))] {
            let response = site.ask(&ask).await;
            assert_eq!(response.status, 200);
            assert!(!response.text().contains("secret"), "{response:?}");
            assert!(response.text().contains(r#""isError":true"#), "{response:?}");
        }
    }
    site.serves().await;
    assert_eq!(site.ask(&call_in(&session, 2, "add", &json!({"a": 1, "b": 2}))).await.outcome(), (200, 0));
}

/// Sync handlers of one session take turns; one that awaits does not block the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_call_does_not_block_its_session() {
    let (site, state) = site().await;
    let session = site.session(Revision::V2025_11_25).await;
    let (mut slow, mut blocking) = (site.open().await, site.open().await);
    slow.send(&call_in(&session, 1, "sleep", &json!({"ms": 60_000})).bytes()).await;
    blocking.send(&call_in(&session, 2, "block", &json!({})).bytes()).await;
    mcp_tests::http::until(|| state.begun.load(std::sync::atomic::Ordering::SeqCst) == 2).await;
    for id in 3..30 {
        assert_eq!(site.ask(&call_in(&session, id, "add", &json!({"a": 1, "b": 2}))).await.outcome(), (200, 0));
    }
}

#[tokio::test]
async fn unacceptable_format_gets_406() {
    let (site, _) = site().await;
    let add = || call("add", &json!({"a": 1, "b": 2}));
    for usable in [
        "application/json",
        "*/*",
        "application/*",
        "text/event-stream, application/json;q=0.5",
        "APPLICATION/JSON",
        "text/html, */*;q=0.1",
    ] {
        assert_eq!(site.ask(&add().but("Accept", usable)).await.outcome(), (200, 0), "{usable}");
    }
    assert_eq!(site.ask(&add().without("Accept")).await.outcome(), (200, 0), "no header accepts anything");
    let refused = site.ask(&add().but("Accept", "text/html")).await;
    assert_eq!(refused.outcome(), (406, -32600), "nothing that could be sent");
    let listen = modern("subscriptions/listen", json!({"notifications": {}}));
    assert_eq!(site.ask(&listen.but("Accept", "application/json")).await.outcome(), (406, -32600), "a stream");

    let session = site.session(Revision::V2025_11_25).await;
    let get = Ask::new("GET").with("Mcp-Session-Id", &session);
    assert_eq!(site.ask(&get.clone().with("Accept", "application/json")).await.status, 406);
    let (head, _) = site.begin(&get.with("Accept", "text/html, Text/Event-Stream;q=0.9")).await;
    assert_eq!(head.status, 200);
}

/// Backpressure: the call waits for a slow reader.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_reader_in_a_session_gets_every_event() {
    let (site, _) = site_within(|limits| limits.log_rate = u32::MAX).await;
    let session = site.session(Revision::V2025_11_25).await;
    let (_, mut wire) = site.begin(&call_in(&session, 7, "babble", &json!({}))).await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let mut told = 0;
    let last = loop {
        let event = wire.event().await.expect("the answer comes last");
        if event["method"].is_null() {
            break event;
        }
        told += 1;
    };
    assert_eq!((told, &last["result"]["content"][0]["text"]), (4000, &json!("done")));
}
