//! The services of `docs/book/http.md`: for web pages, with principals, behind a proxy, with probes, and in an axum application.

use std::net::SocketAddr;

use axum::Router;
use mcp_runtime::prelude::*;
use mcp_tests::http::{Ask, Response, Site, Wire, call, initialize, stream_of};
use tokio::net::TcpListener;

use crate::child::{Address, Program};
use crate::programs::{http_3, http_4, http_5, http_9};

/// Who calls, by their address.
#[tool(read_only)]
fn peer(ctx: &Context) -> Option<String> {
    ctx.peer().map(|peer| peer.to_string())
}

fn server() -> Server {
    Server::new("hello", "0.1.0").tools(tools![peer]).disable_signals()
}

/// Serves a router while the checks run.
pub(crate) async fn nested(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    address
}

/// The response to a request on a connection of its own.
pub(crate) async fn ask(address: SocketAddr, ask: &Ask) -> Response {
    let mut wire = Wire::to(address).await;
    wire.send(&ask.bytes()).await;
    wire.response().await
}

#[track_caller]
fn assert_says(response: &Response, text: &str) {
    assert_eq!(
        (response.status, &response.json()["result"]["content"][0]["text"]),
        (200, &json!(text)),
        "{response:?}"
    );
}

pub(crate) async fn web_pages() {
    let site = Site::serving(http_3::service(server())).await;
    let preflight = |origin: &str| {
        let ask = Ask::new("OPTIONS").but("Host", "mcp.example.com").with("Origin", origin);
        ask.with("Access-Control-Request-Method", "POST").with("Access-Control-Request-Headers", "x-api-key")
    };
    for origin in ["https://app.example.com", "http://localhost:6274"] {
        let allowed = site.ask(&preflight(origin)).await;
        assert_eq!((allowed.status, allowed.header("access-control-allow-origin")), (204, Some(origin)), "{allowed:?}");
        let headers = allowed.header("access-control-allow-headers").unwrap().to_ascii_lowercase();
        assert!(headers.split(", ").any(|name| name == "x-api-key"), "{headers}");
    }
    let refused = site.ask(&preflight("https://evil.example")).await;
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (403, None), "{refused:?}");
}

pub(crate) async fn principals() {
    let address = nested(http_4::router()).await;
    let refused = ask(address, &call("whoami", &json!({}))).await;
    assert_eq!(refused.status, 401, "{refused:?}");
    assert_says(&ask(address, &call("whoami", &json!({})).with("x-user", "eve")).await, "eve");
}

/// This machine is the proxy.
pub(crate) async fn behind_a_proxy() {
    let site = Site::serving(http_5::service(server())).await;
    let forwarded =
        |host: &str| call("peer", &json!({})).with("X-Forwarded-For", "203.0.113.9").with("X-Forwarded-Host", host);
    assert_says(&site.ask(&forwarded("mcp.example.com")).await, "203.0.113.9");
    assert_eq!(site.ask(&forwarded("evil.example")).await.status, 403);
}

pub(crate) async fn probes() {
    let site = Site::serving(http_9::service(server())).await;
    for path in ["/healthz", "/readyz"] {
        let probe = site.ask(&Ask::new("GET").at(path).with("X-Request-Id", "probe-7")).await;
        assert_eq!((probe.status, probe.header("x-request-id")), (200, Some("probe-7")), "{probe:?}");
    }
    assert!(site.ask(&call("peer", &json!({}))).await.header("x-request-id").is_some());
}

/// Beside a page of the application, which an open stream does not keep from ending.
pub(crate) async fn in_axum() {
    let address = Address::free();
    let mut program = Program::start("http_10", &[("127.0.0.1:8080", &address.to_text())]);
    let page = program.ask(address.socket, &Ask::new("GET").at("/")).await;
    assert_eq!((page.status, page.text()), (200, "the front page"));
    program.adds(address.socket, "localhost").await;
    let opened = program.ask(address.socket, &initialize("2025-11-25")).await;
    let session = opened.header("mcp-session-id").unwrap_or_else(|| panic!("{opened:?}"));
    let mut stream = Wire::to(address.socket).await;
    stream.send(&stream_of(session).bytes()).await;
    assert_eq!(stream.head().await.status, 200);
    program.terminate().await;
}
