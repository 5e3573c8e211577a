//! CORS: what a browser asks on behalf of a page of another origin, and what it lets the page read.
//!
//! `tests/browser` has the same in a browser.

use std::sync::Arc;

use mcp_runtime::auth::{Auth, Rejection, User};
use mcp_runtime::http::HttpService;
use mcp_runtime::{Limits, Revision};
use mcp_tests::http::server::{server, site};
use mcp_tests::http::{Ask, Response, Site, call, call_in, in_session, initialize, modern, stream_of};
use serde_json::json;

const PAGE: &str = "https://app.example.com";

fn service() -> HttpService {
    server(&Arc::default()).into_service().allow_origins([PAGE, "http://localhost:6274"])
}

/// What a browser asks before a request with these headers.
fn preflight(method: &str, headers: &str) -> Ask {
    let ask = Ask::new("OPTIONS").with("Origin", PAGE).with("Access-Control-Request-Method", method);
    if headers.is_empty() { ask } else { ask.with("Access-Control-Request-Headers", headers) }
}

fn from_page(ask: Ask) -> Ask {
    ask.with("Origin", PAGE)
}

/// The names in a list of headers, in lower case.
#[track_caller]
fn names(response: &Response, header: &str) -> Vec<String> {
    let list = response.header(header).unwrap_or_else(|| panic!("no {header}: {response:?}"));
    list.split(", ").map(str::to_ascii_lowercase).collect()
}

/// The page may read the response and the headers that clients need.
#[track_caller]
fn assert_readable(response: &Response) {
    assert_eq!(response.header("access-control-allow-origin"), Some(PAGE), "{response:?}");
    assert_eq!(response.header("vary"), Some("Origin"), "{response:?}");
    assert_eq!(response.header("access-control-allow-credentials"), None);
    let exposed = names(response, "access-control-expose-headers");
    for name in ["mcp-session-id", "mcp-protocol-version", "www-authenticate", "retry-after"] {
        assert!(exposed.iter().any(|known| known == name), "{name}: {exposed:?}");
    }
}

/// Nothing tells a browser that a page may.
#[track_caller]
fn assert_closed(response: &Response) {
    let told = response.headers.iter().find(|(name, _)| name.starts_with("access-control-"));
    assert!(told.is_none(), "{response:?}");
}

#[tokio::test]
async fn preflight_is_answered_with_what_clients_need() {
    let site = Site::serving(service()).await;
    let response = site.ask(&preflight("POST", "content-type")).await;
    assert_eq!((response.status, response.text()), (204, ""));
    assert_readable(&response);
    assert_eq!(response.header("access-control-allow-methods"), Some("POST, GET, DELETE"));
    assert_eq!(response.header("access-control-max-age"), Some("7200"));
    assert_eq!(response.header("access-control-allow-private-network"), None, "nobody asked");
    let sent = names(&response, "access-control-allow-headers");
    for name in [
        "content-type",
        "accept",
        "authorization",
        "dpop",
        "last-event-id",
        "mcp-session-id",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
    ] {
        assert!(sent.iter().any(|known| known == name), "{name}: {sent:?}");
    }
    let private = site.ask(&preflight("POST", "").with("Access-Control-Request-Private-Network", "true")).await;
    assert_eq!(private.header("access-control-allow-private-network"), Some("true"));
}

/// The headers of 2026-07-28 that repeat arguments have names of the tool's; others are not taken from the request.
#[tokio::test]
async fn preflight_allows_headers_of_arguments_and_no_others() {
    let site = Site::serving(service()).await;
    let asked = "mcp-param-region, MCP-Param-Tenant-Id,mcp-param-, x-evil, mcp-param-a b, mcp-parametric";
    let sent = names(&site.ask(&preflight("POST", asked)).await, "access-control-allow-headers");
    for name in ["mcp-param-region", "mcp-param-tenant-id"] {
        assert!(sent.iter().any(|known| known == name), "{name}: {sent:?}");
    }
    for name in ["x-evil", "mcp-param-a b", "mcp-parametric"] {
        assert!(!sent.iter().any(|known| known == name), "{name}: {sent:?}");
    }
    let many: Vec<_> = (0..1000).map(|number| format!("mcp-param-{number}")).collect();
    let sent = names(&site.ask(&preflight("POST", &many.join(","))).await, "access-control-allow-headers");
    assert!(sent.len() < 100, "{}", sent.len());
    let strange = site.ask(&preflight("POST", "").with("Access-Control-Request-Headers", b"mcp-param-\xff\xfe")).await;
    assert_eq!(strange.status, 204);
    site.serves().await;
}

