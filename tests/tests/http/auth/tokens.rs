//! Tokens: missing, malformed, rejected, and such as cannot be verified now.

use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::auth::Auth;
use mcp_runtime::prelude::*;
use mcp_tests::http::{Ask, Response, Site, call, call_in, initialize, modern, stream_of};
use tracing_subscriber::prelude::*;

use super::{METADATA, auth, challenge, server, service, site, token, verify, with};
use crate::log::Log;

#[tokio::test]
async fn request_without_a_token_gets_a_challenge() {
    let site = site().await;
    let asks = [
        modern("tools/list", json!({})),
        initialize("2025-11-25"),
        Ask::post("{"),
        stream_of("s"),
        Ask { method: "DELETE".into(), ..stream_of("s") },
        // Other schemes are as no credentials at all.
        modern("tools/list", json!({})).with("Authorization", "Basic YTpi"),
        modern("tools/list", json!({})).with("Authorization", "Bearertoken"),
    ];
    for ask in asks {
        let response = site.ask(&ask).await;
        assert_eq!(response.status, 401, "{ask:?}");
        assert_eq!(challenge(&response), format!(r#"Bearer {METADATA}, scope="notes:read""#), "{ask:?}");
    }
    // No client is told that it might do better with another method or path.
    assert_eq!(site.ask(&Ask::new("PUT")).await.status, 405);
}

/// Clients send the head of a request and its body apart (httpx does). A response in between would end the connection, on
/// which they ask for the document next.
#[tokio::test]
async fn connection_outlives_a_refusal() {
    let site = site().await;
    let mut wire = site.open().await;
    let list = || modern("tools/list", json!({}));
    for (ask, status) in [(list(), 401), (with(list(), "mallory"), 401), (with(list(), "away"), 503), (list(), 401)] {
        let bytes = ask.bytes();
        let body = bytes.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
        wire.send(&bytes[..body]).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        wire.send(&bytes[body..]).await;
        assert_eq!(wire.response().await.status, status);
    }
    wire.send(b"GET /.well-known/oauth-protected-resource/mcp HTTP/1.1\r\nHost: mcp.example.com\r\n\r\n").await;
    assert_eq!(wire.response().await.status, 200);
}

/// The message of a refused request is waited for as any other: not for ever, and not if it is long.
#[tokio::test]
async fn refusal_does_not_wait_for_a_message_that_does_not_come() {
    let mut limits = Limits::default();
    limits.request_timeout = Duration::from_millis(200);
    let service = server().limits(limits).into_service();
    let site = Site::serving(service.authorize(auth())).await;
    for length in [10, 100_000_000] {
        let mut wire = site.open().await;
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}"
        );
        wire.send(format!("{head}\r\n\r\n").as_bytes()).await;
        assert_eq!(wire.response().await.status, 401, "{length}");
    }
}

#[tokio::test]
async fn invalid_token_is_told_so() {
    let site = site().await;
    let response = site.ask(&with(modern("tools/list", json!({})), "mallory")).await;
    assert_eq!(response.status, 401);
    let expected = format!(
        r#"Bearer error="invalid_token", error_description="the token is unknown", {METADATA}, scope="notes:read""#
    );
    assert_eq!(challenge(&response), expected);
}

