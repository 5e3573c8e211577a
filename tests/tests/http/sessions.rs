//! Sessions: ids, ownership, limits and timeouts.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management>

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::{Limits, Revision};
use mcp_tests::http::server::{SESSIONS, server, site, site_within};
use mcp_tests::http::{Ask, Response, Site, call_in, in_session, initialize, modern, soon, stream_of, until};
use serde_json::json;
use tokio::time::sleep;

const NEWEST: Revision = Revision::V2025_11_25;

fn ping(session: &str) -> Ask {
    in_session(session, &json!({"jsonrpc": "2.0", "id": 5, "method": "ping"}))
}

fn delete(session: &str) -> Ask {
    Ask::new("DELETE").with("Mcp-Session-Id", session)
}

fn is_later(response: &Response, status: u16) {
    assert_eq!(response.status, status, "{response:?}");
    let wait: u64 = response.header("retry-after").expect("when to try again").parse().unwrap();
    assert!(wait > 0);
}

#[tokio::test]
async fn session_ids_are_visible_ascii_and_unguessable() {
    let (site, _) = site().await;
    let mut ids = HashSet::new();
    for _ in 0..50 {
        let id = site.session(NEWEST).await;
        assert!(id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)), "{id}");
        assert!(id.len() >= 22, "128 bits take 22 letters: {id}");
        ids.insert(id);
    }
    assert_eq!(ids.len(), 50);
    let beginnings: HashSet<_> = ids.iter().map(|id| &id[..4]).collect();
    assert!(beginnings.len() > 40, "they have something in common: {ids:?}");
}

#[tokio::test]
async fn delete_ends_the_session() {
    let (site, _) = site().await;
    for revision in SESSIONS {
        let session = site.session(revision).await;
        assert_eq!(site.ask(&ping(&session)).await.outcome(), (200, 0));
        let ended = site.ask(&delete(&session)).await;
        assert_eq!((ended.status, &*ended.body), (204, &b""[..]));
        for ask in [ping(&session), delete(&session), stream_of(&session)] {
            assert_eq!(site.ask(&ask).await.status, 404, "{ask:?}");
        }
    }
}

#[tokio::test]
async fn unknown_and_missing_session_ids_are_rejected() {
    let (site, _) = site().await;
    for unknown in ["x", "", "ü", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
        for ask in [ping(unknown), delete(unknown), stream_of(unknown)] {
            assert_eq!(site.ask(&ask).await.status, 404, "{ask:?}");
        }
    }
    for ask in [ping(""), delete("")] {
        assert_eq!(site.ask(&ask.without("Mcp-Session-Id")).await.outcome(), (400, -32600));
    }
    let session = site.session(NEWEST).await;
    assert_eq!(site.ask(&ping(&session).with("Mcp-Session-Id", "x")).await.outcome(), (400, -32600), "which one?");
    // Without a session there is no stream.
    assert_eq!(site.ask(&stream_of("").without("Mcp-Session-Id")).await.status, 405);
}

#[tokio::test]
async fn initialize_with_wrong_types_opens_no_session() {
    let (site, _) = site_within(|limits| limits.sessions = 1).await;
    for revision in SESSIONS {
        for (capabilities, info, field) in [
            (json!(5), json!({"name": "t", "version": "1"}), "capabilities"),
            (json!({"sampling": [1]}), json!({"name": "t", "version": "1"}), "capabilities.sampling"),
            (json!({}), json!("t"), "clientInfo"),
            (json!({}), json!({"name": null, "version": "1"}), "clientInfo.name"),
        ] {
            let params = json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": info});
            let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
            let response = site.ask(&Ask::post(hello.to_string())).await;
            assert_eq!(response.header("mcp-session-id"), None, "{revision} {field}");
            assert_eq!(response.json()["error"]["code"], -32602, "{revision} {field}");
            assert_eq!(response.json()["error"]["data"]["field"], field, "{revision}");
        }
        // There is room for one session, and none was opened.
        let session = site.session(revision).await;
        site.ask(&delete(&session)).await;
    }
}

/// A site that reads the principal from a header.
async fn with_users(limits: Limits) -> Site {
    let state = Arc::default();
    let service = server(&state).limits(limits).into_service();
    Site::serving(service.principal(|parts| Some(parts.headers.get("x-user")?.to_str().ok()?.to_owned()))).await
}

#[tokio::test]
async fn session_of_another_principal_looks_unknown() {
    let site = with_users(Limits::default()).await;
    let response = site.ask(&initialize("2025-11-25").with("X-User", "ann")).await;
    let session = response.header("mcp-session-id").unwrap();
    for ask in [ping(session), stream_of(session), delete(session)] {
        for stranger in [ask.clone(), ask.with("X-User", "bob")] {
            let response = site.ask(&stranger).await;
            let unknown = site.ask(&ping("nobody's")).await;
            assert_eq!((response.status, &response.body), (404, &unknown.body), "{stranger:?}");
        }
    }
    assert_eq!(site.ask(&ping(session).with("X-User", "ann")).await.status, 200);
}

