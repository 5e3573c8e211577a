//! The copies that replicas have of a session: how long they are used without asking the store, and that nobody notices.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_runtime::prelude::*;
use mcp_runtime::protocol::LogLevel;
use mcp_runtime::store::SessionStore as _;
use mcp_tests::http::server::server;
use mcp_tests::http::{Site, Wire, call_in, soon, stream_of, until};

use crate::faulty_backend::Shared;
use crate::replicas::{NEWEST, delete, ping, request, subscribe};

/// How long a copy is used.
const LEASE: Duration = Duration::from_millis(200);

/// Log a warning.
#[tool]
async fn warn(ctx: &Context) -> &'static str {
    ctx.log(LogLevel::Warning, "watch out").await;
    "warned"
}

/// Two replicas, and what they share.
async fn two() -> (Site, Site, Shared) {
    let shared = Shared::default();
    let site = async || Site::of(server(&Arc::default()).backend(shared.clone()).tools(tools![warn])).await;
    (site().await, site().await, shared)
}

async fn is_told_of_the_weather(stream: &mut Wire) {
    let event = soon(stream.event()).await.expect("the stream is over");
    assert_eq!(event["params"]["uri"], "weather://now", "{event}");
}

/// The replica with the stream learns of the subscription after the update, whether it is told of it or not.
#[tokio::test]
async fn update_right_after_a_subscription_elsewhere_is_told_once() {
    for deaf in [false, true] {
        let (a, b, shared) = two().await;
        shared.state.set(|state| &state.deaf, deaf);
        let session = a.session(NEWEST).await;
        let (_, mut stream) = b.begin(&stream_of(&session)).await;
        for _ in 0..3 {
            assert_eq!(a.ask(&subscribe(&session)).await.outcome(), (200, 0));
            a.handle.resource_updated("weather://now");
            is_told_of_the_weather(&mut stream).await;
            let more = tokio::time::timeout(Duration::from_millis(300), stream.event()).await;
            assert!(more.is_err(), "told again: {more:?}");
            let undo = request(&session, "resources/unsubscribe", &json!({"uri": "weather://now"}));
            assert_eq!(a.ask(&undo).await.outcome(), (200, 0));
            // Until the other replica has seen it.
            tokio::time::sleep(Duration::from_millis(if deaf { 2500 } else { 300 })).await;
        }
    }
}

#[tokio::test]
async fn burst_of_requests_loads_the_session_once() {
    let (a, _b, shared) = two().await;
    let session = a.session(NEWEST).await;
    let (before, start) = (shared.state.loaded(), Instant::now());
    for _ in 0..100 {
        assert_eq!(a.ask(&ping(&session)).await.status, 200);
    }
    let leases = start.elapsed().as_millis() / LEASE.as_millis() + 1;
    let loads = shared.state.loaded() - before;
    assert!(loads as u128 <= leases, "{loads} loads in {leases} leases");
}

/// Even if the bus has lost that it changed.
#[tokio::test]
async fn log_level_set_at_one_replica_counts_at_the_next_at_once() {
    let (a, b, shared) = two().await;
    shared.state.set(|state| &state.deaf, true);
    let session = a.session(NEWEST).await;
    for (level, logged) in [("error", false), ("debug", true), ("error", false), ("info", true)] {
        assert_eq!(b.ask(&ping(&session)).await.status, 200);
        let set = request(&session, "logging/setLevel", &json!({"level": level}));
        assert_eq!(a.ask(&set).await.outcome(), (200, 0));
        let warned = b.ask(&call_in(&session, 3, "warn", &json!({}))).await;
        assert_eq!(warned.text().contains("watch out"), logged, "{level}: {}", warned.text());
    }
}

/// Also right after another replica has done the opposite, even if the bus has lost that.
#[tokio::test]
async fn subscription_is_changed_at_the_replica_that_is_asked() {
    let (a, b, shared) = two().await;
    shared.state.set(|state| &state.deaf, true);
    let session = a.session(NEWEST).await;
    for (first, then) in [("subscribe", "unsubscribe"), ("subscribe", "subscribe"), ("unsubscribe", "subscribe")] {
        let ask = |what: &str| request(&session, &format!("resources/{what}"), &json!({"uri": "weather://now"}));
        assert_eq!(b.ask(&ping(&session)).await.status, 200, "it has a copy");
        assert_eq!(a.ask(&ask(first)).await.outcome(), (200, 0));
        assert_eq!(b.ask(&ask(then)).await.outcome(), (200, 0));
        let record = shared.load(&session).await.unwrap().expect("the session is over");
        assert_eq!(record.subscriptions.contains("weather://now"), then == "subscribe", "{first}, then {then}");
    }
}

/// The record it is loading is the older one.
#[tokio::test]
async fn replica_that_is_told_of_a_change_while_it_loads_loads_again() {
    let (a, b, shared) = two().await;
    let session = a.session(NEWEST).await;
    assert_eq!(b.ask(&ping(&session)).await.status, 200, "it has a copy");
    tokio::time::sleep(2 * LEASE).await;
    shared.state.set(|state| &state.slow_load, true);
    let loads = shared.state.loaded();
    let change = async {
        until(|| shared.state.loaded() > loads).await;
        shared.state.set(|state| &state.slow_load, false);
        assert_eq!(a.ask(&subscribe(&session)).await.outcome(), (200, 0));
    };
    let ping = ping(&session);
    let (old, ()) = tokio::join!(b.ask(&ping), change);
    assert_eq!(old.status, 200);
    let loads = shared.state.loaded();
    assert_eq!(b.ask(&ping).await.status, 200);
    assert_eq!(shared.state.loaded(), loads + 1);
}

/// Even if the bus has lost that it ended.
#[tokio::test]
async fn session_ended_at_one_replica_is_unknown_at_the_next_at_once() {
    for how in ["DELETE", "shutdown"] {
        let (a, b, shared) = two().await;
        shared.state.set(|state| &state.deaf, true);
        let session = a.session(NEWEST).await;
        assert_eq!(b.ask(&ping(&session)).await.status, 200);
        let end = if how == "DELETE" { delete(&session) } else { request(&session, how, &json!({})) };
        let ended = a.ask(&end).await;
        assert!(ended.status < 300, "{how}: {ended:?}");
        assert_eq!(b.ask(&ping(&session)).await.status, 404, "{how}");
    }
}

/// Another user of the replica does not get in by the copy.
#[tokio::test]
async fn copy_is_for_the_principal_of_its_session() {
    let shared = Shared::default();
    let service = server(&Arc::default()).backend(shared.clone()).into_service();
    let site =
        Site::serving(service.principal(|parts| Some(parts.headers.get("x-user")?.to_str().ok()?.to_owned()))).await;
    let opened = site.ask(&mcp_tests::http::initialize("2025-11-25").with("X-User", "ann")).await;
    let session = opened.header("mcp-session-id").unwrap();
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(site.ask(&mcp_tests::http::in_session(session, &ready).with("X-User", "ann")).await.status, 202);
    for _ in 0..2 {
        assert_eq!(site.ask(&ping(session).with("X-User", "ann")).await.status, 200);
        assert_eq!(site.ask(&ping(session).with("X-User", "bob")).await.status, 404);
        assert_eq!(site.ask(&ping(session)).await.status, 404);
    }
}
