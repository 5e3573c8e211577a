//! The application as its clients and Prometheus see it.

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

async fn call(router: &Router, method: &str, name: &str, arguments: Value) {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": method,
        "params": {"name": name, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }},
    });
    let request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method)
        .header("mcp-name", name);
    let response = router.clone().oneshot(request.body(Body::from(body.to_string())).unwrap()).await.unwrap();
    response.into_body().collect().await.unwrap();
}

async fn page(router: &Router) -> String {
    let request = Request::get("/metrics").body(Body::empty()).unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/openmetrics-text; version=1.0.0; charset=utf-8");
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

/// The number at the end of the line that begins so.
fn value(page: &str, line: &str) -> f64 {
    let found = page.lines().find(|one| one.starts_with(line)).unwrap_or_else(|| panic!("{line} in\n{page}"));
    found.rsplit(' ').next().unwrap().parse().unwrap()
}

fn count(page: &str, method: &str, target: &str, outcome: &str) -> f64 {
    let labels = format!("method=\"{method}\",target=\"{target}\",outcome=\"{outcome}\",transport=\"http\"");
    value(page, &format!("mcp_request_duration_seconds_count{{{labels}}}"))
}

#[tokio::test]
async fn metrics_count_every_request() {
    let (router, _) = metrics::app();
    for _ in 0..3 {
        call(&router, "tools/call", "price", json!({"article": "tea"})).await;
    }
    call(&router, "tools/call", "price", json!({"article": "gold"})).await;
    call(&router, "tools/call", "order", json!({"article": "cake"})).await;
    let page = page(&router).await;
    assert_eq!(count(&page, "tools/call", "price", "answered"), 3.0);
    assert_eq!(count(&page, "tools/call", "price", "tool_error"), 1.0);
    assert_eq!(count(&page, "tools/call", "order", "answered"), 1.0);
    assert!(value(&page, "mcp_received_bytes_total") > 500.0 && value(&page, "mcp_sent_bytes_total") > 200.0);
    assert!(page.ends_with("# EOF\n"));
}

#[tokio::test]
async fn clients_cannot_add_series() {
    let (router, _) = metrics::app();
    for number in 0..100 {
        call(&router, "tools/call", &format!("tool{number}"), json!({})).await;
        call(&router, &format!("attack/{number}"), "", json!({})).await;
    }
    let page = page(&router).await;
    assert_eq!(count(&page, "tools/call", "_OTHER", "refused"), 100.0);
    assert_eq!(count(&page, "_OTHER", "", "refused"), 100.0);
    assert_eq!(page.lines().filter(|line| line.starts_with("mcp_request_duration_seconds_count")).count(), 2);
}

/// What the dashboard asks for is what the page has.
#[tokio::test]
async fn dashboard_asks_for_metrics_that_exist() {
    let dashboard: Value = serde_json::from_str(include_str!("../grafana.json")).unwrap();
    let (router, _) = metrics::app();
    call(&router, "tools/call", "price", json!({"article": "tea"})).await;
    let page = page(&router).await;
    let panels = dashboard["panels"].as_array().unwrap();
    let queries = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let queries: Vec<&str> = queries.map(|target| target["expr"].as_str().unwrap()).collect();
    assert!(queries.len() >= 4, "{queries:?}");
    for query in queries {
        for name in query.split(|letter: char| !letter.is_alphanumeric() && letter != '_') {
            if name.starts_with("mcp_") {
                let base = name.trim_end_matches("_bucket").trim_end_matches("_count").trim_end_matches("_total");
                assert!(page.contains(&format!("# TYPE {base} ")), "{name} in\n{page}");
            }
        }
    }
}