#[tokio::test]
async fn sessions_limit_gets_503() {
    let (site, _) = site_within(|limits| limits.sessions = 2).await;
    let first = site.session(NEWEST).await;
    site.session(NEWEST).await;
    is_later(&site.ask(&initialize("2025-11-25")).await, 503);
    site.serves().await;
    assert_eq!(site.ask(&ping(&first)).await.status, 200, "those there are are served");
    site.ask(&delete(&first)).await;
    site.session(NEWEST).await;
}

#[tokio::test]
async fn sessions_per_principal_is_enforced() {
    let mut limits = Limits::default();
    limits.sessions_per_principal = 1;
    let site = with_users(limits).await;
    let open = |user: &str| initialize("2025-11-25").with("X-User", user);
    assert_eq!(site.ask(&open("ann")).await.status, 200);
    is_later(&site.ask(&open("ann")).await, 429);
    assert_eq!(site.ask(&open("bob")).await.status, 200);
}

#[tokio::test]
async fn idle_sessions_are_evicted_at_the_limit() {
    let (site, _) = site_within(|limits| {
        limits.sessions = 1;
        limits.session_idle_timeout = Duration::from_millis(100);
    })
    .await;
    let first = site.session(NEWEST).await;
    is_later(&site.ask(&initialize("2025-11-25")).await, 503);
    sleep(Duration::from_millis(150)).await;
    site.session(NEWEST).await;
    assert_eq!(site.ask(&ping(&first)).await.status, 404);
}

#[tokio::test]
async fn flood_of_sessions_evicts_only_those_never_used() {
    let (site, _) = site_within(|limits| limits.sessions = 8).await;
    let used = site.session(NEWEST).await;
    for _ in 0..50 {
        assert_eq!(site.ask(&initialize("2025-11-25")).await.status, 200, "a new client is not locked out");
    }
    let new = site.session(NEWEST).await;
    for session in [&used, &new] {
        assert_eq!(site.ask(&ping(session)).await.status, 200, "a session in use stays");
    }
}

#[tokio::test]
async fn idle_session_times_out() {
    let idle = Duration::from_millis(500);
    let (site, _) = site_within(|limits| limits.session_idle_timeout = idle).await;
    let session = site.session(NEWEST).await;
    for _ in 0..4 {
        sleep(idle / 2).await;
        assert_eq!(site.ask(&ping(&session)).await.status, 200, "this is use");
    }
    sleep(idle * 2).await;
    assert_eq!(site.ask(&ping(&session)).await.status, 404);
}

#[tokio::test]
async fn running_call_and_open_stream_keep_a_session_alive() {
    // Long enough that a slow machine can answer within a fraction of it.
    let idle = Duration::from_millis(500);
    let (site, state) = site_within(|limits| limits.session_idle_timeout = idle).await;
    let session = site.session(NEWEST).await;
    let mut wire = site.open().await;
    wire.send(&call_in(&session, 1, "sleep", &json!({"ms": 1200})).bytes()).await;
    until(|| state.begun.load(std::sync::atomic::Ordering::SeqCst) == 1).await;
    sleep(idle * 2).await;
    assert_eq!(site.ask(&ping(&session)).await.status, 200, "it is working");
    assert_eq!(wire.response().await.json()["id"], 1);

    let (head, stream) = site.begin(&stream_of(&session)).await;
    assert_eq!(head.status, 200);
    sleep(idle * 3).await;
    assert_eq!(site.ask(&ping(&session)).await.status, 200, "a stream is open");
    sleep(idle * 3).await;
    drop(stream);
    sleep(idle / 4).await;
    assert_eq!(site.ask(&ping(&session)).await.status, 200, "idle from when the stream ended");
    sleep(idle * 3).await;
    assert_eq!(site.ask(&ping(&session)).await.status, 404);
}

