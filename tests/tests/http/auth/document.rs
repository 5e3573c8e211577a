//! The document about the protected resource (RFC 9728).

use mcp_runtime::auth::Auth;
use mcp_tests::fake_issuer::{FakeIssuer, Faults};
use mcp_tests::http::{Ask, Response, Site};
use serde_json::json;
use tracing_subscriber::prelude::*;

use super::{server, site};
use crate::log::Log;

const PATH: &str = "/.well-known/oauth-protected-resource";

pub(super) async fn get(site: &Site, ask: &Ask, path: &str) -> Response {
    let bytes = String::from_utf8(ask.bytes()).unwrap().replacen("/mcp", path, 1);
    let mut wire = site.open().await;
    wire.send(bytes.as_bytes()).await;
    if ask.method == "HEAD" { wire.head().await } else { wire.response().await }
}

#[tokio::test]
async fn document_is_at_the_path_form_and_at_the_root_form() {
    let site = site().await;
    for path in ["/mcp", "/mcp/", "", "/"] {
        // Nobody is turned away: no token, any host, any origin.
        for ask in [
            Ask::new("GET"),
            Ask::new("GET").but("Host", "evil.example"),
            Ask::new("GET").with("Origin", "https://page.example"),
            Ask::new("GET").with("Authorization", "Bearer mallory"),
        ] {
            let response = get(&site, &ask, &format!("{PATH}{path}")).await;
            assert_eq!(response.status, 200, "{path} {ask:?}");
            let expected = json!({
                "resource": "https://mcp.example.com/mcp",
                "authorization_servers": ["https://auth.example.com"],
                "scopes_supported": ["notes:read"],
                "bearer_methods_supported": ["header"],
            });
            assert_eq!(response.json(), expected);
            assert_eq!(response.header("access-control-allow-origin"), Some("*"));
            assert_eq!(response.header("cache-control"), Some("max-age=3600"));
        }
    }
    assert_eq!(get(&site, &Ask::new("GET"), &format!("{PATH}-of-others")).await.status, 404);
}

#[tokio::test]
async fn methods_of_the_document() {
    let site = site().await;
    let path = format!("{PATH}/mcp");
    let (head, whole) = (get(&site, &Ask::new("HEAD"), &path).await, get(&site, &Ask::new("GET"), &path).await);
    assert_eq!(head.status, 200);
    assert_eq!(head.header("content-length"), whole.header("content-length"));
    let preflight = get(&site, &Ask::new("OPTIONS").with("Origin", "https://page.example"), &path).await;
    assert_eq!(preflight.status, 204);
    assert_eq!(preflight.header("access-control-allow-origin"), Some("*"));
    assert_eq!(preflight.header("access-control-allow-methods"), Some("GET, HEAD, OPTIONS"));
    assert_eq!(preflight.header("access-control-allow-headers"), Some("*"));
    for method in ["POST", "PUT", "DELETE"] {
        let response = get(&site, &Ask::new(method), &path).await;
        assert_eq!((response.status, response.header("allow")), (405, Some("GET, HEAD, OPTIONS")), "{method}");
    }
}

#[tokio::test]
async fn document_has_what_was_set() {
    let auth = Auth::bearer([("ci", "token-of-the-ci")])
        .resource("https://h/public/mcp/")
        .resource_name("Notes")
        .documentation("https://h/docs")
        .policy("https://h/policy")
        .terms_of_service("https://h/tos");
    let site = Site::serving(server().into_service().authorize(auth)).await;
    let response = get(&site, &Ask::new("GET"), &format!("{PATH}/public/mcp")).await;
    let expected = json!({
        "resource": "https://h/public/mcp/",
        "bearer_methods_supported": ["header"],
        "resource_name": "Notes",
        "resource_documentation": "https://h/docs",
        "resource_policy_uri": "https://h/policy",
        "resource_tos_uri": "https://h/tos",
    });
    assert_eq!(response.json(), expected);
}

#[tokio::test]
async fn service_without_authorization_has_no_document() {
    let site = Site::of(mcp_runtime::Server::new("open", "1.0.0")).await;
    assert_eq!(get(&site, &Ask::new("GET"), PATH).await.status, 404);
}

/// The most reported mistake: the resource is not what was typed. No other test asks for such a document: `tracing`
/// may switch an event off for all threads when one without a subscriber meets it first.
#[tokio::test]
async fn request_for_another_document_is_logged_once() {
    let log = Log::default();
    let _subscriber = tracing_subscriber::registry().with(log.clone()).set_default();
    let site = site().await;
    for path in ["/other", "/mcp/more", "/mc", "/other"] {
        assert_eq!(get(&site, &Ask::new("GET"), &format!("{PATH}{path}")).await.status, 404);
    }
    let told = log.all("a client asks for the document of another resource");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].1.contains("/.well-known/oauth-protected-resource/other"), "{told:?}");
    assert!(told[0].1.contains("https://mcp.example.com/mcp"), "{told:?}");
}

/// In 2025-03-26, clients look for the authorization server at the origin.
#[tokio::test]
async fn metadata_of_the_issuer_is_served_on_request() {
    const ISSUER: &str = "/.well-known/oauth-authorization-server";
    let issuer = FakeIssuer::start().await;
    let auth = || Auth::jwt(&issuer.url).resource("https://mcp.example.com/mcp");
    let serving = async |auth| Site::serving(server().into_service().authorize(auth)).await;
    let without = serving(auth()).await;
    assert_eq!(get(&without, &Ask::new("GET"), ISSUER).await.status, 404);
    let site = serving(auth().serve_issuer_metadata()).await;
    for _ in 0..3 {
        let response = get(&site, &Ask::new("GET").with("Origin", "https://page.example"), ISSUER).await;
        assert_eq!((response.status, response.header("access-control-allow-origin")), (200, Some("*")));
        let document = response.json();
        assert_eq!(document["issuer"], issuer.url);
        assert_eq!(document["token_endpoint"], format!("{}/token", issuer.url));
    }
    assert_eq!(get(&site, &Ask::new("HEAD"), ISSUER).await.status, 200);
    assert_eq!(get(&site, &Ask::new("POST"), ISSUER).await.status, 405);
    let asked = issuer.requests().iter().filter(|path| *path == ISSUER).count();
    assert!(asked <= 3, "once for the document, and once per service for its keys: {asked}");
    issuer.fail(Faults { hangs_up: true, ..Faults::default() });
    let away = serving(auth().serve_issuer_metadata()).await;
    let response = get(&away, &Ask::new("GET"), ISSUER).await;
    assert_eq!((response.status, response.header("retry-after")), (503, Some("5")));
}
