//! JWT access tokens of an issuer, over HTTP: its keys, its failures, and tokens it would not have issued.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_runtime::auth::{Algorithm, Auth, Fetch, FetchError, FetchFuture, FetchRequest, FetchResponse, HttpsFetcher};
use mcp_tests::fake_issuer::{FakeIssuer, Faults};
use mcp_tests::http::{Ask, Response, Site, call};
use serde_json::{Value, json};
use tracing_subscriber::prelude::*;

use super::document::get;
use super::{METADATA, challenge, server, with};
use crate::log::Log;

pub(super) const RESOURCE: &str = "https://mcp.example.com/mcp";
pub(super) const DOCUMENT: &str = "/.well-known/oauth-protected-resource/mcp";

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

pub(super) async fn serving(auth: Auth) -> Site {
    Site::serving(server().into_service().authorize(auth.resource(RESOURCE))).await
}

pub(super) async fn whoami(site: &Site, token: &str) -> Response {
    site.ask(&with(call("whoami", &json!({})), token)).await
}

#[track_caller]
pub(super) fn name(response: &Response) -> String {
    assert_eq!(response.status, 200, "{response:?}");
    response.json()["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

/// 401 with these words in the challenge.
#[track_caller]
pub(super) fn refused(response: &Response, words: &str) {
    assert_eq!(response.status, 401, "{words}: {response:?}");
    let challenge = challenge(response);
    assert!(challenge.starts_with(r#"Bearer error="invalid_token", error_description=""#), "{challenge}");
    assert!(challenge.contains(words) && challenge.contains(METADATA), "{words}: {challenge}");
}

#[track_caller]
fn unavailable(response: &Response) {
    assert_eq!(response.status, 503, "{response:?}");
    let seconds: u64 = response.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=30).contains(&seconds), "{seconds}");
    assert_eq!(response.header("www-authenticate"), None, "a challenge would make the client drop its token");
}

#[tokio::test]
async fn token_of_an_issuer_names_its_user() {
    let issuer = FakeIssuer::start().await;
    let site = serving(Auth::jwt(&issuer.url).scopes(["notes:read"])).await;
    let token = issuer.access_token(RESOURCE, "alice", "notes:read");
    for _ in 0..3 {
        assert_eq!(name(&whoami(&site, &token).await), "alice");
    }
    let principal = site.ask(&with(call("principal", &json!({})), &token)).await.json();
    assert_eq!(principal["result"]["content"][0]["text"], format!("{}|alice|client-1", issuer.url));
    let write = |token: &str| with(call("write_note", &json!({"text": "hi"})), token);
    assert_eq!(site.ask(&write(&token)).await.status, 403);
    let writer = issuer.access_token(RESOURCE, "alice", "notes:read notes:write");
    assert_eq!(site.ask(&write(&writer)).await.status, 200);
    // Two documents, once: at start, or with the first token.
    assert_eq!(issuer.requests(), ["/.well-known/oauth-authorization-server", "/jwks"]);
    let document = get(&site, &Ask::new("GET"), DOCUMENT).await.json();
    assert_eq!(document["authorization_servers"], json!([issuer.url]));
}

#[tokio::test]
async fn rotated_key_is_found_and_the_removed_one_forgotten() {
    let issuer = FakeIssuer::start().await;
    let site = serving(Auth::jwt(&issuer.url)).await;
    let old = issuer.access_token(RESOURCE, "alice", "");
    assert_eq!(name(&whoami(&site, &old).await), "alice");
    issuer.rotate();
    let new = issuer.access_token(RESOURCE, "bob", "");
    assert_eq!(name(&whoami(&site, &new).await), "bob");
    // Although it was cached.
    refused(&whoami(&site, &old).await, "key");
}

const NO_KEYS: &str = r#"{"keys":[]}"#;
const NO_USABLE_KEY: &str = r#"{"keys":[{"kty":"oct","k":"AA"},{"kty":"AKP","alg":"ML-DSA-44","pub":"AA"}]}"#;

#[tokio::test]
async fn issuer_that_is_down_is_503_and_never_401() {
    let faults = [
        Faults { status: Some(500), ..Faults::default() },
        Faults { hangs_up: true, ..Faults::default() },
        Faults { other_issuer: Some("https://evil.example".to_owned()), ..Faults::default() },
        Faults { padding: 100_000, ..Faults::default() },
        Faults { redirect: Some("https://evil.example/jwks".to_owned()), ..Faults::default() },
        Faults { keys: Some(NO_KEYS.to_owned()), ..Faults::default() },
        Faults { keys: Some(NO_USABLE_KEY.to_owned()), ..Faults::default() },
    ];
    for faults in faults {
        let issuer = FakeIssuer::start().await;
        issuer.fail(faults.clone());
        let site = serving(Auth::jwt(&issuer.url)).await;
        let token = issuer.access_token(RESOURCE, "alice", "");
        unavailable(&whoami(&site, &token).await);
        unavailable(&whoami(&site, &token).await);
        // What no key can change is said at once.
        refused(&whoami(&site, &issuer.access_token("https://other.example", "alice", "")).await, "another resource");
    }
}

#[tokio::test]
async fn known_keys_are_used_while_the_issuer_is_down() {
    let issuer = FakeIssuer::start().await;
    let site = serving(Auth::jwt(&issuer.url)).await;
    let token = issuer.access_token(RESOURCE, "alice", "");
    assert_eq!(name(&whoami(&site, &token).await), "alice");
    issuer.fail(Faults { hangs_up: true, ..Faults::default() });
    assert_eq!(name(&whoami(&site, &token).await), "alice");
    assert_eq!(name(&whoami(&site, &issuer.access_token(RESOURCE, "bob", "")).await), "bob");
    issuer.add_key();
    unavailable(&whoami(&site, &issuer.access_token(RESOURCE, "carol", "")).await);
}

/// A set without a key that can be used is a failure of the issuer, not the end of all tokens.
#[tokio::test]
async fn known_keys_are_used_while_the_issuer_publishes_none() {
    for keys in [NO_KEYS, NO_USABLE_KEY] {
        let log = Log::default();
        let _subscriber = tracing_subscriber::registry().with(log.clone()).set_default();
        let issuer = FakeIssuer::start().await;
        let site = serving(Auth::jwt(&issuer.url)).await;
        let (token, later) = (issuer.access_token(RESOURCE, "alice", ""), issuer.access_token(RESOURCE, "bob", ""));
        assert_eq!(name(&whoami(&site, &token).await), "alice");
        issuer.fail(Faults { keys: Some(keys.to_owned()), ..Faults::default() });
        issuer.add_key();
        // They are fetched for it.
        unavailable(&whoami(&site, &issuer.access_token(RESOURCE, "carol", "")).await);
        assert_eq!(name(&whoami(&site, &token).await), "alice");
        assert_eq!(name(&whoami(&site, &later).await), "bob");
        let (_, text) = log.find("no key that can be used").expect("it is logged");
        assert!(text.contains("known keys are used") && text.contains("/jwks"), "{text}");
    }
}

#[tokio::test]
async fn wrong_claims_are_401_with_the_challenge() {
    let issuer = FakeIssuer::start().await;
    let site = serving(Auth::jwt(&issuer.url)).await;
    let table = [
        (json!({"aud": "https://other.example/mcp"}), "another resource"),
        (json!({"aud": null}), "another resource"),
        (json!({"aud": "https://mcp.example.com"}), "another resource"),
        (json!({"iss": "https://evil.example"}), "issuer"),
        (json!({"iss": format!("{}/", issuer.url)}), "issuer"),
        (json!({"iss": null}), "issuer"),
        (json!({"exp": now() - 120}), "expired"),
        (json!({"exp": null}), "exp"),
        (json!({"nbf": now() + 600}), "valid"),
        (json!({"iat": now() + 600}), "future"),
        (json!({"sub": null, "client_id": null}), "neither sub nor client_id"),
        (json!({"cnf": {"kid": "x"}}), "bound"),
        (json!({"cnf": {"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}}), "does not accept DPoP"),
        (json!({"cnf": {"x5t#S256": "A4DtL2JmUMhAsvJj5tKyn64SqzmuXbMrJa0n761y5v0"}}), "client certificate"),
    ];
    let claims = |change: &Value| {
        let mut claims = json!({"aud": RESOURCE, "sub": "alice", "client_id": "client-1"});
        claims.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        claims
    };
    for (change, words) in table {
        refused(&whoami(&site, &issuer.sign(&claims(&change))).await, words);
    }
    for good in [
        json!({"aud": ["https://other.example", RESOURCE]}),
        json!({"aud": "HTTPS://mcp.example.com/mcp/"}),
        json!({"exp": now() - 20}),
        json!({"scope": null, "scp": ["a", "b"]}),
        json!({"sub": null}),
    ] {
        let response = whoami(&site, &issuer.sign(&claims(&good))).await;
        assert!(["alice", "client-1"].contains(&&*name(&response)), "{good}");
    }
}

#[tokio::test]
async fn hostile_tokens_are_401() {
    let (issuer, evil) = (FakeIssuer::start().await, FakeIssuer::start().await);
    let site = serving(Auth::jwt(&issuer.url)).await;
    let claims = json!({"aud": RESOURCE, "sub": "alice", "client_id": "c"});
    let of_issuer = json!({"iss": issuer.url, "aud": RESOURCE, "sub": "alice", "client_id": "c"});
    let header = |change: Value| {
        let mut header = json!({"alg": "ES256", "typ": "at+jwt", "kid": "key-1"});
        header.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        header
    };
    let signed = |change: Value| issuer.sign_with_header(&header(change), &claims);
    let good = signed(json!({}));
    assert_eq!(name(&whoami(&site, &good).await), "alice");
    let keys: Value = serde_json::from_str(&evil.jwks()).unwrap();
    let jwks_of_evil = format!("{}/jwks", evil.url);
    let parts: Vec<&str> = good.split('.').collect();
    let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let hostile = [
        signed(json!({"alg": "none"})),
        format!("{}.{}.", encode(r#"{"alg":"none"}"#), parts[1]),
        signed(json!({"alg": "HS256"})),
        signed(json!({"alg": "RS256"})),
        signed(json!({"alg": "ES384"})),
        signed(json!({"crit": ["exp"], "exp": 1})),
        signed(json!({"typ": "dpop+jwt"})),
        signed(json!({"typ": "logout+jwt"})),
        signed(json!({"kid": "key-2"})),
        signed(json!({"kid": "../../etc/passwd"})),
        // Keys that the token brings along.
        evil.sign_with_header(&header(json!({"jwk": keys["keys"][0]})), &of_issuer),
        evil.sign_with_header(&header(json!({"jku": jwks_of_evil})), &of_issuer),
        evil.sign_with_header(&header(json!({"x5u": jwks_of_evil})), &of_issuer),
        evil.sign(&of_issuer),
        // An ID token.
        issuer
            .sign_with_header(&header(json!({"typ": "JWT"})), &json!({"aud": RESOURCE, "sub": "alice", "nonce": "n"})),
        format!("{}.{}.{}", parts[0], encode(&claims.to_string()), parts[2]),
        format!("{}.{}", parts[0], parts[1]),
        format!("{good}.{}", parts[2]),
        format!("{good}A"),
        "...".to_owned(),
        ".".to_owned(),
        "opaque".to_owned(),
        issuer.sign(&json!({"aud": RESOURCE, "sub": "alice", "x": "y".repeat(12_500)})),
    ];
    for token in hostile {
        let response = whoami(&site, &token).await;
        assert_eq!(response.status, 401, "{token}: {response:?}");
        assert!(challenge(&response).starts_with(r#"Bearer error="invalid_token""#), "{token}");
    }
    assert_eq!(evil.requests(), Vec::<String>::new(), "nothing in a token is followed");
    assert_eq!(name(&whoami(&site, &good).await), "alice");
}

#[tokio::test]
async fn given_keys_need_no_network() {
    let issuer = FakeIssuer::start().await;
    let site = serving(Auth::keys(issuer.jwks()).issuer(&issuer.url)).await;
    assert_eq!(name(&whoami(&site, &issuer.access_token(RESOURCE, "alice", "")).await), "alice");
    issuer.rotate();
    refused(&whoami(&site, &issuer.access_token(RESOURCE, "alice", "")).await, "key");
    assert_eq!(issuer.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn options_change_which_tokens_are_accepted() {
    let issuer = FakeIssuer::start().await;
    let token = |claims: Value| issuer.sign(&claims);
    let site = serving(Auth::jwt(&issuer.url).algorithms([Algorithm::EdDsa])).await;
    refused(&whoami(&site, &issuer.access_token(RESOURCE, "alice", "")).await, "use EdDSA");
    let site = serving(Auth::jwt(&issuer.url).audience("api://notes").leeway(std::time::Duration::ZERO)).await;
    assert_eq!(name(&whoami(&site, &token(json!({"aud": "api://notes", "sub": "alice"}))).await), "alice");
    assert_eq!(name(&whoami(&site, &token(json!({"aud": RESOURCE, "sub": "alice"}))).await), "alice");
    let expired = token(json!({"aud": RESOURCE, "sub": "alice", "exp": now() - 20}));
    refused(&whoami(&site, &expired).await, "expired");
    let site = serving(Auth::jwt(&issuer.url).jwks_url(format!("{}/moved", issuer.url))).await;
    assert_eq!(name(&whoami(&site, &token(json!({"aud": RESOURCE, "sub": "alice"}))).await), "alice");
    assert_eq!(issuer.requests().last().map(String::as_str), Some("/moved"));
}

/// Counts requests.
struct Counting(HttpsFetcher, Arc<AtomicUsize>);

impl Fetch for Counting {
    fn fetch(&self, request: FetchRequest) -> FetchFuture<'_> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.fetch(request)
    }
}

/// Never gets through.
struct Away;

impl Fetch for Away {
    fn fetch(&self, request: FetchRequest) -> FetchFuture<'_> {
        Box::pin(async move {
            match request.form {
                Some(_) => panic!("a client with a mistake"),
                None if request.url.ends_with("/jwks") => Ok(FetchResponse::new(200, "{}")),
                None => Err(FetchError::new("no route to host")),
            }
        })
    }
}

#[tokio::test]
async fn client_of_ones_own_asks_the_issuer() {
    let (issuer, count) = (FakeIssuer::start().await, Arc::default());
    let site = serving(Auth::jwt(&issuer.url).fetch_with(Counting(HttpsFetcher::new(), Arc::clone(&count)))).await;
    let token = issuer.access_token(RESOURCE, "alice", "");
    assert_eq!(name(&whoami(&site, &token).await), "alice");
    assert_eq!(count.load(Ordering::Relaxed), 2);
    let site = serving(Auth::jwt(&issuer.url).fetch_with(Away)).await;
    unavailable(&whoami(&site, &token).await);
    let asked = Auth::introspect("https://as.example/introspect", "id", "secret").fetch_with(Away);
    unavailable(&whoami(&serving(asked).await, "opaque").await);
}

#[tokio::test]
async fn tokens_of_several_issuers_each_have_their_own_keys() {
    let (one, other, third) = (FakeIssuer::start().await, FakeIssuer::start().await, FakeIssuer::start().await);
    let ci = Auth::bearer([("ci", "token-of-the-ci-server")]);
    let site = serving(Auth::any_of([Auth::jwt(&one.url), ci, Auth::jwt(&other.url)])).await;
    for _ in 0..2 {
        assert_eq!(name(&whoami(&site, &one.access_token(RESOURCE, "alice", "")).await), "alice");
        assert_eq!(name(&whoami(&site, &other.access_token(RESOURCE, "bob", "")).await), "bob");
        assert_eq!(name(&whoami(&site, "token-of-the-ci-server").await), "ci");
    }
    refused(&whoami(&site, &third.access_token(RESOURCE, "carol", "")).await, "issuer");
    // One issuer signs with the name of the other.
    let forged = one.sign(&json!({"iss": other.url, "aud": RESOURCE, "sub": "bob"}));
    assert_eq!(whoami(&site, &forged).await.status, 401);
    let expired = one.sign(&json!({"aud": RESOURCE, "sub": "alice", "exp": now() - 120}));
    refused(&whoami(&site, &expired).await, "expired");
    // One that is down does not make the tokens of others a matter of waiting.
    other.fail(Faults { hangs_up: true, ..Faults::default() });
    other.add_key();
    unavailable(&whoami(&site, &other.access_token(RESOURCE, "bob", "")).await);
    refused(&whoami(&site, &expired).await, "expired");
    assert_eq!(name(&whoami(&site, &one.access_token(RESOURCE, "alice", "")).await), "alice");
}