#[tokio::test]
async fn session_lifetime_ends_a_session_in_use() {
    let (site, _) = site_within(|limits| limits.session_lifetime = Duration::from_millis(300)).await;
    let session = site.session(NEWEST).await;
    let (head, mut stream) = site.begin(&stream_of(&session)).await;
    assert_eq!(head.status, 200);
    soon(async {
        while site.ask(&ping(&session)).await.status == 200 {
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert_eq!(site.ask(&ping(&session)).await.status, 404);
    assert_eq!(stream.event().await, None, "its stream is over, too");
}

#[tokio::test]
async fn session_lifetime_ends_its_stream() {
    let (site, _) = site_within(|limits| limits.session_lifetime = Duration::from_millis(150)).await;
    let session = site.session(NEWEST).await;
    let (_, mut stream) = site.begin(&stream_of(&session)).await;
    assert_eq!(stream.event().await, None);
}

#[tokio::test]
async fn second_session_stream_gets_409() {
    let (site, _) = site().await;
    let session = site.session(NEWEST).await;
    let (head, stream) = site.begin(&stream_of(&session)).await;
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(head.header("mcp-session-id"), None);
    assert_eq!(site.ask(&stream_of(&session)).await.status, 409);
    let other = site.session(NEWEST).await;
    let (head, mut other_stream) = site.begin(&stream_of(&other)).await;
    assert_eq!(head.status, 200, "another session has its own");
    // When it is gone there may be another.
    drop(stream);
    soon(async {
        while site.begin(&stream_of(&session)).await.0.status == 409 {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert_eq!(site.ask(&delete(&other)).await.status, 204);
    assert_eq!(other_stream.event().await, None, "a stream ends with its session");
}

#[tokio::test]
async fn requests_limit_gets_503() {
    let (site, state) = site_within(|limits| limits.requests = 2).await;
    let busy = modern("tools/call", json!({"name": "sleep", "arguments": {"ms": 200}}));
    let mut wires = [site.open().await, site.open().await];
    for wire in &mut wires {
        wire.send(&busy.bytes()).await;
    }
    until(|| state.begun.load(std::sync::atomic::Ordering::SeqCst) == 2).await;
    is_later(&site.ask(&busy).await, 503);
    for wire in &mut wires {
        assert_eq!(wire.response().await.status, 200);
    }
    site.serves().await;
}

#[tokio::test]
async fn open_streams_count_against_the_requests_limit() {
    let (site, _) = site_within(|limits| limits.requests = 2).await;
    let listen = modern("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let steps =
        modern("tools/call", json!({"name": "steps", "arguments": {"n": 100_000}, "_meta": {"progressToken": 1}}));
    let (head, mut first) = site.begin(&listen).await;
    assert_eq!(head.status, 200);
    first.event().await.unwrap();
    let (head, second) = site.begin(&steps).await;
    assert_eq!(head.status, 200);
    is_later(&site.ask(&listen).await, 503);
    drop((first, second));
    soon(async {
        while site.ask(&modern("tools/list", json!({}))).await.status == 503 {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

fn shutdown(session: &str) -> Ask {
    in_session(session, &json!({"jsonrpc": "2.0", "id": 9, "method": "shutdown"}))
}

/// `shutdown` and `exit` are not part of MCP, but some clients send them. Over HTTP they end the session only.
#[tokio::test]
async fn shutdown_request_drains_and_ends_the_session() {
    let (site, state) = site().await;
    let session = site.session(NEWEST).await;
    let (_, mut stream) = site.begin(&stream_of(&session)).await;
    let mut wire = site.open().await;
    wire.send(&call_in(&session, 1, "sleep", &json!({"ms": 100})).bytes()).await;
    until(|| state.begun.load(std::sync::atomic::Ordering::SeqCst) == 1).await;
    let response = site.ask(&shutdown(&session)).await;
    assert_eq!((response.status, response.json()), (200, json!({"jsonrpc": "2.0", "id": 9, "result": {}})));
    assert!(wire.response().await.text().contains("slept 100"));
    assert_eq!(stream.event().await, None);
    for ask in [ping(&session), stream_of(&session), delete(&session), shutdown(&session)] {
        assert_eq!(site.ask(&ask).await.status, 404, "{ask:?}");
    }
    let exit = in_session(&session, &json!({"jsonrpc": "2.0", "method": "exit"}));
    assert_eq!(site.ask(&exit).await.status, 202, "the other half of it: nothing to say against it");
    site.serves().await;
}

#[tokio::test]
async fn shutdown_request_frees_the_session_slot() {
    let (site, _) = site_within(|limits| limits.sessions = 1).await;
    let session = site.session(NEWEST).await;
    is_later(&site.ask(&initialize("2025-11-25")).await, 503);
    assert_eq!(site.ask(&shutdown(&session)).await.status, 200);
    site.session(NEWEST).await;
}

#[tokio::test]
async fn shutdown_request_ends_the_session_despite_a_disconnect() {
    let (site, state) = site().await;
    let session = site.session(NEWEST).await;
    let mut call = site.open().await;
    call.send(&call_in(&session, 1, "sleep", &json!({"ms": 60_000})).bytes()).await;
    until(|| state.begun.load(std::sync::atomic::Ordering::SeqCst) == 1).await;
    let mut wire = site.open().await;
    wire.send(&shutdown(&session).bytes()).await;
    sleep(Duration::from_millis(50)).await;
    drop(wire);
    soon(async {
        while site.ask(&ping(&session)).await.status != 404 {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn shutdown_request_needs_a_session() {
    let (site, _) = site().await;
    assert_eq!(site.ask(&modern("shutdown", json!({}))).await.outcome(), (404, -32601));
    site.serves().await;
}
