//! Mistakes in the set-up: serving fails, and says what to change.

use mcp_runtime::auth::{Algorithm, Auth, Dpop, Secret};
use mcp_runtime::http::HttpService;
use mcp_runtime::prelude::*;
use mcp_tests::fake_issuer::{FakeIssuer, Faults};
use mcp_tests::http::{Site, modern, soon};
use tracing_subscriber::prelude::*;

use super::{server, verify};
use crate::log::Log;
use crate::tower::respond;

async fn mistake(service: HttpService) -> String {
    service.serve("127.0.0.1:0").await.expect_err("this must not be served").to_string()
}

#[tokio::test]
async fn serving_fails_with_what_to_change() {
    let known = || Auth::bearer([("ci", "token-of-the-ci")]);
    let table = [
        (known(), "set `.resource(\"https://…\")`"),
        (known().resource("mcp.example.com/mcp"), "write `https://mcp.example.com/mcp`"),
        (known().resource("http://mcp.example.com/mcp"), "not https"),
        (known().resource("https://h/mcp?a"), "query"),
        (known().resource("https://h/mcp#a"), "fragment"),
        (known().resource("https://h/mcp").scopes(["a b"]), "`a b` is several scopes"),
        (known().resource("https://h/mcp").grant("di", ["a"]), "`di`"),
        (Auth::bearer([("ci", Secret::env("MCP_NO_SUCH_TOKEN"))]).resource("https://h/mcp"), "MCP_NO_SUCH_TOKEN"),
        (Auth::local(["a"]).resource("https://h/mcp"), "`Auth::local` is for stdio"),
        (Auth::any_of([]).resource("https://h/mcp"), "nothing to choose from"),
        (Auth::any_of([Auth::bearer([("a", "")])]).resource("https://h/mcp"), "the token of `a` is empty"),
    ];
    for (auth, expected) in table {
        let text = mistake(server().into_service().authorize(auth)).await;
        assert!(text.starts_with("authorization cannot be set up: ") && text.contains(expected), "{text}");
        assert!(text.ends_with("/mcp_runtime/errors/index.html#authorization-that-cannot-work"), "{text}");
        assert!(!text.contains("token-of-the-ci"), "{text}");
    }
    // All mistakes at once.
    let text = mistake(server().into_service().authorize(known().scopes(["a b"]).grant("di", ["a"]))).await;
    assert!(text.contains("several scopes") && text.contains("`di`") && text.contains(".resource"), "{text}");
}

