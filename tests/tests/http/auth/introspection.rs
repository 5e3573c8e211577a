//! Tokens that only the authorization server can read, over HTTP.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use mcp_runtime::auth::Auth;
use mcp_tests::fake_issuer::{CLIENT, FakeIssuer, Faults};
use mcp_tests::http::call;
use serde_json::{Value, json};

use super::issuers::{RESOURCE, name, refused, serving, whoami};
use super::with;

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

/// All users of a client are not one, whatever the authorization server leaves out.
#[tokio::test]
async fn subject_is_the_user_and_only_without_one_the_client() {
    let issuer = FakeIssuer::start().await;
    let site = serving(introspect(&issuer)).await;
    let token = |claims: Value| {
        let mut all = json!({"aud": RESOURCE, "client_id": "shop"});
        all.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
        issuer.opaque_token(&all)
    };
    for (claims, subject) in
        [(json!({"sub": "alice", "username": "al"}), "alice"), (json!({"username": "al"}), "al"), (json!({}), "shop")]
    {
        assert_eq!(name(&whoami(&site, &token(claims)).await), subject);
    }
    refused(&whoami(&site, &token(json!({"sub": 7}))).await, "its sub is not a string");
    refused(&whoami(&site, &token(json!({"sub": ["alice"], "username": "al"}))).await, "its sub is not a string");
    refused(&whoami(&site, &token(json!({"username": 7}))).await, "its username is not a string");
}

/// What one authorization server says about the issuer does not make its users those of another.
#[tokio::test]
async fn answer_does_not_name_another_issuer() {
    let (issuer, other) = (FakeIssuer::start().await, FakeIssuer::start().await);
    let endpoint = format!("{}/introspect", other.url);
    let asked = Auth::introspect(&endpoint, CLIENT.0, CLIENT.1);
    let site = serving(Auth::any_of([Auth::jwt(&issuer.url), asked])).await;
    let principal = async |token: &str| {
        let response = site.ask(&with(call("principal", &json!({})), token)).await;
        name(&response)
    };
    let hers = issuer.access_token(RESOURCE, "alice", "");
    assert_eq!(principal(&hers).await, format!("{}|alice|client-1", issuer.url));
    let claims = json!({"iss": issuer.url, "aud": RESOURCE, "sub": "alice", "client_id": "client-1"});
    assert_eq!(principal(&other.opaque_token(&claims)).await, format!("{endpoint}|alice|client-1"));
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

/// The authorization server is not flooded: one request per token, and no more than 32 at a time about
/// tokens that were not active before.
#[tokio::test]
async fn requests_to_a_slow_endpoint_are_shared_and_bounded() {
    const TOKENS: usize = 80;
    let issuer = FakeIssuer::start().await;
    let site = serving(introspect(&issuer)).await;
    issuer.fail(Faults { delay: Duration::from_secs(3), ..Faults::default() });
    let token = issuer.opaque_token(&json!({"aud": RESOURCE, "sub": "alice"}));
    let same = join_all((0..10).map(|_| whoami(&site, &token))).await;
    assert!(same.iter().all(|response| name(response) == "alice"));
    assert_eq!(issuer.requests(), ["/introspect"]);

    let tokens: Vec<_> = (0..TOKENS).map(|_| issuer.opaque_token(&json!({"aud": RESOURCE, "sub": "alice"}))).collect();
    let responses = join_all(tokens.iter().map(|token| whoami(&site, token))).await;
    let refused: Vec<_> = responses.iter().filter(|response| response.status == 503).collect();
    assert!(!refused.is_empty() && refused.len() <= TOKENS - 32, "{}", refused.len());
    assert!(refused.iter().all(|response| response.header("retry-after") == Some("1")));
    assert_eq!(responses.iter().filter(|response| response.status == 200).count(), TOKENS - refused.len());
    assert_eq!(issuer.requests().len(), 1 + TOKENS - refused.len());

    issuer.recover();
    assert_eq!(name(&whoami(&site, &tokens[0]).await), "alice");
}

/// All of them at once.
async fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.into_iter().map(Box::pin).collect();
    let mut done: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    poll_fn(|cx| {
        for (future, output) in futures.iter_mut().zip(&mut done).filter(|(_, output)| output.is_none()) {
            if let Poll::Ready(ready) = future.as_mut().poll(cx) {
                *output = Some(ready);
            }
        }
        if done.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
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
