//! The HTTPS client and everything above it, against an issuer on a loopback address.

use std::sync::Arc;
use std::time::Duration;

use super::https::HttpsFetcher;
use super::{Fetch, FetchError, FetchRequest, FetchResponse, MAX_BODY, send};
use crate::auth::clock::now;
use crate::auth::issued::introspect::{ClientCredentials, Introspection};
use crate::auth::jose::audience::Audience;
use crate::auth::jose::claims::{TokenPolicy, VerifiedToken};
use crate::auth::jose::error::TokenError;
use crate::auth::jose::token::UnverifiedToken;
use crate::auth::keys::discovery::discover;
use crate::auth::keys::source::{KeySource, VerifyError};

#[path = "../../../../tests/src/fake_issuer.rs"]
#[expect(dead_code, unreachable_pub, reason = "shared with the tests from the outside")]
mod fake_issuer;

use fake_issuer::{CLIENT, FakeIssuer, Faults};

const RESOURCE: &str = "https://mcp.example/mcp";

struct Scene {
    issuer: FakeIssuer,
    keys: KeySource,
    policy: TokenPolicy,
}

impl Scene {
    async fn new() -> Self {
        let issuer = FakeIssuer::start().await;
        let keys = KeySource::of_issuer(&*issuer.url, Arc::new(HttpsFetcher::new()));
        let policy = TokenPolicy::new(&*issuer.url, Audience::new([RESOURCE]));
        Scene { issuer, keys, policy }
    }

    async fn verify(&self, token: &str) -> Result<VerifiedToken, VerifyError> {
        self.keys.verify(&UnverifiedToken::parse(token).unwrap(), &self.policy, now()).await
    }

    async fn alice(&self) -> Result<VerifiedToken, VerifyError> {
        self.verify(&self.issuer.access_token(RESOURCE, "alice", "a b")).await
    }

    /// Why no keys can be had, which is never the token's fault.
    async fn failure(&self, faults: Faults) -> String {
        self.issuer.fail(faults);
        assert!(matches!(self.alice().await, Err(VerifyError::Unavailable { .. })));
        self.keys.preload().await.unwrap_err()
    }
}

async fn get(url: String) -> Result<FetchResponse, FetchError> {
    send(&HttpsFetcher::new(), FetchRequest { url, form: None }).await
}

#[tokio::test]
async fn keys_of_an_issuer_are_found_from_its_name() {
    let scene = Scene::new().await;
    let token = scene.alice().await.unwrap();
    assert_eq!((token.subject.as_deref(), &*token.issuer), (Some("alice"), &*scene.issuer.url));
    scene.alice().await.unwrap();
    assert_eq!(scene.issuer.requests(), ["/.well-known/oauth-authorization-server", "/jwks"]);
}

#[tokio::test]
async fn a_rotated_key_is_found_at_once() {
    let scene = Scene::new().await;
    scene.alice().await.unwrap();
    let old = scene.issuer.access_token(RESOURCE, "alice", "");
    scene.issuer.rotate();
    scene.alice().await.unwrap();
    assert_eq!(scene.verify(&old).await.unwrap_err(), VerifyError::Token(TokenError::UnknownKey));
    assert_eq!(scene.issuer.requests().len(), 4, "two for each of two fetches");
}

#[tokio::test]
async fn another_issuer_in_the_metadata_is_refused() {
    let faults = Faults { other_issuer: Some("https://evil.example".to_owned()), ..Faults::default() };
    let why = Scene::new().await.failure(faults).await;
    assert!(why.contains("\"https://evil.example\", which is not the same text"), "{why}");
}

#[tokio::test]
async fn a_status_of_500_is_a_failure() {
    let why = Scene::new().await.failure(Faults { status: Some(500), ..Faults::default() }).await;
    assert!(why.contains("status 500"), "{why}");
}

#[tokio::test]
async fn a_connection_that_is_closed_is_a_failure() {
    Scene::new().await.failure(Faults { hangs_up: true, ..Faults::default() }).await;
}

#[tokio::test]
async fn an_issuer_that_is_not_there_is_a_failure() {
    let scene = Scene::new().await;
    let keys = KeySource::of_issuer("http://127.0.0.1:1", Arc::new(HttpsFetcher::new()));
    let why = keys.preload().await.unwrap_err();
    assert!(why.contains("http://127.0.0.1:1/") && why.contains("refused"), "{why}");
    drop(scene);
}

