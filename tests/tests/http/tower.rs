//! The server as a tower service, called without a listener, so that tests can pause the clock.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Full};
use mcp_runtime::http::{Body, HttpService};
use mcp_runtime::prelude::*;
use mcp_tests::http::server::{TestServer, extra, server};
use mcp_tests::http::{Ask, call, call_in, in_session, initialize, modern, stream_of};
use serde_json::Value;
use tower_service::Service as _;

fn service() -> (HttpService, Arc<TestServer>) {
    let state = Arc::default();
    (server(&state).into_service(), state)
}

fn request(ask: &Ask) -> Request<Full<Bytes>> {
    let path = if ask.path == "/mcp" { "/whatever/it/is" } else { &ask.path };
    let mut request = Request::builder().method(&*ask.method).uri(path);
    for (name, value) in &ask.headers {
        request = request.header(name, &**value);
    }
    request.body(Full::from(ask.body.clone().unwrap_or_default())).unwrap()
}

pub(crate) async fn respond(service: &mut HttpService, ask: &Ask) -> Response<Body> {
    poll_fn(|cx| tower_service::Service::<Request<Full<Bytes>>>::poll_ready(service, cx)).await.unwrap();
    service.call(request(ask)).await.unwrap()
}

pub(crate) async fn json_of(response: Response<Body>) -> Value {
    serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

/// What a stream says next.
pub(crate) async fn next(body: &mut Body) -> Option<String> {
    let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await?.unwrap();
    Some(String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap())
}

#[tokio::test]
async fn service_serves_both_eras() {
    let (mut service, _) = service();
    let response = respond(&mut service, &call("add", &json!({"a": 1, "b": 2}))).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert!(response.body().size_hint().exact().is_some());
    assert_eq!(json_of(response).await["result"]["content"][0]["text"], "3");

    let opened = respond(&mut service, &initialize("2025-06-18")).await;
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let mut clone = service.clone();
    let response = respond(&mut clone, &call_in(&session, 4, "sleep", &json!({"ms": 1}))).await;
    assert_eq!(json_of(response).await["id"], 4, "clones share their sessions");
    let ended = respond(&mut service, &Ask::new("DELETE").with("Mcp-Session-Id", &session)).await;
    assert_eq!(ended.status(), StatusCode::NO_CONTENT);
    assert_eq!(respond(&mut clone, &stream_of(&session)).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(respond(&mut service, &Ask::new("PUT")).await.status(), StatusCode::METHOD_NOT_ALLOWED);
    let stranger = call("add", &json!({})).but("Host", "evil.example");
    assert_eq!(respond(&mut service, &stranger).await.status(), StatusCode::FORBIDDEN);
}

#[tokio::test(start_paused = true)]
async fn dropped_response_cancels_its_call() {
    use std::sync::atomic::Ordering::SeqCst;
    let (mut service, state) = service();
    let sleep = call("sleep", &json!({"ms": 60_000}));
    let waiting = tokio::time::timeout(Duration::from_millis(50), respond(&mut service, &sleep));
    assert!(waiting.await.is_err());
    assert_eq!((state.begun.load(SeqCst), state.dropped.load(SeqCst)), (1, 1));
    let steps = modern("tools/call", json!({"name": "steps", "arguments": {"n": 1000}, "_meta": {"progressToken": 1}}));
    let mut body = respond(&mut service, &steps).await.into_body();
    assert!(next(&mut body).await.unwrap().starts_with("data: {"));
    drop(body);
    assert_eq!(state.dropped.load(SeqCst), 2);
}

/// Three keep-alive comments in a row.
async fn keeps_alive(stream: &mut Body) {
    for _ in 0..3 {
        let before = tokio::time::Instant::now();
        let comment = next(stream).await.unwrap();
        assert!(comment.starts_with(':') && comment.ends_with("\n\n"), "{comment:?}");
        let silence = before.elapsed().as_secs();
        assert!((10..=30).contains(&silence), "{silence} s");
    }
}

#[tokio::test(start_paused = true)]
async fn silent_stream_sends_keep_alive_comments() {
    let (mut service, _) = service();
    let handle = service.handle();
    let listen = modern("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let mut stream = respond(&mut service, &listen).await.into_body();
    assert!(next(&mut stream).await.unwrap().contains("acknowledged"));
    keeps_alive(&mut stream).await;
    handle.tools().add(tools![extra]).unwrap();
    assert!(next(&mut stream).await.unwrap().contains("tools/list_changed"));
    for version in ["2025-03-26", "2025-11-25"] {
        let opened = respond(&mut service, &initialize(version)).await;
        let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        let mut stream = respond(&mut service, &stream_of(&session)).await.into_body();
        if version == "2025-11-25" {
            assert!(next(&mut stream).await.unwrap().starts_with("id:"), "where to come back to");
        }
        keeps_alive(&mut stream).await;
        handle.tools().disable("extra");
        assert!(next(&mut stream).await.unwrap().contains("tools/list_changed"));
        handle.tools().enable("extra");
    }
}

#[tokio::test(start_paused = true)]
async fn silent_call_stream_sends_keep_alive_comments() {
    let (mut service, _) = service();
    let opened = respond(&mut service, &initialize("2025-11-25")).await;
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    // Without a progress token, so that there are no heartbeats.
    let params = json!({"name": "hum", "arguments": {}});
    let hum = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let hum = in_session(&session, &hum);
    let mut body = respond(&mut service, &hum).await.into_body();
    while !next(&mut body).await.unwrap().contains("notifications/message") {}
    keeps_alive(&mut body).await;

    let meta = json!({"io.modelcontextprotocol/logLevel": "info"});
    let hum = modern("tools/call", json!({"name": "hum", "arguments": {}, "_meta": meta}));
    let mut body = respond(&mut service, &hum).await.into_body();
    assert!(next(&mut body).await.unwrap().contains("notifications/message"));
    keeps_alive(&mut body).await;
}

#[tokio::test(start_paused = true)]
async fn silent_stream_of_the_first_revision_sends_keep_alive_comments() {
    let state = Arc::default();
    let mut service = server(&state).into_service().legacy_sse();
    let mut stream = respond(&mut service, &Ask::new("GET").at("/sse")).await.into_body();
    assert!(next(&mut stream).await.unwrap().starts_with("event: endpoint"));
    keeps_alive(&mut stream).await;
}

#[tokio::test]
async fn service_rejects_requests_after_shutdown() {
    let (mut service, _) = service();
    let handle = service.handle();
    let listen = modern("subscriptions/listen", json!({"notifications": {}}));
    let mut stream = respond(&mut service, &listen).await.into_body();
    assert!(next(&mut stream).await.unwrap().contains("acknowledged"));
    handle.shutdown().await;
    let response = respond(&mut service, &modern("tools/list", json!({}))).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(response.headers().contains_key("retry-after"));
    assert!(next(&mut stream).await.unwrap().contains("\"result\""));
    assert_eq!(next(&mut stream).await, None);
}

/// A body that fails in the middle.
struct Broken;

impl http_body::Body for Broken {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<std::io::Result<http_body::Frame<Bytes>>>> {
        std::task::Poll::Ready(Some(Err(std::io::ErrorKind::ConnectionReset.into())))
    }
}

#[tokio::test]
async fn failed_body_gets_400() {
    let (mut service, _) = service();
    let ask = call("add", &json!({"a": 1, "b": 2}));
    let (parts, _) = request(&ask).into_parts();
    let response = service.call(Request::from_parts(parts, Broken)).await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn cloned_service_can_be_served() {
    let service = mcp_tests::http::server::server(&std::sync::Arc::default()).into_service();
    let _another = service.clone();
    mcp_tests::http::Site::serving(service).await.serves().await;
}
