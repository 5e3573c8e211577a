//! `Limits::memory_bytes`: the memory that long messages may take together.

use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::prelude::*;
use mcp_runtime::protocol::LogLevel;
use mcp_tests::http::server::site_within;
use mcp_tests::http::{Ask, Site, Wire, call, initialize, modern, soon};
use serde_json::{Value, json};

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

/// Wait, or answer at length.
#[tool]
async fn long(ctx: &Context, bytes: usize, report: bool, wait: bool, text: Option<String>) -> String {
    if report {
        ctx.log(LogLevel::Warning, "begun").await;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    if wait {
        tokio::time::sleep(Duration::from_secs(10 * 60)).await;
    }
    drop(text);
    "x".repeat(bytes)
}

/// A server with memory for one message of 79 kB, and for little more.
async fn small() -> Site {
    let mut limits = Limits::default();
    (limits.message_bytes, limits.memory_bytes) = (80_000, 200_000);
    Site::of(Server::new("small", "1.0.0").limits(limits).tools(tools![long])).await
}

fn arguments(bytes: usize, report: bool, wait: bool, text: usize) -> Value {
    json!({"bytes": bytes, "report": report, "wait": wait, "text": "y".repeat(text)})
}

fn with_log(arguments: &Value) -> Ask {
    let level = json!({"io.modelcontextprotocol/logLevel": "debug"});
    modern("tools/call", json!({"name": "long", "arguments": arguments, "_meta": level}))
}

#[tokio::test]
async fn waiting_call_is_charged_until_it_is_gone() {
    for report in [false, true] {
        let site = small().await;
        let long = call("long", &arguments(1, false, false, 79_000));
        assert_eq!(site.ask(&long).await.status, 200);
        let mut wire = site.open().await;
        wire.send(&with_log(&arguments(1, report, true, 78_000)).bytes()).await;
        if report {
            assert_eq!(wire.head().await.status, 200, "its response has begun");
        }
        until_status(&site, &long, 503).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(site.ask(&long).await.status, 503, "still");
        assert_eq!(site.ask(&call("long", &arguments(1, false, false, 1000))).await.status, 200);
        drop(wire);
        until_status(&site, &long, 200).await;
    }
}

#[tokio::test]
async fn answer_without_memory_is_an_error() {
    let site = small().await;
    let mut wire = site.open().await;
    wire.send(&with_log(&arguments(1, true, true, 78_000)).bytes()).await;
    assert_eq!(wire.head().await.status, 200, "it holds most of the memory");
    assert_eq!(site.ask(&call("long", &arguments(60_000, false, false, 1))).await.outcome(), (503, -32603));
    let streamed = site.ask(&with_log(&arguments(60_000, true, false, 1))).await;
    let answer = streamed.events().pop().unwrap();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-32603)), "{answer}");
    assert_eq!(site.ask(&call("long", &arguments(10_000, false, false, 1))).await.status, 200, "short ones have room");
}

/// More than the buffers of two sockets hold.
const UNREAD: usize = 16 * 1024 * 1024;

#[tokio::test]
async fn unread_responses_are_charged_and_their_readers_disconnected() {
    let mut limits = Limits::default();
    limits.memory_bytes = UNREAD * 3 / 2;
    let site = Site::of(Server::new("small", "1.0.0").limits(limits).tools(tools![long])).await;
    let long = call("long", &arguments(UNREAD, false, false, 1));
    let mut unread = site.open().await;
    unread.send(&long.bytes()).await;
    assert_eq!(unread.head().await.status, 200);
    let refused = site.ask(&long).await;
    assert_eq!((refused.outcome(), refused.header("retry-after")), ((503, -32603), Some("1")));
    site.serves().await;
    // Memory is short, so the client that does not read has two seconds and not a minute.
    until_status(&site, &long, 200).await;
}

#[tokio::test]
async fn long_greetings_and_filters_are_refused() {
    let (site, _) = site_within(|_| {}).await;
    let greeting = |length: usize| {
        let mut ask = initialize("2025-11-25");
        let mut message: Value = serde_json::from_slice(ask.body.as_ref().unwrap()).unwrap();
        message["params"]["clientInfo"]["description"] = "x".repeat(length).into();
        ask.body = Some(message.to_string().into());
        ask
    };
    assert_eq!(site.ask(&greeting(50_000)).await.status, 200);
    assert_eq!(site.ask(&greeting(70_000)).await.outcome(), (413, -32600));
    let uris: Vec<String> = (0..10).map(|number| format!("weather://{number}{}", "x".repeat(4000))).collect();
    let listen = modern("subscriptions/listen", json!({"notifications": {"resourceSubscriptions": uris}}));
    assert_eq!(site.ask(&listen).await.json()["error"]["code"], -32602);
}
