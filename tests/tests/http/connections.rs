//! `Limits::connections`, idle eviction and the timeouts of a connection.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use mcp_tests::http::server::site_within;
use mcp_tests::http::{Site, Wire, call, modern, soon, until};
use serde_json::json;

#[tokio::test]
async fn connection_over_the_limit_waits_for_a_slot() {
    let (site, state) = site_within(|limits| limits.connections = 2).await;
    let mut wires = [site.open().await, site.open().await];
    for wire in &mut wires {
        wire.send(&call("sleep", &json!({"ms": 400})).bytes()).await;
    }
    until(|| state.begun.load(SeqCst) == 2).await;
    let mut third = site.open().await;
    third.send(&call("sleep", &json!({"ms": 1})).bytes()).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(state.begun.load(SeqCst), 2, "it is not listened to yet");
    for wire in &mut wires {
        assert_eq!(wire.response().await.outcome(), (200, 0), "the first two are served");
    }
    assert_eq!(third.response().await.outcome(), (200, 0));
}

#[tokio::test]
async fn idle_connections_are_evicted_at_the_limit() {
    let (site, _) = site_within(|limits| limits.connections = 2).await;
    let mut kept = Vec::new();
    // Each is served, and then left open.
    for _ in 0..10 {
        let mut wire = site.open().await;
        wire.send(&modern("tools/list", json!({})).bytes()).await;
        assert_eq!(soon(wire.response()).await.status, 200);
        kept.push(wire);
    }
    site.serves().await;
}

#[tokio::test]
async fn connection_is_kept_alive_below_the_limit() {
    let (site, _) = site_within(|limits| limits.connections = 2).await;
    let mut kept = site.open().await;
    for _ in 0..20 {
        kept.send(&modern("tools/list", json!({})).bytes()).await;
        let response = kept.response().await;
        assert_eq!((response.status, response.header("connection")), (200, None));
        site.serves().await;
    }
}

#[tokio::test]
async fn connections_without_a_request_time_out() {
    let (site, _) = site_within(|limits| {
        limits.connections = 2;
        limits.request_timeout = Duration::from_millis(200);
    })
    .await;
    let mut silent = [site.open().await, site.open().await];
    silent[1].send(b"POST /mcp HT").await;
    soon(site.serves()).await;
}

/// Only idle connections are evicted: a flood cannot take the slot of a client that has just connected.
#[tokio::test]
async fn new_connection_is_not_evicted_before_its_first_request() {
    let (site, _) = site_within(|limits| limits.connections = 1).await;
    let mut new = site.open().await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let next = site.open().await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    new.send(&modern("tools/list", json!({})).bytes()).await;
    assert_eq!(new.response().await.status, 200);
    assert!(new.is_closed().await, "now it has been heard");
    drop(next);
    site.serves().await;
}

#[tokio::test]
async fn unread_response_times_out() {
    let (site, state) = site_within(|limits| {
        limits.log_rate = u32::MAX;
        limits.write_timeout = Duration::from_millis(200);
        limits.connections = 1;
    })
    .await;
    let babble = json!({"name": "babble", "_meta": {"io.modelcontextprotocol/logLevel": "debug"}});
    let mut wire = site.open().await;
    wire.send(&modern("tools/call", babble).bytes()).await;
    until(|| state.begun.load(SeqCst) == 1).await;
    soon(site.serves()).await;
    assert_eq!(state.dropped.load(SeqCst), 1, "and its call is dropped");
}

#[tokio::test]
async fn slow_reader_does_not_time_out() {
    use tokio::io::AsyncReadExt as _;

    let (site, state) = site_within(|limits| {
        limits.log_rate = u32::MAX;
        limits.write_timeout = Duration::from_millis(400);
    })
    .await;
    let babble = json!({"name": "babble", "_meta": {"io.modelcontextprotocol/logLevel": "debug"}});
    let mut wire = site.open().await;
    wire.send(&modern("tools/call", babble).bytes()).await;
    until(|| state.begun.load(SeqCst) == 1).await;
    let mut piece = vec![0; 1024 * 1024];
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(soon(wire.stream.read(&mut piece)).await.unwrap() > 0);
    }
    assert_eq!(state.dropped.load(SeqCst), 0);
    site.serves().await;
}

#[tokio::test]
async fn idle_keep_alive_connection_times_out() {
    let (site, _) = site_within(|limits| limits.request_timeout = Duration::from_millis(150)).await;
    let mut wire = site.open().await;
    wire.send(&modern("tools/list", json!({})).bytes()).await;
    assert_eq!(wire.response().await.status, 200);
    assert!(wire.is_closed().await);
}

/// `request_timeout` does not bound the handler, a listening stream, or the reading of a response.
#[tokio::test]
async fn request_timeout_bounds_only_reading_the_request() {
    let (site, _) = site_within(|limits| limits.request_timeout = Duration::from_millis(100)).await;
    let long = Duration::from_millis(600);
    let mut called = site.open().await;
    called.send(&call("sleep", &json!({"ms": 600})).bytes()).await;
    let (_, mut listening) =
        site.begin(&modern("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}))).await;
    // More than fits into the buffers between here and there.
    let mut reading = site.open().await;
    reading.send(&call("long", &json!({"n": 10_000_000})).bytes()).await;

    tokio::time::sleep(long).await;
    assert_eq!(soon(called.response()).await.outcome(), (200, 0));
    let read = soon(reading.response()).await.json();
    assert_eq!(read["result"]["content"][0]["text"].as_str().map(str::len), Some(10_000_000));
    site.handle.tools().disable("add");
    assert_eq!(listening.event().await.unwrap()["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(listening.event().await.unwrap()["method"], "notifications/tools/list_changed");
}

/// A connection that has sent the head of a request, and the first byte of its body.
async fn slow_body(site: &Site) -> Wire {
    let mut wire = site.open().await;
    let head =
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
    wire.send(head.as_bytes()).await;
    wire
}

#[tokio::test]
async fn slow_bodies_take_no_place_from_requests() {
    let (site, _) = site_within(|limits| limits.requests = 2).await;
    let mut slow = Vec::new();
    for _ in 0..8 {
        slow.push(slow_body(&site).await);
    }
    for _ in 0..4 {
        site.serves().await;
    }
    // Faster than the time limit of a request: one byte in five seconds is too few.
    assert_eq!(soon(slow[0].response()).await.status, 408);
    site.serves().await;
}

#[tokio::test]
async fn silent_connections_are_closed_before_those_that_work() {
    let (site, _) = site_within(|limits| limits.connections = 8).await;
    let mut working = site.open().await;
    let mut flood = Vec::new();
    for number in 0..40 {
        let mut wire = site.open().await;
        match number % 3 {
            0 => {}
            1 => wire.send(b"POST /mcp HT").await,
            _ => wire.send(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{").await,
        }
        flood.push(wire);
        working.send(&modern("tools/list", json!({})).bytes()).await;
        assert_eq!(soon(working.response()).await.status, 200, "it is kept");
    }
    // Behind forty others, of which eight at a time have a second each.
    soon(site.serves()).await;
    working.send(&modern("tools/list", json!({})).bytes()).await;
    assert_eq!(soon(working.response()).await.status, 200);
}

#[tokio::test]
async fn long_heads_are_refused() {
    let (site, _) = site_within(|limits| limits.head_bytes = 8 * 1024).await;
    let ask = modern("tools/list", json!({}));
    assert_eq!(site.ask(&ask.clone().with("X-Long", "x".repeat(6000))).await.status, 200);
    assert_eq!(site.ask(&ask.with("X-Long", "x".repeat(9000))).await.status, 431);
}
