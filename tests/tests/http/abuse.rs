//! Many clients, and hostile ones: other clients are served as before.

use mcp_runtime::Revision;
use mcp_tests::http::server::site;
use mcp_tests::http::{Ask, call, call_in, in_session, modern};
use serde_json::json;
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_connections_are_served() {
    let (site, _) = site().await;
    let mut tasks = JoinSet::new();
    for number in 0..200_u64 {
        let mut wire = site.open().await;
        tasks.spawn(async move {
            for round in 0..5 {
                wire.send(&call("add", &json!({"a": number, "b": round})).bytes()).await;
                let text = wire.response().await.json()["result"]["content"][0]["text"].clone();
                assert_eq!(text, (number + round).to_string());
            }
        });
    }
    tasks.join_all().await;
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let (site, _) = site().await;
    let session = site.session(Revision::V2025_06_18).await;
    let mut wire = site.open().await;
    let mut all = call("sleep", &json!({"ms": 30})).bytes();
    all.extend(Ask::new("PUT").bytes());
    all.extend(call_in(&session, 3, "steps", &json!({"n": 2})).bytes());
    all.extend(modern("toolz/list", json!({})).bytes());
    for number in 0..50 {
        all.extend(call("add", &json!({"a": number, "b": 0})).bytes());
    }
    wire.send(&all).await;
    assert!(wire.response().await.text().contains("slept 30"));
    assert_eq!(wire.response().await.status, 405);
    assert_eq!(wire.response().await.events().last().unwrap()["id"], 3);
    assert_eq!(wire.response().await.outcome(), (404, -32601));
    for number in 0..50 {
        assert_eq!(wire.response().await.json()["result"]["content"][0]["text"], number.to_string());
    }
}

#[tokio::test]
async fn malformed_http_is_rejected() {
    let (site, _) = site().await;
    let many_headers = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: y\r\n".repeat(500));
    let long_header = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "y".repeat(2 << 20));
    let smuggled = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n123456";
    let no_host = "POST / HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    for bytes in [
        "\r\n\r\n\0\0",
        "{\"jsonrpc\":\"2.0\"}\n\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET /\u{7f} HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nbad header\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}",
        &many_headers,
        &long_header,
        smuggled,
        no_host,
    ] {
        let mut wire = site.open().await;
        wire.send(bytes.as_bytes()).await;
        let _ = tokio::io::AsyncWriteExt::shutdown(&mut wire.stream).await;
        let status = wire.try_head().await.map(|head| head.status);
        assert!(status.is_none_or(|status| (400..500).contains(&status)), "{status:?}: {bytes:.60}");
    }
    site.serves().await;
}

/// Handlers that panic, in one session and without.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn panics_do_not_affect_other_calls() {
    let (site, _) = site().await;
    let session = site.session(Revision::V2025_11_25).await;
    let mut tasks = JoinSet::new();
    for id in 0..40 {
        let mut wire = site.open().await;
        let name = if id % 2 == 0 { "panic" } else { "panic_later" };
        let asks = [call(name, &json!({})), call_in(&session, id, name, &json!({}))];
        tasks.spawn(async move {
            for ask in asks {
                wire.send(&ask.bytes()).await;
                assert_eq!(wire.response().await.status, 200);
            }
        });
    }
    tasks.join_all().await;
    let ping = json!({"jsonrpc": "2.0", "id": 99, "method": "ping"});
    assert_eq!(site.ask(&in_session(&session, &ping)).await.outcome(), (200, 0));
}
