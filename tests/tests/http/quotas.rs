//! Quotas per principal, and the requests reserved for calls.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use mcp_runtime::http::HttpService;
use mcp_runtime::{Limits, Revision};
use mcp_tests::http::server::{TestServer, server, site_within};
use mcp_tests::http::{Ask, Response, Site, Wire, call, call_in, initialize, modern, soon, stream_of, until};
use serde_json::json;

/// A site that reads the principal from a header. For `mallory` the hook panics.
async fn with_users(change: impl FnOnce(&mut Limits)) -> (Site, Arc<TestServer>) {
    let state = Arc::default();
    let mut limits = Limits::default();
    change(&mut limits);
    let service = named(server(&state).limits(limits).into_service());
    (Site::serving(service).await, state)
}

fn named(service: HttpService) -> HttpService {
    service.principal(|parts| {
        let user = parts.headers.get("x-user")?.to_str().ok()?.to_owned();
        assert_ne!(user, "mallory", "a secret");
        Some(user)
    })
}

fn listen() -> Ask {
    modern("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}))
}

fn sleep() -> Ask {
    call("sleep", &json!({"ms": 60_000}))
}

/// Sends a request whose answer is to come.
async fn started(site: &Site, ask: &Ask) -> Wire {
    let mut wire = site.open().await;
    wire.send(&ask.bytes()).await;
    wire
}

#[track_caller]
fn is_later(response: &Response, status: u16) {
    // Its own limit is the caller's business, that of all is the server's.
    let code = if status == 429 { -32000 } else { -32603 };
    assert_eq!(response.outcome(), (status, code), "{response:?}");
    assert_eq!(response.json()["error"]["data"]["retryAfterMs"] == 1000, status == 429, "{response:?}");
    assert_eq!(response.header("retry-after"), Some("1"));
    assert_eq!(response.json()["id"], 1, "it says which request: {response:?}");
}

/// Repeats a request until it is accepted.
async fn at_last(site: &Site, ask: &Ask) -> (Response, Wire) {
    soon(async {
        loop {
            let (head, wire) = site.begin(ask).await;
            if head.status == 200 {
                return (head, wire);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
}

#[tokio::test]
async fn streams_limit_applies_per_principal() {
    let (site, _) = with_users(|limits| limits.streams = 2).await;
    let ann = listen().with("X-User", "ann");
    let (_, first) = site.begin(&ann).await;
    let (head, _second) = site.begin(&ann).await;
    assert_eq!(head.status, 200);
    is_later(&soon(site.ask(&ann)).await, 429);
    for other in [listen().with("X-User", "bob"), listen(), listen(), listen()] {
        assert_eq!(site.begin(&other).await.0.status, 200, "{other:?}");
    }
    let add = call("add", &json!({"a": 1, "b": 2})).with("X-User", "ann");
    assert_eq!(site.ask(&add).await.outcome(), (200, 0), "calls are counted apart");
    drop(first);
    at_last(&site, &ann).await;
}

#[tokio::test]
async fn in_flight_limit_applies_per_principal() {
    let (site, state) = with_users(|limits| limits.in_flight = 2).await;
    let ann = |ask: Ask| ask.with("X-User", "ann");
    let first = started(&site, &ann(sleep())).await;
    let _second = started(&site, &ann(sleep())).await;
    until(|| state.begun.load(SeqCst) == 2).await;
    is_later(&soon(site.ask(&ann(sleep()))).await, 429);
    assert_eq!(state.begun.load(SeqCst), 2, "nothing of it ran");
    assert_eq!(site.ask(&ann(call("add", &json!({"a": 1, "b": 2})))).await.outcome(), (200, 0), "it waits for nothing");
    assert_eq!(site.ask(&call("sleep", &json!({"ms": 1})).with("X-User", "bob")).await.outcome(), (200, 0));
    // A caller without a principal has no quota.
    let _others = [started(&site, &sleep()).await, started(&site, &sleep()).await, started(&site, &sleep()).await];
    until(|| state.begun.load(SeqCst) == 6).await;
    drop(first);
    at_last(&site, &ann(call("sleep", &json!({"ms": 1})))).await;
}

/// Streams are cheap to open and to hold: without a bound of their own they would take every request slot.
#[tokio::test]
async fn streams_leave_room_for_calls() {
    let (site, _) = site_within(|limits| limits.requests = 8).await;
    let session = site.session(Revision::V2025_11_25).await;
    let mut open = Vec::new();
    for _ in 0..5 {
        let (head, wire) = site.begin(&listen()).await;
        assert_eq!(head.status, 200);
        open.push(wire);
    }
    let (head, _stream) = site.begin(&stream_of(&session)).await;
    assert_eq!(head.status, 200);
    is_later(&soon(site.ask(&listen())).await, 503);
    let other = site.session(Revision::V2025_11_25).await;
    assert_eq!(soon(site.ask(&stream_of(&other))).await.outcome(), (503, -32603), "the streams of sessions count, too");
    assert_eq!(site.ask(&call("add", &json!({"a": 1, "b": 2}))).await.outcome(), (200, 0));
    open.pop();
    at_last(&site, &listen()).await;
}

#[tokio::test]
async fn panicking_principal_hook_gets_500() {
    let (site, _) = with_users(|_| {}).await;
    let session = site.session(Revision::V2025_11_25).await;
    let delete = Ask::new("DELETE").with("Mcp-Session-Id", &session);
    let asks = [
        sleep(),
        listen(),
        initialize("2025-11-25"),
        call_in(&session, 1, "add", &json!({"a": 1, "b": 2})),
        stream_of(&session),
        delete,
    ];
    for ask in asks {
        let response = soon(site.ask(&ask.clone().with("X-User", "mallory"))).await;
        assert_eq!(response.outcome(), (500, -32603), "{ask:?}");
        assert!(!response.text().contains("secret"), "{response:?}");
    }
    site.serves().await;
    assert_eq!(site.ask(&call_in(&session, 2, "add", &json!({"a": 1, "b": 2}))).await.outcome(), (200, 0));
}

#[tokio::test]
async fn panicking_principal_hook_gets_500_over_legacy_sse() {
    let state = Arc::default();
    let site = Site::serving(named(server(&state).into_service().legacy_sse())).await;
    for head in [
        "GET /sse HTTP/1.1\r\nHost: localhost\r\nX-User: mallory\r\n\r\n",
        "POST /messages HTTP/1.1\r\nHost: localhost\r\nX-User: mallory\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    ] {
        let mut wire = site.open().await;
        wire.send(head.as_bytes()).await;
        assert_eq!(wire.response().await.outcome(), (500, -32603));
    }
    site.serves().await;
}

/// Without a `principal` hook only `requests` bounds a caller.
#[tokio::test]
async fn callers_without_principal_have_no_quota() {
    let (site, state) = site_within(|limits| (limits.in_flight, limits.streams) = (1, 1)).await;
    let _calls = [started(&site, &sleep()).await, started(&site, &sleep()).await];
    until(|| state.begun.load(SeqCst) == 2).await;
    let (head, _first) = site.begin(&listen()).await;
    assert_eq!(head.status, 200);
    assert_eq!(site.begin(&listen()).await.0.status, 200);
}
