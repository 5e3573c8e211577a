//! What observers are told of requests over HTTP: without sessions, in sessions, and over HTTP+SSE.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use mcp_runtime::Revision;
use mcp_runtime::observe::{Outcome, Transport};
use mcp_tests::http::server::TestServer;
use mcp_tests::http::{Ask, Site, call, call_in, in_session, modern, soon, until};
use serde_json::{Value, json};

use crate::recorder::{Recorder, watched};

async fn site() -> (Site, Recorder, Arc<TestServer>) {
    let (server, recorder, state) = watched();
    (Site::of(server).await, recorder, state)
}

#[tokio::test]
async fn stateless_call_is_told_once() {
    let (site, recorder, _) = site().await;
    for (index, (tool, outcome)) in [
        ("add", Outcome::Answered),
        ("sleep", Outcome::Answered),
        ("fail", Outcome::ToolError),
        ("late", Outcome::TimedOut),
    ]
    .into_iter()
    .enumerate()
    {
        let ask = call(tool, &json!({"a": 1, "b": 2, "ms": 1}));
        let response = site.ask(&ask).await;
        let row = recorder.calls(index + 1).await.pop().unwrap();
        assert_eq!((row.target.as_deref(), row.outcome), (Some(tool), outcome));
        assert_eq!((row.transport, row.status), (Transport::Http, Some(200)));
        assert_eq!(row.bytes_in, ask.body.unwrap().len());
        // The line of an answer ends with a line break; a JSON response does not.
        assert_eq!(row.bytes_out, response.body.len() + 1);
        assert_eq!(row.session, None);
    }
}

#[tokio::test]
async fn stateless_refusals_are_told_with_their_status() {
    let (site, recorder, _) = site().await;
    let cases: [(Ask, &str, u16, i32); 5] = [
        (modern("no/such/method", json!({})), "_OTHER", 404, -32601),
        (modern("tools/call", json!({"name": "add"})).but("Mcp-Name", "other"), "tools/call", 400, -32020),
        (Ask::post("{"), "_OTHER", 400, -32700),
        (modern("tools/list", json!({})).but("Host", "evil.example"), "_OTHER", 403, -32600),
        (modern("tools/list", json!({})).but("Content-Type", "text/plain"), "_OTHER", 415, -32600),
    ];
    for (index, (ask, method, status, code)) in cases.into_iter().enumerate() {
        let response = site.ask(&ask).await;
        assert_eq!(response.outcome(), (status, code.into()), "{ask:?}");
        let row = recorder.calls(index + 1).await.pop().unwrap();
        assert_eq!((row.method.as_str(), row.outcome), (method, Outcome::Refused), "{ask:?}");
        assert_eq!((row.status, row.code), (Some(status), Some(code)));
        assert_eq!(row.transport, Transport::Http);
    }
}

#[tokio::test]
async fn stateless_client_that_leaves_is_told_once() {
    let (site, recorder, state) = site().await;
    let mut wire = site.open().await;
    wire.send(&call("sleep", &json!({"ms": 600_000})).bytes()).await;
    until(|| state.begun.load(SeqCst) == 1).await;
    drop(wire);
    let row = recorder.call().await;
    assert_eq!((row.outcome, row.error_type.as_deref()), (Outcome::ClientGone, Some("client_gone")));
}

#[tokio::test]
async fn session_call_is_told_once() {
    let (site, recorder, state) = site().await;
    for (round, revision) in mcp_tests::http::server::SESSIONS.into_iter().enumerate() {
        let session = site.session(revision).await;
        for ask in [
            call_in(&session, 1, "add", &json!({"a": 1, "b": 2})),
            call_in(&session, 2, "sleep", &json!({"ms": 1})),
            call_in(&session, 3, "steps", &json!({"n": 1})),
        ] {
            site.ask(&ask).await;
        }
        let rows = recorder.calls(4 * round + 3).await;
        for row in &rows[4 * round..] {
            assert_eq!((row.outcome, row.transport), (Outcome::Answered, Transport::HttpSession));
            assert_eq!(row.revision.as_deref(), Some(revision.as_str()));
            assert_eq!(row.client.as_ref().unwrap().0, "tester");
            let hash = row.session.as_ref().unwrap();
            assert!(hash.len() == 16 && !session.contains(hash.as_str()), "a hash, not the id");
            assert!(row.bytes_in > 0 && row.bytes_out > 0);
        }
        // A client that leaves cancels nothing.
        let mut wire = site.open().await;
        let begun = state.begun.load(SeqCst);
        wire.send(&call_in(&session, 4, "sleep", &json!({"ms": 50})).bytes()).await;
        until(|| state.begun.load(SeqCst) == begun + 1).await;
        drop(wire);
        assert_eq!(recorder.calls(4 * (round + 1)).await.pop().unwrap().outcome, Outcome::Answered);
    }
}

