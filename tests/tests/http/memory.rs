//! `Limits::memory_bytes`: the memory that long messages may take together.

use std::time::Duration;

use mcp_tests::http::server::site_within;
use mcp_tests::http::{Ask, Site, Wire, call, soon};
use serde_json::json;

/// Repeats a request until its response has this status.
async fn until_status(site: &Site, ask: &Ask, status: u16) {
    soon(async {
        while site.ask(ask).await.status != status {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// A body of 79 kB of which the last kilobyte is never sent.
async fn half_a_body(site: &Site) -> Wire {
    let mut wire = site.open().await;
    let head =
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 79000\r\n\r\n";
    wire.send(head.as_bytes()).await;
    wire.send(&vec![b' '; 78_000]).await;
    wire
}

#[tokio::test]
async fn long_bodies_share_memory_bytes() {
    let (site, _) = site_within(|limits| (limits.message_bytes, limits.memory_bytes) = (80_000, 200_000)).await;
    let long = call("fail", &json!({"x": "y".repeat(79_000)}));
    assert_eq!(site.ask(&long).await.status, 200);
    let held = half_a_body(&site).await;
    until_status(&site, &long, 503).await;
    let refused = site.ask(&long).await;
    assert_eq!((refused.outcome(), refused.header("retry-after")), ((503, -32603), Some("1")));
    assert_eq!(site.ask(&call("fail", &json!({"x": "y".repeat(10_000)}))).await.status, 200, "short ones have room");
    drop(held);
    until_status(&site, &long, 200).await;
}

#[tokio::test]
async fn content_length_alone_takes_no_budget() {
    let (site, _) = site_within(|limits| (limits.message_bytes, limits.memory_bytes) = (80_000, 200_000)).await;
    let head =
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 79000\r\n\r\n";
    let mut wires = Vec::new();
    for _ in 0..10 {
        let mut wire = site.open().await;
        wire.send(head.as_bytes()).await;
        wires.push(wire);
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(site.ask(&call("fail", &json!({"x": "y".repeat(79_000)}))).await.status, 200);
}