#[tokio::test]
async fn token_that_is_sent_wrongly_is_a_bad_request() {
    let site = site().await;
    let good = format!("Bearer {}", token("alice", "notes:read"));
    let list = || modern("tools/list", json!({}));
    let in_query = |query: &str| {
        let bytes = list().with("Authorization", &good).bytes();
        String::from_utf8(bytes).unwrap().replacen("/mcp", &format!("/mcp?{query}"), 1)
    };
    let asks = [
        list().with("Authorization", &good).with("Authorization", &good),
        list().with("Authorization", &good).with("authorization", "Basic YTpi"),
        list().with("Authorization", "Bearer"),
        list().with("Authorization", "Bearer "),
        list().with("Authorization", "Bearer a b"),
        list().with("Authorization", b"Bearer \xff"),
    ];
    let mut messages: Vec<Vec<u8>> = asks.iter().map(Ask::bytes).collect();
    messages.push(in_query("access_token=alice").into());
    messages.push(in_query("a=b&access_token=").into());
    for message in messages {
        let mut wire = site.open().await;
        wire.send(&message).await;
        let response = wire.response().await;
        let text = String::from_utf8_lossy(&message).into_owned();
        assert_eq!(response.status, 400, "{text}");
        assert!(challenge(&response).starts_with(r#"Bearer error="invalid_request", error_description=""#), "{text}");
        assert!(challenge(&response).contains(METADATA), "{text}");
    }
    let mut wire = site.open().await;
    wire.send(in_query("token=alice").as_bytes()).await;
    assert_eq!(wire.response().await.status, 200, "another parameter is none of ours");
}

#[tokio::test]
async fn verifier_that_is_away_is_503() {
    let site = site().await;
    let response = site.ask(&with(modern("tools/list", json!({})), "away")).await;
    assert_eq!((response.status, response.header("retry-after")), (503, Some("7")));
    assert_eq!(response.header("www-authenticate"), None, "a challenge would make the client drop its token");
}

#[tokio::test]
async fn valid_token_names_the_user() {
    let site = site().await;
    for scheme in ["Bearer", "bearer", "BEARER"] {
        let ask = call("whoami", &json!({})).with("Authorization", format!("{scheme}  alice;notes:read"));
        assert_eq!(site.ask(&ask).await.json()["result"]["content"][0]["text"], "alice", "{scheme}");
    }
    let ask = with(call("principal", &json!({})), &token("alice", "notes:read"));
    let principal = site.ask(&ask).await.json();
    assert_eq!(principal["result"]["content"][0]["text"], "https://auth.example.com|alice|cli");
}

#[tokio::test]
async fn own_host_of_the_resource_is_allowed() {
    let site = site().await;
    let ask = || with(modern("tools/list", json!({})), "alice;notes:read");
    assert_eq!(site.ask(&ask().but("Host", "mcp.example.com")).await.status, 200);
    assert_eq!(site.ask(&ask().but("Host", "evil.example")).await.status, 403);
    let site = Site::serving(service().allow_hosts(["api.example.com"])).await;
    assert_eq!(site.ask(&ask().but("Host", "mcp.example.com")).await.status, 403, "the list replaces the default");
}

#[tokio::test]
async fn bearer_tokens_and_any_of() {
    let known = || Auth::bearer([("ci", "token-of-the-ci"), ("dev", "token-of-dev")]).grant("dev", ["notes:read"]);
    let both = Auth::any_of([known(), Auth::verify_with(verify)])
        .resource("https://mcp.example.com/mcp")
        .scopes(["notes:read"]);
    for auth in [known().resource("https://mcp.example.com/mcp"), both] {
        let site = Site::serving(server().into_service().authorize(auth)).await;
        let write = |token: &str| with(call("write_note", &json!({"text": "hi"})), token);
        assert_eq!(site.ask(&write("token-of-the-ci")).await.status, 200, "all scopes");
        assert_eq!(site.ask(&write("token-of-dev")).await.status, 403);
        assert_eq!(site.ask(&write("token-of-nobody")).await.status, 401);
    }
    let both = Auth::any_of([known(), Auth::verify_with(verify)]).resource("https://mcp.example.com/mcp");
    let site = Site::serving(server().into_service().authorize(both)).await;
    let who = |token: &str| with(call("whoami", &json!({})), token);
    assert_eq!(site.ask(&who("bob;notes:read")).await.json()["result"]["content"][0]["text"], "bob");
    assert_eq!(site.ask(&who("away")).await.status, 503, "one of them may know it");
}

#[tokio::test]
async fn no_token_is_logged() {
    let log = Log::default();
    let _subscriber = tracing_subscriber::registry().with(log.clone()).set_default();
    let site = site().await;
    for token in ["alice;notes:read", "mallory-and-her-token", "away"] {
        for name in ["whoami", "purge"] {
            site.ask(&with(call(name, &json!({})), token)).await;
        }
    }
    tracing::info!("the log is read");
    assert!(log.find("the log is read").is_some());
    for token in ["alice;notes", "mallory-and-her-token"] {
        assert_eq!(log.find(token), None);
    }
}

/// The headers of the request, as a handler sees them.
#[tool]
fn headers(ctx: &Context) -> String {
    let parts = ctx.http().expect("this is HTTP");
    let lines = parts.headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
    lines.collect::<Vec<_>>().join("\n")
}

/// The token is not handed on. Where nothing verifies it, the header is the user's own.
#[tokio::test]
async fn handler_does_not_see_the_token() {
    let server = || Server::new("notes", "1.0.0").tools(tools![headers]);
    let sent = |ask: Ask| ask.with("DPoP", "the-proof").with("X-Own", "own");
    let seen = |response: &Response| {
        assert_eq!(response.status, 200, "{response:?}");
        response.json()["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    };
    let alice = "alice;notes:read";
    let look = || sent(call("headers", &json!({})));
    for auth in [auth(), auth().optional()] {
        let site = Site::serving(server().into_service().authorize(auth)).await;
        let opened = site.ask(&with(initialize("2025-11-25"), alice)).await;
        let session = opened.header("mcp-session-id").unwrap().to_owned();
        let in_session = sent(call_in(&session, 5, "headers", &json!({})));
        for ask in [look(), look().but("Accept", "text/event-stream, application/json"), in_session] {
            let seen = seen(&site.ask(&with(ask, alice)).await);
            assert!(seen.contains("x-own: own") && seen.contains("accept: "), "{seen}");
            assert!(!seen.contains("alice") && !seen.contains("authorization") && !seen.contains("dpop"), "{seen}");
        }
    }
    let site = Site::serving(server().into_service()).await;
    let seen = seen(&site.ask(&with(look(), alice)).await);
    assert!(seen.contains("authorization: Bearer alice;notes:read") && seen.contains("dpop: the-proof"), "{seen}");
}
