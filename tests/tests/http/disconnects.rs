//! Disconnects and cancellation: in 2026-07-28 a disconnect cancels the call, in a session it does not.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use mcp_runtime::Revision;
use mcp_tests::http::server::{SESSIONS, site};
use mcp_tests::http::{Ask, Site, call, call_in, in_session, modern, until};
use serde_json::{Value, json};

async fn cancel(site: &Site, session: &str, id: &Value) {
    let message = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    assert_eq!(site.ask(&in_session(session, &message)).await.status, 202);
}

#[tokio::test]
async fn session_call_survives_a_disconnect() {
    let (site, state) = site().await;
    for (count, revision) in (1..).zip(SESSIONS) {
        let session = site.session(revision).await;
        let mut wire = site.open().await;
        wire.send(&call_in(&session, 1, "sleep", &json!({"ms": 60})).bytes()).await;
        until(|| state.begun.load(SeqCst) == count).await;
        drop(wire);
        until(|| state.finished.load(SeqCst) == count).await;
    }
}

#[tokio::test]
async fn session_call_survives_a_disconnect_mid_stream() {
    let (site, state) = site().await;
    let session = site.session(Revision::V2025_11_25).await;
    let (head, mut wire) = site.begin(&call_in(&session, 1, "steps", &json!({"n": 8}))).await;
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    assert_eq!(wire.event().await.unwrap()["method"], "notifications/progress");
    drop(wire);
    until(|| state.finished.load(SeqCst) == 1).await;
}

#[tokio::test]
async fn session_blocking_call_is_not_cancelled_by_a_disconnect() {
    let (site, state) = site().await;
    let session = site.session(Revision::V2025_11_25).await;
    let mut wire = site.open().await;
    wire.send(&call_in(&session, 1, "block", &json!({})).bytes()).await;
    until(|| state.begun.load(SeqCst) == 1).await;
    drop(wire);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(state.noticed.load(SeqCst), 0);
    cancel(&site, &session, &json!(1)).await;
    until(|| state.noticed.load(SeqCst) == 1).await;
}

#[tokio::test]
async fn stateless_call_is_dropped_on_disconnect() {
    let (site, state) = site().await;
    let mut wire = site.open().await;
    wire.send(&call("sleep", &json!({"ms": 60_000})).bytes()).await;
    until(|| state.begun.load(SeqCst) == 1).await;
    drop(wire);
    until(|| state.dropped.load(SeqCst) == 1).await;
    assert_eq!(state.finished.load(SeqCst), 0);
}

#[tokio::test]
async fn stateless_stream_is_dropped_on_disconnect() {
    let (site, state) = site().await;
    let steps =
        modern("tools/call", json!({"name": "steps", "arguments": {"n": 10_000}, "_meta": {"progressToken": "p"}}));
    let (_, mut wire) = site.begin(&steps).await;
    wire.event().await.unwrap();
    drop(wire);
    until(|| state.dropped.load(SeqCst) == 1).await;
    assert_eq!(state.finished.load(SeqCst), 0);
}

#[tokio::test]
async fn stateless_blocking_call_is_cancelled_on_disconnect() {
    let (site, state) = site().await;
    let mut wire = site.open().await;
    wire.send(&call("block", &json!({})).bytes()).await;
    until(|| state.begun.load(SeqCst) == 1).await;
    drop(wire);
    until(|| state.noticed.load(SeqCst) == 1).await;
}

#[tokio::test]
async fn cancelled_call_gets_an_empty_202() {
    let (site, state) = site().await;
    for (count, revision) in (1..).zip(SESSIONS) {
        let session = site.session(revision).await;
        let mut wire = site.open().await;
        wire.send(&call_in(&session, 1, "sleep", &json!({"ms": 60_000})).bytes()).await;
        until(|| state.begun.load(SeqCst) == count).await;
        cancel(&site, &session, &json!("1")).await; // another id
        cancel(&site, &session, &json!(1)).await;
        let response = wire.response().await;
        assert_eq!((response.status, &*response.body), (202, &b""[..]), "it is owed no answer");
        assert_eq!(state.dropped.load(SeqCst), count);
        // The connection is good for more.
        wire.send(&call_in(&session, 2, "add", &json!({"a": 1, "b": 2})).bytes()).await;
        assert_eq!(wire.response().await.json()["id"], 2);
    }
}

#[tokio::test]
async fn cancelled_stream_ends_without_a_response() {
    let (site, state) = site().await;
    let session = site.session(Revision::V2025_11_25).await;
    let (_, mut wire) = site.begin(&call_in(&session, 1, "steps", &json!({"n": 10_000}))).await;
    wire.event().await.unwrap();
    cancel(&site, &session, &json!(1)).await;
    let mut rest = Vec::new();
    while let Some(event) = wire.event().await {
        rest.push(event);
    }
    assert!(rest.iter().all(|event| event.get("id").is_none()), "{rest:?}");
    until(|| state.dropped.load(SeqCst) == 1).await;
}

#[tokio::test]
async fn cancellation_does_not_cross_sessions() {
    let (site, state) = site().await;
    let (mine, theirs) = (site.session(Revision::V2025_11_25).await, site.session(Revision::V2025_11_25).await);
    let (mut legacy, mut modern) = (site.open().await, site.open().await);
    legacy.send(&call_in(&mine, 1, "sleep", &json!({"ms": 150})).bytes()).await;
    modern.send(&call("sleep", &json!({"ms": 150})).bytes()).await;
    until(|| state.begun.load(SeqCst) == 2).await;
    cancel(&site, &theirs, &json!(1)).await;
    let outside = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(site.ask(&Ask::post(outside.to_string())).await.status, 202);
    assert_eq!(legacy.response().await.outcome(), (200, 0));
    assert_eq!(modern.response().await.outcome(), (200, 0));
}

#[tokio::test]
async fn deleted_session_drops_its_calls() {
    let (site, state) = site().await;
    let session = site.session(Revision::V2025_11_25).await;
    let mut wire = site.open().await;
    wire.send(&call_in(&session, 1, "sleep", &json!({"ms": 60_000})).bytes()).await;
    until(|| state.begun.load(SeqCst) == 1).await;
    assert_eq!(site.ask(&Ask::new("DELETE").with("Mcp-Session-Id", &session)).await.status, 204);
    until(|| state.dropped.load(SeqCst) == 1).await;
    let response = wire.response().await;
    assert!(!response.text().contains("result"), "{response:?}");
}

#[tokio::test]
async fn duplicate_id_is_rejected_only_within_a_session() {
    let (site, state) = site().await;
    let session = site.session(Revision::V2025_11_25).await;
    let mut wire = site.open().await;
    wire.send(&call_in(&session, 1, "sleep", &json!({"ms": 100})).bytes()).await;
    until(|| state.begun.load(SeqCst) == 1).await;
    assert_eq!(site.ask(&call_in(&session, 1, "add", &json!({"a": 1, "b": 1}))).await.outcome().1, -32600);
    assert_eq!(site.ask(&call("add", &json!({"a": 1, "b": 1}))).await.outcome(), (200, 0));
    assert_eq!(wire.response().await.outcome(), (200, 0));
}