#[tokio::test]
async fn cancelled_session_call_is_told_once() {
    let (site, recorder, state) = site().await;
    let session = site.session(Revision::V2025_11_25).await;
    let mut wire = site.open().await;
    wire.send(&call_in(&session, 7, "sleep", &json!({"ms": 600_000})).bytes()).await;
    until(|| state.begun.load(SeqCst) == 1).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(site.ask(&in_session(&session, &cancel)).await.status, 202);
    assert_eq!(recorder.call().await.outcome, Outcome::Cancelled);
    // The end of the session ends its calls.
    wire.send(&call_in(&session, 8, "sleep", &json!({"ms": 600_000})).bytes()).await;
    let mut other = site.open().await;
    other.send(&call_in(&session, 9, "sleep", &json!({"ms": 600_000})).bytes()).await;
    until(|| state.begun.load(SeqCst) >= 2).await;
    assert!(recorder.ended().is_empty());
    site.ask(&Ask::new("DELETE").with("Mcp-Session-Id", &session)).await;
    until(|| recorder.ended() == [Transport::HttpSession]).await;
    let rows = recorder.rows();
    assert!(rows.iter().any(|row| row.outcome == Outcome::ClientGone), "{rows:?}");
}

#[tokio::test]
async fn unknown_session_is_told() {
    let (site, recorder, _) = site().await;
    let ask = call_in("nobody", 1, "add", &json!({"a": 1, "b": 2}));
    assert_eq!(site.ask(&ask).await.status, 404);
    let row = recorder.call().await;
    assert_eq!((row.method.as_str(), row.outcome, row.status), ("tools/call", Outcome::Refused, Some(404)));
    assert_eq!(row.transport, Transport::HttpSession);
    assert_eq!(row.bytes_in, ask.body.unwrap().len());
    // Neither notifications nor responses are requests.
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(site.ask(&in_session("nobody", &note)).await.status, 404);
    recorder.call().await;
}

#[tokio::test]
async fn call_without_a_session_is_told_once() {
    let (server, recorder, state) = watched();
    let site = Site::serving(server.into_service().stateless()).await;
    let ask = |tool: &str, ms: u64| {
        call_in("any", 4, tool, &json!({"a": 1, "b": 2, "ms": ms}))
            .without("Mcp-Session-Id")
            .with("MCP-Protocol-Version", "2025-06-18")
    };
    site.ask(&ask("add", 0)).await;
    site.ask(&ask("sleep", 1)).await;
    for row in recorder.calls(2).await {
        assert_eq!((row.outcome, row.transport), (Outcome::Answered, Transport::Http));
    }
    let mut wire = site.open().await;
    wire.send(&ask("sleep", 600_000).bytes()).await;
    until(|| state.begun.load(SeqCst) == 2).await;
    drop(wire);
    assert_eq!(recorder.calls(3).await[2].outcome, Outcome::ClientGone);
}

async fn post_to(site: &Site, path: &str, message: &Value) -> u16 {
    let bytes = Ask::post(message.to_string()).bytes();
    let bytes = String::from_utf8(bytes).unwrap().replacen("/mcp", path, 1);
    let mut wire = site.open().await;
    wire.send(bytes.as_bytes()).await;
    wire.response().await.status
}

#[tokio::test]
async fn legacy_sse_call_is_told_once() {
    let (server, recorder, _) = watched();
    let site = Site::serving(server.into_service().legacy_sse()).await;
    let mut wire = site.open().await;
    wire.send(b"GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n").await;
    assert_eq!(wire.head().await.status, 200);
    let first = String::from_utf8(soon(wire.chunk()).await.unwrap()).unwrap();
    let path = format!("/{}", first.trim().strip_prefix("event: endpoint\ndata: ").unwrap());
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2024-11-05"}});
    assert_eq!(post_to(&site, &path, &hello).await, 202);
    for (count, tool) in ["add", "sleep", "fail"].into_iter().enumerate() {
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": {"a": 1, "b": 2, "ms": 1}}});
        assert_eq!(post_to(&site, &path, &call).await, 202);
        let row = recorder.calls(count + 1).await.pop().unwrap();
        assert_eq!((row.target.as_deref(), row.transport), (Some(tool), Transport::Sse));
        assert!(row.session.is_some() && row.bytes_in > 0 && row.bytes_out > 0);
    }
    drop(wire);
    until(|| recorder.ended() == [Transport::Sse]).await;
}
