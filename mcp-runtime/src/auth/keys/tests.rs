//! The life of fetched keys, with a fetcher that is scripted and a clock that stands still.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, advance, sleep};

use super::source::{KeySource, VerifyError};
use crate::auth::clock;
use crate::auth::fetch::{Fetch, FetchError, FetchFuture, FetchRequest, FetchResponse, MAX_BODY};
use crate::auth::issued::cache::{KnownUser, TokenCache};
use crate::auth::jose::claims::VerifiedToken;
use crate::auth::jose::error::TokenError;
use crate::auth::jose::tests::minted::Fixture;
use crate::auth::jose::token::UnverifiedToken;
use crate::sync::lock;

const KEYS_URL: &str = "https://issuer.example/jwks";

/// What the issuer answers, by URL.
#[derive(Default)]
struct FakeIssuer {
    documents: Mutex<HashMap<String, String>>,
    requests: Mutex<Vec<String>>,
    is_down: Mutex<bool>,
    panics: Mutex<bool>,
    delay: Mutex<Duration>,
    max_age: Mutex<Option<Duration>>,
    under_way: AtomicUsize,
}

impl FakeIssuer {
    fn publish(&self, url: &str, document: impl Into<String>) {
        lock(&self.documents).insert(url.to_owned(), document.into());
    }

    fn requests(&self) -> usize {
        lock(&self.requests).len()
    }

    async fn answer(&self, url: String) -> Result<FetchResponse, FetchError> {
        lock(&self.requests).push(url.clone());
        assert_eq!(self.under_way.fetch_add(1, Ordering::SeqCst), 0, "one fetch at a time");
        let delay = *lock(&self.delay);
        sleep(delay).await;
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        assert!(!*lock(&self.panics), "as it was told");
        if *lock(&self.is_down) {
            return Err(FetchError("connection refused".to_owned()));
        }
        let document = lock(&self.documents).get(&url).cloned();
        let (status, body) = document.map_or((404, Vec::new()), |document| (200, document.into_bytes()));
        Ok(FetchResponse { status, body, max_age: *lock(&self.max_age) })
    }
}

impl Fetch for FakeIssuer {
    fn fetch(&self, request: FetchRequest) -> FetchFuture<'_> {
        assert!(request.form.is_none());
        Box::pin(self.answer(request.url))
    }
}

/// A source of keys, its issuer, and tokens.
struct Scene {
    fixture: Fixture,
    issuer: Arc<FakeIssuer>,
    keys: KeySource,
}

impl Scene {
    /// With these keys published.
    fn new(ids: &[&str]) -> Self {
        let issuer = Arc::new(FakeIssuer::default());
        let keys = KeySource::at(KEYS_URL, Arc::clone(&issuer) as Arc<dyn Fetch>);
        let scene = Scene { fixture: Fixture::read(), issuer, keys };
        scene.rotate(ids);
        scene
    }

    fn set(&self, ids: &[&str]) -> String {
        let all = self.fixture.jwks["keys"].as_array().unwrap();
        let some: Vec<_> = all.iter().filter(|key| ids.contains(&key["kid"].as_str().unwrap())).collect();
        assert_eq!(some.len(), ids.len());
        serde_json::json!({"keys": some}).to_string()
    }

    fn rotate(&self, ids: &[&str]) {
        self.issuer.publish(KEYS_URL, self.set(ids));
    }

    async fn verify(&self, name: &str) -> Result<VerifiedToken, VerifyError> {
        let token = UnverifiedToken::parse(self.fixture.token(name)).unwrap();
        self.keys.verify(&token, &self.fixture.policy(), self.fixture.now).await
    }

    async fn refusal(&self, name: &str) -> VerifyError {
        self.verify(name).await.unwrap_err()
    }
}

/// Lets tasks that are ready run, without moving the clock by much.
async fn settle() {
    sleep(Duration::from_millis(1)).await;
}

