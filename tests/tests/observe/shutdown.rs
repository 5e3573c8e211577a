//! Calls that a shutdown does not wait for: answered with an error, the server's fault, and told before `serve` returns.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use mcp_runtime::observe::Transport;
use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use mcp_runtime::{Limits, Revision};
use mcp_tests::http::{Ask, Site, Wire, call, call_in, in_session, modern, soon, until};

use crate::recorder::{Recorder, Row, watched};

/// Not long, so that calls exceed it.
fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.drain_timeout = Duration::from_millis(100);
    limits
}

/// A call that never ends, and one that sends something before.
fn endless(session: Option<&str>) -> [Ask; 2] {
    let steps = json!({"name": "steps", "arguments": {"n": 1_000_000}, "_meta": {"progressToken": 1}});
    match session {
        None => [call("sleep", &json!({"ms": 600_000})), modern("tools/call", steps)],
        Some(session) => {
            let steps = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": steps});
            [call_in(session, 1, "sleep", &json!({"ms": 600_000})), in_session(session, &steps)]
        }
    }
}

/// What was told of calls, without waiting for it.
fn told(recorder: &Recorder, transport: Transport) -> Vec<Row> {
    let is_call = |row: &Row| row.method == "tools/call" && row.transport == transport;
    recorder.rows().into_iter().filter(is_call).collect()
}

#[track_caller]
fn assert_given_up(rows: &[Row], count: usize) {
    assert_eq!(rows.len(), count, "{rows:#?}");
    for row in rows {
        let what = (row.outcome.as_str(), row.code, row.error_type.as_deref(), row.is_server_error);
        assert_eq!(what, ("shutdown", Some(-32603), Some("shutdown"), true), "{row:?}");
        assert!(row.bytes_out > 0, "{row:?}");
    }
}

/// The last event of a stream that was open when its call was given up.
async fn last_event(wire: &mut Wire) -> serde_json::Value {
    let mut last = None;
    while let Some(event) = soon(wire.event()).await {
        last = Some(event);
    }
    last.expect("the stream ends with an answer")
}

#[tokio::test]
async fn call_that_exceeds_the_drain_timeout_is_answered_and_told() {
    for transport in [Transport::Http, Transport::HttpSession] {
        let (server, recorder, state) = watched();
        let site = Site::of(server.limits(limits())).await;
        let session = match transport {
            Transport::Http => None,
            _ => Some(site.session(Revision::V2025_11_25).await),
        };
        let [plain, streaming] = endless(session.as_deref());
        let (mut waiting, mut reading) = (site.open().await, site.open().await);
        waiting.send(&plain.bytes()).await;
        reading.send(&streaming.bytes()).await;
        assert_eq!(reading.head().await.status, 200);
        until(|| state.begun.load(SeqCst) == 2).await;
        site.handle.start_shutdown();
        soon(site.serving).await.unwrap().unwrap();
        let rows = told(&recorder, transport);
        assert_given_up(&rows, 2);
        let refused = waiting.response().await;
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{transport}");
        assert_eq!(refused.json()["id"], 1, "{transport}");
        let error = last_event(&mut reading).await;
        for error in [&refused.json()["error"], &error["error"]] {
            assert_eq!(error["code"], -32603, "{transport}");
            assert!(error["message"].as_str().unwrap().contains("has ended before"), "{error}");
            assert_eq!(error["data"]["retryAfterMs"], 1000, "{error}");
        }
        assert!(rows.iter().any(|row| row.status == Some(503)), "{rows:?}");
    }
}

/// Without sessions, the older revisions.
#[tokio::test]
async fn call_of_an_older_revision_without_a_session_is_answered_and_told() {
    let (server, recorder, state) = watched();
    let site = Site::serving(server.limits(limits()).into_service().stateless()).await;
    let ask = call_in("any", 4, "sleep", &json!({"ms": 600_000})).without("Mcp-Session-Id");
    let mut wire = site.open().await;
    wire.send(&ask.with("MCP-Protocol-Version", "2025-06-18").bytes()).await;
    until(|| state.begun.load(SeqCst) == 1).await;
    site.handle.start_shutdown();
    soon(site.serving).await.unwrap().unwrap();
    assert_given_up(&told(&recorder, Transport::Http), 1);
    let refused = wire.response().await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
}

/// A nested service is shut down by the application.
#[tokio::test]
async fn nested_service_gives_up_calls_too() {
    let (server, recorder, state) = watched();
    let service = server.limits(limits()).into_service();
    let site = Site::serving(service.clone()).await;
    let [plain, _] = endless(None);
    let mut wire = site.open().await;
    wire.send(&plain.bytes()).await;
    until(|| state.begun.load(SeqCst) == 1).await;
    soon(service.shutdown()).await;
    assert_given_up(&told(&recorder, Transport::Http), 1);
    assert_eq!(wire.response().await.status, 503);
}

#[tokio::test]
async fn call_on_the_stream_of_http_and_sse_is_answered_and_told() {
    let (server, recorder, state) = watched();
    let site = Site::serving(server.limits(limits()).into_service().legacy_sse()).await;
    let mut wire = site.open().await;
    wire.send(b"GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n").await;
    assert_eq!(wire.head().await.status, 200);
    let first = String::from_utf8(soon(wire.chunk()).await.unwrap()).unwrap();
    let path = format!("/{}", first.trim().strip_prefix("event: endpoint\ndata: ").unwrap());
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2024-11-05"}});
    let sleep = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "sleep", "arguments": {"ms": 600_000}}});
    for message in [hello, sleep] {
        assert_eq!(site.ask(&Ask::post(message.to_string()).at(&path)).await.status, 202);
    }
    until(|| state.begun.load(SeqCst) == 1).await;
    site.handle.start_shutdown();
    soon(site.serving).await.unwrap().unwrap();
    assert_given_up(&told(&recorder, Transport::Sse), 1);
    assert_eq!(last_event(&mut wire).await["error"]["code"], -32603);
}

#[tokio::test]
async fn call_on_stdio_is_answered_and_told() {
    let (server, recorder, state) = watched();
    let server = server.limits(limits());
    let handle = server.handle();
    let client = TestClient::connect(server).await.unwrap();
    let call = client.start("sleep", json!({"ms": 600_000})).unwrap();
    until(|| state.begun.load(SeqCst) == 1).await;
    soon(handle.shutdown()).await;
    let rows: Vec<Row> = told(&recorder, Transport::Stdio);
    assert_eq!(rows.len(), 1, "{rows:?}");
    let row = &rows[0];
    assert_eq!((row.outcome.as_str(), row.code, row.is_server_error), ("shutdown", Some(-32603), true));
    let error = soon(call.result()).await.unwrap_err().to_string();
    assert!(error.contains("has ended before"), "{error}");
}

/// Aborted, it is still the server that ended it.
#[tokio::test]
async fn aborted_call_is_told() {
    let (server, recorder, state) = watched();
    let site = Site::of(server).await;
    let session = site.session(Revision::V2025_11_25).await;
    let (mut first, mut second) = (site.open().await, site.open().await);
    first.send(&endless(None)[0].bytes()).await;
    second.send(&endless(Some(&session))[0].bytes()).await;
    until(|| state.begun.load(SeqCst) == 2).await;
    site.handle.abort();
    soon(site.serving).await.unwrap().unwrap();
    for transport in [Transport::Http, Transport::HttpSession] {
        let rows = told(&recorder, transport);
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!((rows[0].outcome.as_str(), rows[0].is_server_error), ("shutdown", true), "{rows:?}");
    }
}