#[tokio::test]
async fn page_may_send_headers_that_are_named() {
    let site = Site::serving(service().allow_headers(["X-Api-Key", "x-tenant"])).await;
    let sent = names(&site.ask(&preflight("POST", "x-api-key")).await, "access-control-allow-headers");
    for name in ["x-api-key", "x-tenant", "content-type"] {
        assert!(sent.iter().any(|known| known == name), "{name}: {sent:?}");
    }
}

#[test]
#[should_panic(expected = "call `allow_origins` before `allow_headers`")]
fn allow_headers_needs_origins() {
    let _ = server(&Arc::default()).into_service().allow_headers(["X-Api-Key"]);
}

#[test]
#[should_panic(expected = "`X Api Key` is not the name of a header")]
fn allow_headers_panics_on_what_is_no_header() {
    let _ = service().allow_headers(["X Api Key"]);
}

#[tokio::test]
async fn page_reads_answers_streams_and_sessions() {
    let site = Site::serving(service()).await;
    assert_readable(&site.ask(&from_page(call("add", &json!({"a": 1, "b": 2})))).await);
    let streamed = site.ask(&from_page(modern("tools/call", json!({"name": "steps", "arguments": {"n": 2}})))).await;
    assert_readable(&streamed);
    let opened = site.ask(&from_page(initialize("2025-11-25"))).await;
    assert_readable(&opened);
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let ready = in_session(&session, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let accepted = site.ask(&from_page(ready)).await;
    assert_eq!(accepted.status, 202);
    assert_readable(&accepted);
    assert_readable(&site.ask(&from_page(call_in(&session, 1, "steps", &json!({"n": 1})))).await);
    let (stream, _wire) = site.begin(&from_page(stream_of(&session))).await;
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    assert_readable(&stream);
    let ended = site.ask(&from_page(Ask::new("DELETE").with("Mcp-Session-Id", &session))).await;
    assert!(ended.status < 300, "{ended:?}");
    assert_readable(&ended);
}

/// A page that may not read an error cannot tell it from a server that is away.
#[tokio::test]
async fn page_reads_errors() {
    let site = Site::serving(service()).await;
    let rows = [
        (from_page(in_session("gone", &json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}))), 404),
        (from_page(Ask::post("{")), 400),
        (from_page(Ask::post("{}").but("Content-Type", "text/plain")), 415),
        (from_page(Ask::new("PUT")), 405),
        // Not a preflight: it does not say for what.
        (from_page(Ask::new("OPTIONS")), 405),
        (from_page(Ask::new("GET")).at("/elsewhere"), 404),
    ];
    for (ask, status) in rows {
        let response = site.ask(&ask).await;
        assert_eq!(response.status, status, "{ask:?}");
        assert_readable(&response);
    }
    let mut limits = Limits::default();
    limits.sessions = 0;
    let full = server(&Arc::default()).limits(limits);
    let site = Site::serving(full.into_service().allow_origins([PAGE])).await;
    let busy = site.ask(&from_page(initialize("2025-11-25"))).await;
    assert_eq!((busy.status, busy.header("retry-after")), (503, Some("1")));
    assert_readable(&busy);
}

#[tokio::test]
async fn refused_origin_is_told_nothing() {
    let site = Site::serving(service()).await;
    let asks = [preflight("POST", "content-type"), call("add", &json!({"a": 1, "b": 2})), Ask::new("GET")];
    for ask in asks {
        for origin in ["https://evil.example", "https://app.example.com.evil.example", "http://app.example.com", "null"]
        {
            let response = site.ask(&ask.clone().but("Origin", origin)).await;
            assert_eq!(response.status, 403, "{origin}");
            assert_closed(&response);
            assert_eq!(response.header("vary"), Some("Origin"), "a cache must not give it to others");
        }
        let two = site.ask(&ask.clone().but("Origin", PAGE).with("Origin", "https://evil.example")).await;
        assert_eq!(two.status, 403);
        assert_closed(&two);
        let host = site.ask(&ask.but("Host", "evil.example").but("Origin", "http://evil.example")).await;
        assert_eq!(host.status, 403);
        assert_closed(&host);
    }
    let plain = site.ask(&modern("tools/list", json!({}))).await;
    assert_eq!((plain.status, plain.header("vary")), (200, Some("Origin")));
    assert_closed(&plain);
}

/// The pages that may call by default may not read: nobody has named them.
#[tokio::test]
async fn cors_is_off_without_a_list() {
    let (site, _) = site().await;
    let page = "http://localhost:3000";
    let answer = site.ask(&modern("tools/list", json!({})).with("Origin", page)).await;
    assert_eq!((answer.status, answer.header("vary")), (200, None));
    assert_closed(&answer);
    assert_eq!(site.ask(&preflight("POST", "").but("Origin", page)).await.status, 405);
    let restored = Site::serving(service().allow_origins(Vec::<String>::new())).await;
    assert_closed(&restored.ask(&modern("tools/list", json!({})).with("Origin", page)).await);
}

