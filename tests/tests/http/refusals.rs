//! The log of refusals: every kind of them is there, and a flood is a few lines.

use mcp_tests::http::server::site_within;
use mcp_tests::http::{Ask, call, initialize, modern};
use serde_json::json;
use tracing::Level;
use tracing_subscriber::prelude::*;

use crate::log::Log;

#[tokio::test]
async fn refusals_are_logged_with_reason_peer_and_remedy() {
    let log = Log::default();
    let _guard = tracing_subscriber::registry().with(log.clone()).set_default();
    let (site, _) = site_within(|limits| {
        limits.message_bytes = 2000;
        limits.sessions = 0;
    })
    .await;
    let add = call("add", &json!({"a": 1, "b": 2}));
    let refused: [(u16, Level, &str, Ask); 6] = [
        (403, Level::WARN, "allow_hosts", add.clone().but("Host", "evil.example.com")),
        (413, Level::INFO, "message_bytes", call("add", &json!({"x": "y".repeat(3000)}))),
        (415, Level::INFO, "application/json", add.clone().but("Content-Type", "text/plain")),
        (503, Level::WARN, "Limits::requests", initialize("2025-11-25")),
        (404, Level::DEBUG, "Method not found", modern("tools/nothing", json!({}))),
        (400, Level::DEBUG, "mcp-method", add.clone().without("Mcp-Method")),
    ];
    for (status, level, words, ask) in refused {
        assert_eq!(site.ask(&ask).await.status, status);
        let (logged, text) = log.find(&format!("status={status}")).unwrap_or_else(|| panic!("{status} is not logged"));
        assert_eq!(logged, level, "{text}");
        let known = text.contains(words) && text.contains("peer=127.0.0.1") && text.starts_with("request refused");
        assert!(known, "{words}: {text}");
        assert!(text.contains(&format!("/mcp_runtime/errors/index.html#{status}")), "{text}");
    }
}

#[tokio::test]
async fn flood_of_refusals_is_a_few_lines_and_escaped() {
    let log = Log::default();
    let _guard = tracing_subscriber::registry().with(log.clone()).set_default();
    let (site, _) = site_within(|_| {}).await;
    let ask = modern("tools/call", json!({"name": "add"})).but("Mcp-Method", b"x\xc3\xbc y");
    let begun = std::time::Instant::now();
    for _ in 0..100 {
        assert_eq!(site.ask(&ask).await.status, 400);
    }
    let lines = log.all("status=400");
    assert!(lines.len() as u64 <= 1 + begun.elapsed().as_secs(), "{lines:?}");
    assert!(lines.iter().all(|(_, line)| !line.contains(['\n', '\x1b'])), "{lines:?}");
}

/// What is not known of a refusal is no field of its line.
#[tokio::test]
async fn lines_have_no_empty_fields() {
    let log = Log::default();
    let _guard = tracing_subscriber::registry().with(log.clone()).set_default();
    let (site, _) = site_within(|_| {}).await;
    for (status, ask) in [(404, Ask::new("GET").at("/elsewhere")), (405, Ask::new("PUT"))] {
        assert_eq!(site.ask(&ask).await.status, status);
        let (_, line) = log.find(&format!("status={status}")).unwrap();
        assert!(!line.contains("reason") && !line.contains("change") && !line.contains("\"\""), "{line}");
    }
}

#[tokio::test]
async fn failed_calls_are_logged_with_their_handler() {
    let log = Log::default();
    let _guard = tracing_subscriber::registry().with(log.clone()).set_default();
    let (site, _) = site_within(|_| {}).await;
    for (tool, level, words) in [
        ("fail", Level::DEBUG, "a call failed"),
        ("panic", Level::ERROR, "a handler panicked"),
        ("panic_later", Level::ERROR, "a handler panicked"),
    ] {
        assert_eq!(site.ask(&call(tool, &json!({}))).await.json()["result"]["isError"], true);
        let name = format!("target_name=\"{tool}\"");
        let (logged, text) = log.find(&name).unwrap_or_else(|| panic!("{tool} is not logged"));
        assert!(logged == level && text.contains(words) && text.contains("tools/call"), "{text}");
        assert!(!text.contains("raining") && !text.contains("secret"), "what went wrong is for the client: {text}");
    }
}
