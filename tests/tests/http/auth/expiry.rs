//! A stream ends when the token ends that has opened it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_runtime::Revision;
use mcp_runtime::auth::Auth;
use mcp_tests::fake_issuer::FakeIssuer;
use mcp_tests::http::{Ask, Site, Wire, call_in, initialize, modern, soon, stream_of};
use serde_json::{Value, json};

use super::issuers::{RESOURCE, serving};
use super::{service, site, with};

/// Reads a stream to its end, which must come by itself.
async fn rest(wire: &mut Wire) -> Vec<Value> {
    soon(async {
        let mut events = Vec::new();
        while let Some(event) = wire.event().await {
            events.push(event);
        }
        events
    })
    .await
}

fn humming(id: u64) -> Ask {
    let meta = json!({"io.modelcontextprotocol/logLevel": "debug", "progressToken": id});
    modern("tools/call", json!({"name": "hum", "arguments": {}, "_meta": meta}))
}

#[tokio::test]
async fn stream_of_a_call_ends_with_its_token() {
    let site = site().await;
    let (head, mut wire) = site.begin(&with(humming(1), "alice;notes:read;300")).await;
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    let events = rest(&mut wire).await;
    assert!(events.iter().all(|event| event["method"] == "notifications/message"), "{events:?}");
}

#[tokio::test]
async fn subscription_ends_with_a_result() {
    let site = site().await;
    let params = json!({"notifications": {"resourceSubscriptions": ["notes://mine"]}});
    let listen = with(modern("subscriptions/listen", params), "alice;notes:read;300");
    let (head, mut wire) = site.begin(&listen).await;
    assert_eq!(head.status, 200);
    let events = rest(&mut wire).await;
    assert_eq!(events[0]["method"], "notifications/subscriptions/acknowledged", "{events:?}");
    assert_eq!(events.last().unwrap()["result"]["resultType"], "complete", "{events:?}");
}

/// A token is accepted a little longer than it says, and so are its streams: else a client would open them again and again.
#[tokio::test]
async fn subscription_lives_as_long_as_its_token_is_accepted() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let issuer = FakeIssuer::start().await;
    let site = serving(Auth::jwt(&issuer.url).leeway(Duration::from_secs(3600))).await;
    let token = issuer.sign(&json!({"aud": RESOURCE, "sub": "alice", "exp": now - 60}));
    let params = json!({"notifications": {"resourceSubscriptions": ["notes://mine"]}});
    let (head, mut wire) = site.begin(&with(modern("subscriptions/listen", params), &token)).await;
    assert_eq!(head.status, 200);
    assert_eq!(soon(wire.event()).await.unwrap()["method"], "notifications/subscriptions/acknowledged");
    site.handle.resource_updated("notes://mine");
    let event = soon(wire.event()).await.unwrap();
    assert_eq!(event["method"], "notifications/resources/updated", "{event}");
}

#[tokio::test]
async fn streams_of_a_session_end_and_are_resumed_with_another_token() {
    let site = site().await;
    let (short, long) = ("alice;notes:read;400", "alice;notes:read");
    let opened = site.ask(&with(initialize(Revision::V2025_11_25.as_str()), long)).await;
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let (head, mut own) = site.begin(&with(stream_of(&session), short)).await;
    assert_eq!(head.status, 200);
    rest(&mut own).await;
    let (head, _own) = site.begin(&with(stream_of(&session), long)).await;
    assert_eq!(head.status, 200, "it is free again");

    let (head, mut call) = site.begin(&with(call_in(&session, 5, "hum", &json!({})), short)).await;
    assert_eq!(head.status, 200);
    let mut text = String::new();
    while let Some(chunk) = soon(call.chunk()).await {
        text.push_str(&String::from_utf8(chunk).unwrap());
    }
    let last = text.lines().filter_map(|line| line.strip_prefix("id: ")).next_back().expect("events have ids");
    let resume = stream_of(&session).with("Last-Event-ID", last);
    assert_eq!(site.begin(&with(resume, long)).await.0.status, 200, "the call goes on");
}

#[tokio::test]
async fn legacy_stream_ends_with_its_token() {
    let site = Site::serving(service().legacy_sse()).await;
    let ask = with(Ask::new("GET").with("Accept", "text/event-stream"), "alice;notes:read;300");
    let bytes = String::from_utf8(ask.bytes()).unwrap().replacen("/mcp", "/sse", 1);
    let mut wire = site.open().await;
    wire.send(bytes.as_bytes()).await;
    assert_eq!(wire.head().await.status, 200);
    while soon(wire.chunk()).await.is_some() {}
}

/// A call that has not begun to answer is answered.
#[tokio::test]
async fn answer_outlives_the_token() {
    let site = site().await;
    let ask = modern("tools/call", json!({"name": "waits", "arguments": {"tells": false}}));
    let response = site.ask(&with(ask, "alice;notes:read+notes:write+notes:all;5")).await;
    assert_eq!(response.json()["result"]["content"][0]["text"], "all of them");
}