#[tokio::test]
async fn any_origin_is_named_as_it_was_sent() {
    let site = Site::serving(server(&Arc::default()).into_service().allow_origins(["*"])).await;
    for origin in ["https://whoever.example:444", "null", "http://localhost"] {
        let response = site.ask(&call("add", &json!({"a": 1, "b": 2})).with("Origin", origin)).await;
        assert_eq!(response.header("access-control-allow-origin"), Some(origin));
        assert_eq!(site.ask(&preflight("POST", "").but("Origin", origin)).await.status, 204);
    }
}

#[tokio::test]
async fn legacy_sse_is_read_by_pages() {
    let site = Site::serving(service().legacy_sse()).await;
    for path in ["/sse", "/messages"] {
        let response = site.ask(&preflight("POST", "content-type").at(path)).await;
        assert_eq!(response.status, 204, "{path}");
        assert_readable(&response);
    }
    let (stream, mut wire) = site.begin(&from_page(Ask::new("GET")).at("/sse")).await;
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    assert_readable(&stream);
    let first = String::from_utf8(wire.chunk().await.unwrap()).unwrap();
    let address = first.split("data: ").nth(1).unwrap().trim();
    let sent = site.ask(&from_page(initialize("2024-11-05")).at(&format!("/{address}"))).await;
    assert_eq!(sent.status, 202);
    assert_readable(&sent);
    let unknown = site.ask(&from_page(initialize("2024-11-05")).at("/messages?sessionId=none")).await;
    assert_eq!(unknown.status, 404);
    assert_readable(&unknown);
}

#[allow(clippy::unused_async, reason = "as one that asks elsewhere")]
async fn verify(token: String) -> Result<User, Rejection> {
    match &*token {
        "alice" => Ok(User::new("alice").with_issuer("https://auth.example.com").with_scopes(["notes:read"])),
        "away" => Err(Rejection::unavailable(std::time::Duration::from_secs(7))),
        _ => Err(Rejection::invalid("the token is unknown")),
    }
}

/// A preflight has no token; and a page reads the challenge, or it cannot log in.
#[tokio::test]
async fn authorization_is_read_by_pages() {
    let auth = Auth::verify_with(verify)
        .resource("https://mcp.example.com/mcp")
        .authorization_servers(["https://auth.example.com"])
        .scopes(["notes:read"]);
    let site = Site::serving(service().authorize(auth)).await;
    let response = site.ask(&preflight("POST", "authorization, content-type")).await;
    assert_eq!(response.status, 204);
    assert_readable(&response);
    let ask = |token: &str| {
        let ask = from_page(call("add", &json!({"a": 1, "b": 2})));
        if token.is_empty() { ask } else { ask.with("Authorization", format!("Bearer {token}")) }
    };
    for (token, status, header) in [
        ("", 401, Some("www-authenticate")),
        ("bob", 401, Some("www-authenticate")),
        ("away", 503, Some("retry-after")),
    ] {
        let response = site.ask(&ask(token)).await;
        assert_eq!(response.status, status, "{token}");
        assert!(header.is_none_or(|header| response.header(header).is_some()), "{response:?}");
        assert_readable(&response);
    }
    let answer = site.ask(&ask("alice")).await;
    assert_eq!(answer.status, 200);
    assert_readable(&answer);
    let stranger = site.ask(&ask("").but("Origin", "https://evil.example")).await;
    assert_eq!(stranger.status, 403);
    assert_closed(&stranger);
    let document =
        Ask::new("GET").with("Origin", "https://evil.example").at("/.well-known/oauth-protected-resource/mcp");
    assert_eq!(site.ask(&document).await.header("access-control-allow-origin"), Some("*"), "everybody may read it");
}

/// A quota that is used up is told to the page, too.
#[tokio::test]
async fn quota_is_read_by_pages() {
    let mut limits = Limits::default();
    limits.sessions_per_principal = 1;
    let server = server(&Arc::default()).limits(limits);
    let site = Site::serving(server.into_service().allow_origins([PAGE]).principal(|_| Some("ann".to_owned()))).await;
    site.session(Revision::V2025_11_25).await;
    let response = site.ask(&from_page(initialize("2025-11-25"))).await;
    assert_eq!(response.status, 429, "{response:?}");
    assert!(response.header("retry-after").is_some());
    assert_readable(&response);
}