fn unavailable(error: VerifyError) -> Duration {
    match error {
        VerifyError::Unavailable { retry_after } => retry_after,
        VerifyError::Token(error) => panic!("{error}"),
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn keys_are_fetched_when_needed_and_once_for_all() {
    let scene = Arc::new(Scene::new(&["ec"]));
    *lock(&scene.issuer.delay) = SECOND;
    assert_eq!(scene.issuer.requests(), 0);
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let scene = Arc::clone(&scene);
            tokio::spawn(async move { scene.verify("ES256").await.map(drop) })
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    scene.verify("ES256").await.unwrap();
    assert_eq!(scene.issuer.requests(), 1);
}

#[tokio::test(start_paused = true)]
async fn tokens_that_no_key_could_save_fetch_nothing() {
    let scene = Scene::new(&["ec"]);
    for (name, error) in [
        ("other iss", TokenError::WrongIssuer),
        ("other aud", TokenError::WrongAudience),
        ("expired outside the leeway", TokenError::Expired),
        ("typ 'dpop+jwt'", TokenError::WrongType),
    ] {
        assert_eq!(scene.refusal(name).await, VerifyError::Token(error));
    }
    assert_eq!(scene.issuer.requests(), 0);
}

#[tokio::test(start_paused = true)]
async fn keys_are_refreshed_in_the_background_at_80_percent() {
    let scene = Scene::new(&["ec"]);
    *lock(&scene.issuer.max_age) = Some(Duration::from_secs(1000));
    scene.verify("ES256").await.unwrap();
    advance(Duration::from_secs(799)).await;
    scene.verify("ES256").await.unwrap();
    settle().await;
    assert_eq!(scene.issuer.requests(), 1);
    // The endpoint hangs, and nobody with a known key waits for it.
    *lock(&scene.issuer.delay) = Duration::from_secs(5);
    advance(2 * SECOND).await;
    let before = Instant::now();
    scene.verify("ES256").await.unwrap();
    assert_eq!(before.elapsed(), Duration::ZERO);
    sleep(Duration::from_secs(6)).await;
    assert_eq!(scene.issuer.requests(), 2);
    scene.verify("ES256").await.unwrap();
    settle().await;
    assert_eq!(scene.issuer.requests(), 2, "fresh again");
}

#[tokio::test(start_paused = true)]
async fn max_age_is_clamped() {
    for (max_age, refresh) in [(None, 2880), (Some(1), 240), (Some(10_000_000), 69_120)] {
        let scene = Scene::new(&["ec"]);
        *lock(&scene.issuer.max_age) = max_age.map(Duration::from_secs);
        scene.verify("ES256").await.unwrap();
        advance(Duration::from_secs(refresh - 1)).await;
        scene.verify("ES256").await.unwrap();
        settle().await;
        assert_eq!(scene.issuer.requests(), 1, "{max_age:?}");
        advance(SECOND).await;
        scene.verify("ES256").await.unwrap();
        settle().await;
        assert_eq!(scene.issuer.requests(), 2, "{max_age:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn unknown_kid_fetches_once_in_30_seconds() {
    let scene = Scene::new(&["ec"]);
    scene.verify("ES256").await.unwrap();
    scene.rotate(&["ec", "ed"]);
    scene.verify("EdDSA").await.unwrap();
    assert_eq!(scene.issuer.requests(), 2, "a new key is found at once");
    for _ in 0..20 {
        assert_eq!(scene.refusal("unknown kid").await, VerifyError::Token(TokenError::UnknownKey));
    }
    assert_eq!(scene.issuer.requests(), 2);
    advance(Duration::from_secs(30)).await;
    assert_eq!(scene.refusal("unknown kid").await, VerifyError::Token(TokenError::UnknownKey));
    assert_eq!(scene.refusal("unknown kid").await, VerifyError::Token(TokenError::UnknownKey));
    assert_eq!(scene.issuer.requests(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_replaces_the_only_one_is_found_without_kid() {
    let scene = Scene::new(&["ec384"]);
    scene.issuer.publish(KEYS_URL, other_key(&scene.set(&["ed"])));
    let name = "kid absent, one key fits";
    assert_eq!(scene.refusal(name).await, VerifyError::Token(TokenError::BadSignatureWithoutKeyId));
    scene.rotate(&["ed"]);
    scene.verify(name).await.unwrap();
    assert_eq!(scene.issuer.requests(), 2);
}

/// The key with another `x` of the same length.
fn other_key(set: &str) -> String {
    let mut set: serde_json::Value = serde_json::from_str(set).unwrap();
    set["keys"][0]["x"] = format!("A{}A", &set["keys"][0]["x"].as_str().unwrap()[1..42]).into();
    set.to_string()
}

#[tokio::test(start_paused = true)]
async fn failed_tries_count_and_known_keys_stay_usable() {
    let scene = Scene::new(&["ec"]);
    scene.verify("ES256").await.unwrap();
    *lock(&scene.issuer.is_down) = true;
    scene.rotate(&["ec", "ed"]);
    // Whether the key is new cannot be said: not 401.
    assert_eq!(unavailable(scene.refusal("EdDSA").await), Duration::from_secs(30));
    advance(10 * SECOND).await;
    assert_eq!(unavailable(scene.refusal("EdDSA").await), Duration::from_secs(20));
    assert_eq!(scene.issuer.requests(), 2);
    scene.verify("ES256").await.unwrap();
    *lock(&scene.issuer.is_down) = false;
    advance(20 * SECOND).await;
    scene.verify("EdDSA").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn known_keys_are_used_for_24_hours_while_the_issuer_is_down() {
    let scene = Scene::new(&["ec"]);
    scene.verify("ES256").await.unwrap();
    *lock(&scene.issuer.is_down) = true;
    for _ in 0..24 {
        advance(Duration::from_secs(60 * 60)).await;
        scene.verify("ES256").await.unwrap();
        settle().await;
    }
    advance(Duration::from_secs(60 * 60)).await;
    unavailable(scene.refusal("ES256").await);
    *lock(&scene.issuer.is_down) = false;
    advance(Duration::from_secs(31)).await;
    scene.verify("ES256").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_issuer_that_is_down_at_first_is_tried_again_soon() {
    let scene = Scene::new(&["ec"]);
    *lock(&scene.issuer.is_down) = true;
    assert_eq!(unavailable(scene.refusal("ES256").await), SECOND);
    assert_eq!(unavailable(scene.refusal("ES256").await), SECOND);
    assert_eq!(scene.issuer.requests(), 1, "not for every call");
    advance(SECOND).await;
    assert_eq!(unavailable(scene.refusal("ES256").await), 2 * SECOND);
    *lock(&scene.issuer.is_down) = false;
    advance(2 * SECOND).await;
    scene.verify("ES256").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_slow_issuer_is_given_up_after_10_seconds() {
    let scene = Scene::new(&["ec"]);
    *lock(&scene.issuer.delay) = Duration::from_secs(11);
    let before = Instant::now();
    unavailable(scene.refusal("ES256").await);
    assert!((9..=11).contains(&before.elapsed().as_secs()), "{:?}", before.elapsed());
    scene.issuer.under_way.store(0, Ordering::SeqCst);
}

#[tokio::test(start_paused = true)]
async fn answers_that_are_no_key_set_change_nothing() {
    let scene = Scene::new(&["ec"]);
    scene.verify("ES256").await.unwrap();
    for nonsense in ["<html>".to_owned(), "{}".to_owned(), format!("{{\"keys\":[]{}}}", " ".repeat(MAX_BODY))] {
        scene.issuer.publish(KEYS_URL, nonsense);
        unavailable(scene.refusal("EdDSA").await);
        scene.verify("ES256").await.unwrap();
        advance(Duration::from_secs(31)).await;
    }
    let mut set: serde_json::Value = serde_json::from_str(&scene.set(&["ed"])).unwrap();
    set["keys"].as_array_mut().unwrap().insert(0, serde_json::json!({"kty": "AKP", "alg": "ML-DSA-44", "pub": "AA"}));
    scene.issuer.publish(KEYS_URL, set.to_string());
    scene.verify("EdDSA").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_removed_key_takes_its_cached_tokens_along() {
    let scene = Scene::new(&["ec", "ed"]);
    let cache = TokenCache::of_jwts();
    let now = clock::at(scene.fixture.now).unwrap();
    for name in ["ES256", "EdDSA"] {
        cache.insert(scene.fixture.token(name), KnownUser::new(scene.verify(name).await.unwrap()).unwrap());
    }
    let is_cached = |name| cache.get(scene.fixture.token(name).as_bytes(), now).is_some();
    assert!(is_cached("ES256") && is_cached("EdDSA"));
    scene.rotate(&["ed"]);
    advance(Duration::from_secs(49 * 60)).await;
    assert!(!is_cached("EdDSA"), "after 80 % of the hour, the next call asks the source, which asks the issuer");
    scene.verify("EdDSA").await.unwrap();
    settle().await;
    assert!(!is_cached("ES256") && is_cached("EdDSA"));
    assert_eq!(scene.refusal("ES256").await, VerifyError::Token(TokenError::UnknownKey));
}

#[tokio::test(start_paused = true)]
async fn cached_tokens_stay_while_the_issuer_is_down() {
    let scene = Scene::new(&["ec"]);
    let cache = TokenCache::of_jwts();
    cache.insert(scene.fixture.token("ES256"), KnownUser::new(scene.verify("ES256").await.unwrap()).unwrap());
    *lock(&scene.issuer.is_down) = true;
    advance(Duration::from_secs(49 * 60)).await;
    scene.verify("ES256").await.unwrap();
    settle().await;
    assert!(cache.get(scene.fixture.token("ES256").as_bytes(), clock::at(scene.fixture.now).unwrap()).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_does_not_take_the_fetch_along() {
    let scene = Arc::new(Scene::new(&["ec"]));
    *lock(&scene.issuer.delay) = 3 * SECOND;
    let impatient = tokio::time::timeout(SECOND, scene.verify("ES256")).await;
    assert!(impatient.is_err());
    scene.verify("ES256").await.unwrap();
    assert_eq!(scene.issuer.requests(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_fetcher_that_panics_is_a_failure() {
    let scene = Scene::new(&["ec"]);
    *lock(&scene.issuer.panics) = true;
    unavailable(scene.refusal("ES256").await);
    *lock(&scene.issuer.panics) = false;
    advance(SECOND).await;
    scene.verify("ES256").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn issuer_is_discovered_by_the_three_urls_in_order() {
    let scene = Scene::new(&["ec"]);
    let name = &scene.fixture.issuer;
    let keys = KeySource::of_issuer(&**name, Arc::clone(&scene.issuer) as Arc<dyn Fetch>);
    let document = |issuer: &str| format!(r#"{{"issuer":"{issuer}","jwks_uri":"{KEYS_URL}"}}"#);
    assert!(keys.preload().await.unwrap_err().contains("status 404"));
    let urls = [
        "https://issuer.example/.well-known/oauth-authorization-server/tenant",
        "https://issuer.example/.well-known/openid-configuration/tenant",
        "https://issuer.example/tenant/.well-known/openid-configuration",
    ];
    assert_eq!(*lock(&scene.issuer.requests), urls);
    // The last one alone, then one that names another issuer before it.
    scene.issuer.publish(urls[2], document(name));
    keys.preload().await.unwrap();
    scene.issuer.publish(urls[0], document("https://evil.example"));
    keys.preload().await.unwrap();
    scene.issuer.publish(urls[2], document(&format!("{name}/")));
    assert!(keys.preload().await.unwrap_err().contains("not the same text"));
    let token = UnverifiedToken::parse(scene.fixture.token("ES256")).unwrap();
    keys.verify(&token, &scene.fixture.policy(), scene.fixture.now).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn keys_come_over_https_only() {
    let scene = Scene::new(&["ec"]);
    let keys = KeySource::at("http://issuer.example/jwks", Arc::clone(&scene.issuer) as Arc<dyn Fetch>);
    assert!(keys.preload().await.unwrap_err().contains("not an https URL"));
    assert_eq!(scene.issuer.requests(), 0);
}

#[tokio::test(start_paused = true)]
async fn given_keys_are_never_fetched() {
    let fixture = Fixture::read();
    let keys = KeySource::given(fixture.keys());
    keys.preload().await.unwrap();
    let verify = async |name| {
        let token = UnverifiedToken::parse(fixture.token(name)).unwrap();
        keys.verify(&token, &fixture.policy(), fixture.now).await
    };
    verify("ES256").await.unwrap();
    assert_eq!(verify("unknown kid").await.unwrap_err(), VerifyError::Token(TokenError::UnknownKey));
}