#[tokio::test]
async fn a_huge_key_set_is_not_read() {
    let scene = Scene::new().await;
    let why = scene.failure(Faults { padding: MAX_BODY, ..Faults::default() }).await;
    assert!(why.contains("longer than 64 KiB"), "{why}");
    let length = scene.issuer.jwks().len();
    scene.issuer.fail(Faults { padding: MAX_BODY - length, ..Faults::default() });
    scene.keys.preload().await.unwrap();
}

#[tokio::test]
async fn a_slow_issuer_does_not_hold_up_callers_with_known_keys() {
    let scene = Scene::new().await;
    scene.alice().await.unwrap();
    let known = scene.issuer.access_token(RESOURCE, "alice", "");
    scene.issuer.fail(Faults { delay: Duration::from_secs(10 * 60), ..Faults::default() });
    scene.issuer.add_key();
    let unknown = scene.issuer.access_token(RESOURCE, "bob", "");
    tokio::select! {
        biased;
        _ = scene.verify(&unknown) => panic!("nobody has answered"),
        known = async {
            // After the other one has begun to wait.
            tokio::time::sleep(Duration::from_millis(50)).await;
            scene.verify(&known).await
        } => drop(known.unwrap()),
    }
}

#[tokio::test]
async fn redirects_are_followed_on_the_same_host_only() {
    let (scene, other) = (Scene::new().await, FakeIssuer::start().await);
    for url in ["/moved".to_owned(), format!("{}/moved", scene.issuer.url)] {
        scene.issuer.fail(Faults { redirect: Some(url), ..Faults::default() });
        scene.keys.preload().await.unwrap();
    }
    for url in [format!("{}/jwks", other.url), "//evil.example/jwks".to_owned(), String::new()] {
        scene.issuer.fail(Faults { redirect: Some(url), ..Faults::default() });
        let why = scene.keys.preload().await.unwrap_err();
        assert!(why.contains("redirects to another host"), "{why}");
    }
    assert_eq!(other.requests(), Vec::<String>::new());
    scene.issuer.fail(Faults { redirect: Some("/jwks".to_owned()), ..Faults::default() });
    assert!(scene.keys.preload().await.unwrap_err().contains("more than 3 times"));
}

#[tokio::test]
async fn max_age_is_read() {
    let issuer = FakeIssuer::start().await;
    let url = format!("{}/jwks", issuer.url);
    assert_eq!(get(url.clone()).await.unwrap().max_age, None);
    issuer.set_max_age(Some(77));
    assert_eq!(get(url).await.unwrap().max_age, Some(Duration::from_secs(77)));
}

#[tokio::test]
async fn metadata_is_kept_for_clients_that_ask_here() {
    let issuer = FakeIssuer::start().await;
    let metadata = discover(&HttpsFetcher::new(), &issuer.url).await.unwrap();
    let document: serde_json::Value = serde_json::from_str(&metadata.document).unwrap();
    assert_eq!(document["token_endpoint"], format!("{}/token", issuer.url));
}

#[tokio::test]
async fn opaque_tokens_are_introspected() {
    let issuer = FakeIssuer::start().await;
    let url = format!("{}/introspect", issuer.url);
    let (id, secret) = (CLIENT.0.into(), CLIENT.1.into());
    let fetcher: Arc<dyn Fetch> = Arc::new(HttpsFetcher::new());
    let asks = |client| Introspection::new(&*url, client, None, Audience::new([RESOURCE]), Arc::clone(&fetcher));
    let token = issuer.opaque_token(&serde_json::json!({"aud": RESOURCE, "sub": "alice", "scope": "a"}));
    let client = ClientCredentials::Basic { id, secret };
    let introspection = asks(client);
    for _ in 0..5 {
        assert_eq!(introspection.verify(&token, now()).await.unwrap().subject.as_deref(), Some("alice"));
    }
    assert!(issuer.connections() < 5, "connections are kept");
    issuer.revoke(&token);
    assert_eq!(introspection.verify(&token, now()).await.unwrap_err(), VerifyError::Token(TokenError::Inactive));
    let wrong = asks(ClientCredentials::Basic { id: CLIENT.0.into(), secret: "wrong".into() });
    assert!(matches!(wrong.verify(&token, now()).await, Err(VerifyError::Unavailable { .. })));
    let by_post = asks(ClientCredentials::Post { id: CLIENT.0.into(), secret: CLIENT.1.into() });
    assert_eq!(by_post.verify(&token, now()).await.unwrap_err(), VerifyError::Token(TokenError::Inactive));
}

#[test]
fn root_certificates_are_pem() {
    for (pem, why) in
        [("", "no certificate"), ("-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n", "cannot be read")]
    {
        assert!(HttpsFetcher::with_root_certificates(pem.as_bytes()).unwrap_err().to_string().contains(why));
    }
}
