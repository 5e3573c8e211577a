//! Graceful shutdown over HTTP: running calls are drained, new requests are rejected, streams end.

use std::io::Write as _;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use mcp_runtime::Revision;
use mcp_tests::http::server::{site, site_within};
use mcp_tests::http::{Wire, call, call_in, modern, soon, stream_of, until};
use serde_json::json;
use tracing_subscriber::prelude::*;

use crate::log::Log;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_drains_calls_and_ends_streams() {
    let (site, state) = site().await;
    let session = site.session(Revision::V2025_11_25).await;
    let mut idle = site.open().await;
    idle.send(&modern("tools/list", json!({})).bytes()).await;
    idle.response().await;
    let mut wires = Vec::new();
    for id in 0..20 {
        for ask in [call("sleep", &json!({"ms": 300})), call_in(&session, id, "sleep", &json!({"ms": 300}))] {
            let mut wire = site.open().await;
            wire.send(&ask.bytes()).await;
            wires.push(wire);
        }
    }
    until(|| state.begun.load(SeqCst) == 40).await;
    let listen = modern("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let (_, mut listening) = site.begin(&listen).await;
    listening.event().await.unwrap();
    let (_, mut stream) = site.begin(&stream_of(&session)).await;

    let handle = site.handle.clone();
    let begun = Instant::now();
    let closing = tokio::spawn(async move { handle.shutdown().await });
    until(|| site.handle.is_shutting_down()).await;
    assert!(idle.is_closed().await, "an idle connection is closed");
    assert_eq!(listening.event().await.unwrap()["result"]["resultType"], "complete");
    assert_eq!(listening.event().await, None);
    assert_eq!(stream.event().await, None, "the stream of a session ends, too");
    assert!(begun.elapsed() < Duration::from_secs(4), "long before calls would be dropped");
    for mut wire in wires {
        assert!(wire.response().await.text().contains("slept 300"));
        assert!(wire.is_closed().await);
    }
    soon(closing).await.unwrap();
    soon(site.serving).await.unwrap().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(4));
    assert!(tokio::net::TcpStream::connect(site.address).await.is_err());
}

/// A connection in use may have sent another request before it learns of the shutdown.
#[tokio::test]
async fn requests_after_start_shutdown_are_rejected() {
    let (site, state) = site().await;
    let mut wire = site.open().await;
    wire.send(&call("sleep", &json!({"ms": 150})).bytes()).await;
    until(|| state.begun.load(SeqCst) == 1).await;
    site.handle.start_shutdown();
    wire.send(&call("sleep", &json!({"ms": 150})).bytes()).await;
    assert_eq!(wire.response().await.status, 200);
    let next = wire.try_head().await.map(|head| head.status);
    assert!(next.is_none_or(|status| status == 503), "{next:?}");
    assert_eq!(state.begun.load(SeqCst), 1);
}

/// The kernel has accepted these connections, and their clients have sent a request.
#[tokio::test]
async fn connections_that_wait_to_be_accepted_are_served() {
    let (site, _) = site().await;
    site.serves().await;
    // On this thread nothing else runs meanwhile.
    let queued: Vec<_> = (0..10)
        .map(|_| {
            let mut stream = std::net::TcpStream::connect(site.address).unwrap();
            stream.write_all(&call("sleep", &json!({"ms": 50})).bytes()).unwrap();
            stream
        })
        .collect();
    site.handle.start_shutdown();
    for stream in queued {
        stream.set_nonblocking(true).unwrap();
        let mut wire = Wire::over(tokio::net::TcpStream::from_std(stream).unwrap());
        let response = wire.response().await;
        assert!(response.status == 200 && response.text().contains("slept 50"), "{response:?}");
        assert!(wire.is_closed().await);
    }
    soon(site.serving).await.unwrap().unwrap();
}

