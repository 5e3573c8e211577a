//! The application as its clients see it.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use mcp_runtime::Result;
use serde_json::{Value, json};
use tower::ServiceExt as _;

async fn call(
    router: &axum::Router,
    path: &str,
    user: Option<&str>,
    tool: &str,
    arguments: Value,
) -> (StatusCode, Value) {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }},
    });
    let mut request = Request::post(path)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", tool);
    if let Some(user) = user {
        request = request.header("x-user", user);
    }
    let response = router.clone().oneshot(request.body(Body::from(body.to_string())).unwrap()).await.unwrap();
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn router_serves_two_servers_and_a_page() -> Result<()> {
    let (router, _) = axum_app::app();
    for _ in 0..2 {
        let page = router.clone().oneshot(Request::get("/").body(Body::empty())?).await?;
        assert_eq!(page.status(), StatusCode::OK);
    }
    let (_, answer) = call(&router, "/counter", None, "visits", json!({})).await;
    assert_eq!(text(&answer), "2");
    let (_, answer) = call(&router, "/calculator", None, "add", json!({"a": 2, "b": 3})).await;
    assert_eq!(text(&answer), "5");
    let (_, answer) = call(&router, "/calculator", None, "visits", json!({})).await;
    assert_eq!(answer["error"]["code"], -32602, "each has its own tools");
    Ok(())
}

#[tokio::test]
async fn handlers_can_read_layer_extensions() {
    let (router, _) = axum_app::app();
    let (_, answer) = call(&router, "/counter", Some("eve"), "whoami", json!({})).await;
    assert_eq!(text(&answer), "eve");
}

#[tokio::test]
async fn closed_server_does_not_end_the_application() {
    let (router, [counter, _]) = axum_app::app();
    counter.shutdown().await;
    let (status, _) = call(&router, "/counter", None, "visits", json!({})).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    let (status, _) = call(&router, "/calculator", None, "add", json!({"a": 1, "b": 1})).await;
    assert_eq!(status, StatusCode::OK);
}
