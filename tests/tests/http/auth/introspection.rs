//! Tokens that only the authorization server can read, over HTTP.

use mcp_runtime::auth::Auth;
use mcp_tests::fake_issuer::{CLIENT, FakeIssuer, Faults};
use serde_json::json;

use super::issuers::{RESOURCE, name, refused, serving, whoami};

fn introspect(issuer: &FakeIssuer) -> Auth {
    Auth::introspect(format!("{}/introspect", issuer.url), CLIENT.0, CLIENT.1).issuer(&issuer.url)
}

#[tokio::test]
async fn token_is_introspected_with_every_request() {
    let issuer = FakeIssuer::start().await;
    for auth in [introspect(&issuer), introspect(&issuer).secret_in_form()] {
        let site = serving(auth).await;
        let token = issuer.opaque_token(&json!({"aud": RESOURCE, "sub": "alice"}));
        for _ in 0..2 {
            assert_eq!(name(&whoami(&site, &token).await), "alice");
        }
        issuer.revoke(&token);
        refused(&whoami(&site, &token).await, "revoked");
        let other = issuer.opaque_token(&json!({"aud": "https://other.example", "sub": "alice"}));
        refused(&whoami(&site, &other).await, "another resource");
    }
}

#[tokio::test]
async fn answers_are_kept_if_one_says_so() {
    let issuer = FakeIssuer::start().await;
    let site = serving(introspect(&issuer).cache_answers().audience_optional()).await;
    let token = issuer.opaque_token(&json!({"sub": "alice"}));
    assert_eq!(name(&whoami(&site, &token).await), "alice");
    issuer.revoke(&token);
    assert_eq!(name(&whoami(&site, &token).await), "alice", "for a minute");
    assert_eq!(issuer.requests(), ["/introspect"]);
}

#[tokio::test]
async fn endpoint_that_fails_is_503() {
    let issuer = FakeIssuer::start().await;
    let site = serving(introspect(&issuer)).await;
    let token = issuer.opaque_token(&json!({"aud": RESOURCE, "sub": "alice"}));
    for faults in [Faults { status: Some(500), ..Faults::default() }, Faults { hangs_up: true, ..Faults::default() }] {
        issuer.fail(faults);
        let response = whoami(&site, &token).await;
        assert_eq!((response.status, response.header("www-authenticate")), (503, None));
        assert!(response.header("retry-after").is_some());
    }
    issuer.recover();
    assert_eq!(name(&whoami(&site, &token).await), "alice");
    let wrong = Auth::introspect(format!("{}/introspect", issuer.url), CLIENT.0, "wrong");
    assert_eq!(whoami(&serving(wrong).await, &token).await.status, 503, "it is not the token that is wrong");
}

#[tokio::test]
async fn token_of_a_known_issuer_is_not_shown_to_another_one() {
    let (issuer, other) = (FakeIssuer::start().await, FakeIssuer::start().await);
    let site = serving(Auth::any_of([introspect(&other), Auth::jwt(&issuer.url)])).await;
    assert_eq!(name(&whoami(&site, &issuer.access_token(RESOURCE, "alice", "")).await), "alice");
    refused(&whoami(&site, &issuer.access_token("https://other.example", "alice", "")).await, "another resource");
    assert_eq!(other.requests(), Vec::<String>::new());
    let opaque = other.opaque_token(&json!({"aud": RESOURCE, "sub": "bob"}));
    assert_eq!(name(&whoami(&site, &opaque).await), "bob");
}
