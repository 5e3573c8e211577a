//! Request ids: taken from the request or made up, sent back, and known to handlers and the log.

use mcp_runtime::Revision;
use mcp_runtime::http::{HttpService, RequestId};
use mcp_runtime::prelude::*;
use mcp_tests::http::{Ask, Response, Site, call, call_in, soon};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::log::Log;

/// The id of the request, twice.
#[tool]
fn which(ctx: &Context) -> String {
    let extension = ctx.http().and_then(|parts| parts.extensions.get::<RequestId>());
    assert_eq!(extension.map(RequestId::as_str), ctx.http_request_id());
    ctx.http_request_id().unwrap_or("none").to_owned()
}

fn service() -> HttpService {
    Server::new("ids", "1.0.0").tools(tools![which]).into_service()
}

fn ask(id: impl AsRef<[u8]>) -> Ask {
    call("which", &json!({})).with("X-Request-Id", id)
}

/// What the handler saw, and what the client sees.
#[track_caller]
fn ids(response: &Response) -> (String, Option<&str>) {
    let text = &response.json()["result"]["content"][0]["text"];
    (text.as_str().unwrap().to_owned(), response.header("x-request-id"))
}

#[tokio::test]
async fn well_formed_id_is_kept() {
    let site = Site::serving(service().request_ids()).await;
    for id in ["7", "6f1c9a52-3e0f-4b7c-9d0e-1a2b3c4d5e6f", "Root=1-67891233-abcdef012345678912345678"] {
        assert_eq!(ids(&site.ask(&ask(id)).await), (id.to_owned(), Some(id)));
    }
    let session = site.session(Revision::V2025_11_25).await;
    let response = site.ask(&call_in(&session, 1, "which", &json!({})).with("X-Request-Id", "in-session")).await;
    assert_eq!(ids(&response), ("in-session".to_owned(), Some("in-session")));
}

#[tokio::test]
async fn other_requests_get_an_id_of_their_own() {
    let site = Site::serving(service().request_ids()).await;
    let long = "x".repeat(129);
    let mut seen = std::collections::HashSet::new();
    let strange: [&[u8]; 7] = [b"", b"a b", b"a\"b", b"<script>", b"\xff", b"a,b", long.as_bytes()];
    let asks = strange.into_iter().map(ask).chain([call("which", &json!({})), ask("one").with("X-Request-Id", "two")]);
    for ask in asks {
        let response = site.ask(&ask).await;
        let (inside, outside) = ids(&response);
        assert_eq!(Some(&*inside), outside);
        assert!(inside.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-'), "{inside}");
        assert!(seen.insert(inside), "they are unique");
    }
    assert_eq!(seen.len(), 9);
}

#[tokio::test]
async fn refusal_has_the_id_in_its_response_and_in_the_log() {
    let log = Log::default();
    let _guard = tracing_subscriber::registry().with(log.clone()).set_default();
    let site = Site::serving(service().request_ids()).await;
    let response = site.ask(&ask("find-me").but("Host", "evil.example")).await;
    assert_eq!((response.status, response.header("x-request-id")), (403, Some("find-me")));
    let (_, line) = log.find("request refused").unwrap();
    assert!(line.contains("request=\"find-me\""), "{line}");
}

/// The audit log has both ids, and says which is which.
#[tokio::test]
async fn audit_has_the_id() {
    let log = Log::default();
    let _guard = tracing_subscriber::registry().with(log.clone()).set_default();
    let server = Server::new("ids", "1.0.0").tools(tools![which]).layer(mcp_runtime::layers::Audit::new());
    let site = Site::serving(server.into_service().request_ids()).await;
    site.ask(&ask("audit-me")).await;
    let (_, line) = log.find("request_id=\"audit-me\"").unwrap();
    assert!(line.contains("jsonrpc_id=\"1\""), "{line}");
}

#[tokio::test]
async fn ids_are_off_by_default() {
    let site = Site::serving(service()).await;
    assert_eq!(ids(&site.ask(&ask("7")).await), ("none".to_owned(), None));
}

/// Each message over HTTP+SSE is a request of its own; its answer is on the stream.
#[tokio::test]
async fn message_over_legacy_sse_has_an_id() {
    let site = Site::serving(service().request_ids().legacy_sse()).await;
    let mut wire = site.open().await;
    wire.send(&Ask::new("GET").at("/sse").with("X-Request-Id", "stream").bytes()).await;
    assert_eq!(wire.head().await.header("x-request-id"), Some("stream"));
    let first = String::from_utf8(soon(wire.chunk()).await.unwrap()).unwrap();
    let address = format!("/{}", first.trim().strip_prefix("event: endpoint\ndata: ").unwrap());
    let post =
        |id: &str, message: serde_json::Value| Ask::post(message.to_string()).at(&address).with("X-Request-Id", id);
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2024-11-05"}});
    assert_eq!(site.ask(&post("hello", hello)).await.status, 202);
    assert_eq!(soon(wire.event()).await.unwrap()["id"], 0);
    for id in ["one", "two"] {
        let which = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "which"}});
        let response = site.ask(&post(id, which)).await;
        assert_eq!((response.status, response.header("x-request-id")), (202, Some(id)));
        assert_eq!(soon(wire.event()).await.unwrap()["result"]["content"][0]["text"], id);
    }
}