/// A client that has connected sends its request, though the server shuts down meanwhile.
#[tokio::test]
async fn first_request_of_an_accepted_connection_is_served() {
    let (site, _) = site_within(|limits| limits.drain_timeout = Duration::from_secs(10 * 60)).await;
    let (mut late, mut silent) = (site.open().await, site.open().await);
    // It has accepted those before this one.
    site.serves().await;
    site.handle.start_shutdown();
    tokio::time::sleep(Duration::from_millis(20)).await;
    late.send(&call("sleep", &json!({"ms": 50})).bytes()).await;
    assert!(late.response().await.text().contains("slept 50"));
    assert!(late.is_closed().await);
    assert!(silent.is_closed().await, "nobody waits for a client that has nothing to say");
    soon(site.serving).await.unwrap().unwrap();
}

#[tokio::test]
async fn drain_timeout_drops_calls() {
    let log = Log::default();
    let _guard = tracing_subscriber::registry().with(log.clone()).set_default();
    let (site, state) = site_within(|limits| limits.drain_timeout = Duration::from_millis(100)).await;
    let session = site.session(Revision::V2025_11_25).await;
    let mut wires = Vec::new();
    for ask in [call("sleep", &json!({"ms": 60_000})), call_in(&session, 1, "sleep", &json!({"ms": 60_000}))] {
        let mut wire = site.open().await;
        wire.send(&ask.bytes()).await;
        wires.push(wire);
    }
    until(|| state.begun.load(SeqCst) == 2).await;
    soon(site.handle.shutdown()).await;
    soon(site.serving).await.unwrap().unwrap();
    until(|| state.dropped.load(SeqCst) == 2).await;
    assert_eq!(state.finished.load(SeqCst), 0);
    for mut wire in wires {
        let refused = wire.response().await;
        assert_eq!((refused.outcome(), refused.header("retry-after")), ((503, -32603), Some("1")));
        assert!(wire.is_closed().await);
    }
    let (level, line) = log.find("calls dropped").unwrap();
    assert_eq!(level, tracing::Level::WARN);
    assert!(line.contains("calls=2 after=100ms") && line.contains("drain_timeout"), "{line}");
    assert_eq!(log.find("request refused"), None, "one line for all");
}

#[tokio::test]
async fn abort_drops_calls_at_once() {
    let (site, state) = site().await;
    let session = site.session(Revision::V2025_11_25).await;
    let mut wires = Vec::new();
    for ask in [call("sleep", &json!({"ms": 60_000})), call_in(&session, 1, "sleep", &json!({"ms": 60_000}))] {
        let mut wire = site.open().await;
        wire.send(&ask.bytes()).await;
        wires.push(wire);
    }
    until(|| state.begun.load(SeqCst) == 2).await;
    let begun = Instant::now();
    site.handle.abort();
    soon(site.serving).await.unwrap().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(2));
    until(|| state.dropped.load(SeqCst) == 2).await;
}

/// A call in a session whose client is gone is still a call in flight.
#[tokio::test]
async fn shutdown_waits_for_calls_of_disconnected_clients() {
    let (site, state) = site().await;
    let session = site.session(Revision::V2025_11_25).await;
    let mut wire = site.open().await;
    wire.send(&call_in(&session, 1, "sleep", &json!({"ms": 200})).bytes()).await;
    until(|| state.begun.load(SeqCst) == 1).await;
    drop(wire);
    soon(site.handle.shutdown()).await;
    assert_eq!(state.finished.load(SeqCst), 1);
}

/// An incomplete request is bounded by `request_timeout`, not by `drain_timeout`.
#[tokio::test]
async fn shutdown_does_not_wait_for_an_incomplete_request() {
    let (site, _) = site_within(|limits| {
        limits.request_timeout = Duration::from_millis(150);
        limits.drain_timeout = Duration::from_secs(10 * 60);
    })
    .await;
    let mut wire = site.open().await;
    wire.send(b"POST /mcp HT").await;
    site.serves().await;
    site.handle.start_shutdown();
    assert!(wire.is_closed().await);
    soon(site.serving).await.unwrap().unwrap();
}