#[tokio::test]
async fn mistakes_about_issuers_say_what_to_change() {
    let known = || Auth::bearer([("ci", "token-of-the-ci")]);
    let table = [
        (Auth::jwt("http://auth.example.com").resource("https://h/mcp"), "not an https URL"),
        (Auth::jwt("auth.example.com").resource("https://h/mcp"), "not an https URL"),
        (Auth::keys("{}").issuer("https://i").resource("https://h/mcp"), "needs a JSON Web Key Set"),
        (Auth::keys(r#"{"keys":[]}"#).issuer("https://i").resource("https://h/mcp"), "no key that can be used"),
        (Auth::keys("").resource("https://h/mcp"), "needs `.issuer("),
        (Auth::introspect("http://as.example/i", "id", "s3cret").resource("https://h/mcp"), "not an https URL"),
        (
            Auth::introspect("https://i", "id", Secret::env("MCP_NO_SUCH_SECRET")).resource("https://h/mcp"),
            "MCP_NO_SUCH_SECRET",
        ),
        (known().algorithms([Algorithm::Es384]).resource("https://h/mcp"), "`algorithms` does not fit"),
        (Auth::jwt("https://i").cache_answers().resource("https://h/mcp"), "`cache_answers` does not fit"),
        (Auth::any_of([known().dpop(Dpop::Required)]).resource("https://h/mcp"), "on the whole of `Auth::any_of`"),
        (known().serve_issuer_metadata().resource("https://h/mcp"), "needs one `Auth::jwt`"),
        (known().dpop(Dpop::Required).resource("https://h/mcp"), "would reject every token of `Auth::bearer`"),
        (
            Auth::verify_with(verify).dpop(Dpop::Required).resource("https://h/mcp"),
            "would reject every token of `Auth::verify_with`, which cannot be bound to a key: set `Dpop::Allowed`",
        ),
        (
            Auth::any_of([Auth::jwt("https://i"), known()]).dpop(Dpop::Required).resource("https://h/mcp"),
            "would reject every token of `Auth::bearer`",
        ),
        (Auth::jwt("https://i").dpop_nonces("a secret of all replicas").resource("https://h/mcp"), "needs `.dpop(…)`"),
        (Auth::jwt("https://i").dpop(Dpop::Allowed).dpop_nonces("short").resource("https://h/mcp"), "16 bytes"),
    ];
    for (auth, expected) in table {
        let text = mistake(server().into_service().authorize(auth)).await;
        assert!(text.starts_with("authorization cannot be set up: ") && text.contains(expected), "{text}");
        assert!(!text.contains("s3cret") && !text.contains("a secret of"), "{text}");
    }
}

/// What is about the server has no effect on one of several ways to verify tokens.
#[tokio::test]
async fn options_of_the_whole_are_a_mistake_on_a_part() {
    let part = || Auth::bearer([("ci", "token-of-the-ci")]);
    let table = [
        (part().resource("https://h/mcp"), "resource"),
        (part().scopes(["a"]), "scopes"),
        (part().scope_implies(|_, _| false), "scope_implies"),
        (part().optional(), "optional"),
        (part().show_all(), "show_all"),
        (part().serve_issuer_metadata(), "serve_issuer_metadata"),
        (part().authorization_servers(["https://i"]), "authorization_servers"),
        (part().resource_name("Notes"), "resource_name"),
        (part().documentation("https://h/docs"), "documentation"),
        (part().policy("https://h/policy"), "policy"),
        (part().terms_of_service("https://h/terms"), "terms_of_service"),
        (part().dpop(Dpop::Allowed), "dpop"),
        (part().certificate(|_| None), "certificate"),
    ];
    for (part, option) in table {
        let text = mistake(server().into_service().authorize(Auth::any_of([part]).resource("https://h/mcp"))).await;
        let expected = format!(
            "authorization cannot be set up: set `{option}` on the whole of `Auth::any_of`, not on a part: \
             `Auth::any_of([…]).{option}(…)`"
        );
        assert_eq!(text.lines().next(), Some(expected.as_str()));
    }
    let nested = Auth::any_of([Auth::any_of([part().scopes(["a"])])]).resource("https://h/mcp");
    assert!(mistake(server().into_service().authorize(nested)).await.contains("set `scopes` on the whole"));
}

#[tokio::test]
async fn scopes_without_authorization_are_a_mistake() {
    let text = mistake(server().into_service()).await;
    let (told, link) = text.split_once("\nsee ").unwrap();
    assert_eq!(told, "`write_note` has scopes, but nobody has any: set up authorization with `HttpService::authorize`");
    assert!(link.ends_with("/mcp_runtime/errors/index.html#authorization-that-cannot-work"), "{text}");
}

/// A nested service is not served by us: it is closed.
#[tokio::test]
async fn nested_service_with_a_mistake_is_closed() {
    let mut service = server().into_service().authorize(Auth::bearer([("ci", "token-of-the-ci")]));
    let ask = modern("tools/list", json!({})).with("Authorization", "Bearer token-of-the-ci");
    assert_eq!(respond(&mut service, &ask).await.status(), 500);

    let mut open = server().into_service();
    assert_eq!(respond(&mut open, &modern("tools/list", json!({}))).await.status(), 200);
    let call = modern("tools/call", json!({"name": "write_note", "arguments": {"text": "hi"}}));
    let response = respond(&mut open, &call).await;
    assert_eq!(response.status(), 403, "nobody has scopes");
    assert!(!response.headers().contains_key("www-authenticate"));
}

#[tokio::test]
async fn server_hands_its_authorization_to_http() {
    let auth = || Auth::bearer([("ci", "token-of-the-ci")]).resource("https://h/mcp");
    let mut service = server().authorize(auth()).into_service();
    assert_eq!(respond(&mut service, &modern("tools/list", json!({}))).await.status(), 401);
    let mut local = server().authorize(Auth::local(["a"])).into_service().authorize(auth());
    assert_eq!(respond(&mut local, &modern("tools/list", json!({}))).await.status(), 401);
}

#[test]
fn nothing_prints_a_token() {
    let auth = Auth::bearer([("ci", "token-of-the-ci")]).resource("https://h/mcp");
    let service = format!("{:?}", server().into_service().authorize(auth));
    let auth = Auth::bearer([("ci", "token-of-the-ci")]);
    for text in [service, format!("{auth:?}"), format!("{:?}", server().authorize(auth))] {
        assert!(!text.contains("token-of-the-ci"), "{text}");
    }
}

/// The server is served: an issuer that is away may be back before the first token.
#[tokio::test]
async fn issuer_that_cannot_be_used_is_logged_at_start() {
    let log = Log::default();
    let _subscriber = tracing_subscriber::registry().with(log.clone()).set_default();
    let issuer = FakeIssuer::start().await;
    let faults = Faults { other_issuer: Some("https://other.example".to_owned()), ..Faults::default() };
    issuer.fail(faults);
    let auth = Auth::jwt(&issuer.url).resource("https://mcp.example.com/mcp");
    let _site = Site::serving(server().into_service().authorize(auth)).await;
    let (level, text) = soon(async {
        loop {
            match log.find("answered 503 until this is solved") {
                Some(found) => break found,
                None => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
            }
        }
    })
    .await;
    assert_eq!(level, tracing::Level::ERROR);
    assert!(text.contains("`issuer` of the document is \"https://other.example\""), "{text}");
}

#[tokio::test]
async fn missing_token_is_one_mistake() {
    let auth = Auth::bearer([("ci", Secret::env("MCP_NO_SUCH_TOKEN"))]).grant("ci", ["a"]).resource("https://h/mcp");
    let text = mistake(server().into_service().authorize(auth)).await;
    assert!(text.contains("MCP_NO_SUCH_TOKEN") && !text.contains("grant"), "{text}");
}

#[test]
fn user_without_a_grant_beside_others_is_logged_at_start() {
    let log = Log::default();
    let _subscriber = tracing_subscriber::registry().with(log.clone()).set_default();
    let known = || Auth::bearer([("ci", "token-of-the-ci-1"), ("alice", "token-of-alice-1")]);
    let _ = server().into_service().authorize(known().resource("https://h/mcp"));
    assert_eq!(log.find("every scope"), None, "nobody has a grant");
    let limited = known().grant("ci", ["a"]);
    let _ = server().into_service().authorize(Auth::any_of([limited]).resource("https://h/mcp"));
    let (level, text) = log.find("every scope").expect("a warning");
    assert_eq!(level, tracing::Level::WARN);
    assert!(text.contains("they have every scope: `alice`;") && !text.contains("token-of"), "{text}");
}
