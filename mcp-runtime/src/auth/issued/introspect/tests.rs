//! Introspection with an authorization server that is a closure.

use std::sync::Mutex;

use super::*;
use crate::auth::clock;
use crate::auth::fetch::{FetchError, FetchFuture};
use crate::auth::issued::cache::{KnownUser, TokenCache};
use crate::sync::lock;

const NOW: u64 = 2_000_000_000;

/// Answers all requests alike, and keeps the last one.
struct Endpoint {
    answer: Result<(u16, String), FetchError>,
    last: Mutex<Option<FetchRequest>>,
}

impl Fetch for Endpoint {
    fn fetch(&self, request: FetchRequest) -> FetchFuture<'_> {
        *lock(&self.last) = Some(request);
        let answer = self.answer.clone();
        Box::pin(async {
            answer.map(|(status, body)| FetchResponse { status, body: body.into_bytes(), max_age: None })
        })
    }
}

fn endpoint(status: u16, body: &str) -> Arc<Endpoint> {
    Arc::new(Endpoint { answer: Ok((status, body.to_owned())), last: Mutex::default() })
}

fn introspection(endpoint: &Arc<Endpoint>, client: ClientCredentials) -> Introspection {
    let fetch = Arc::clone(endpoint) as Arc<dyn Fetch>;
    Introspection::new(
        "https://as.example/introspect",
        client,
        Some("https://as.example".into()),
        Audience::new(["https://h/mcp"]),
        fetch,
    )
}

fn basic() -> ClientCredentials {
    ClientCredentials::Basic { id: "my server".into(), secret: "p:ss%".into() }
}

async fn verify(body: &str) -> Result<VerifiedToken, VerifyError> {
    introspection(&endpoint(200, body), basic()).verify("opaque", NOW).await
}

const ACTIVE: &str = r#""active":true,"aud":"https://h/mcp/","sub":"alice","client_id":"c","scope":"a b""#;

const ACTIVE_WITHOUT_SUB: &str = r#"{"active":true,"aud":"https://h/mcp","client_id":"c",SUB}"#;

#[tokio::test]
async fn credentials_are_encoded_before_they_are_sent() {
    let answers = endpoint(200, &format!("{{{ACTIVE}}}"));
    introspection(&answers, basic()).verify("a+b/c=", NOW).await.unwrap();
    let form = lock(&answers.last).take().unwrap().form.unwrap();
    assert_eq!(form.body, "token=a%2Bb%2Fc%3D&token_type_hint=access_token");
    assert_eq!(form.authorization.unwrap(), format!("Basic {}", STANDARD.encode("my%20server:p%3Ass%25")));
    let post = ClientCredentials::Post { id: "my server".into(), secret: "p:ss%".into() };
    introspection(&answers, post).verify("t", NOW).await.unwrap();
    let form = lock(&answers.last).take().unwrap().form.unwrap();
    assert_eq!(form.authorization, None);
    assert!(form.body.ends_with("&client_id=my%20server&client_secret=p%3Ass%25"), "{}", form.body);
}

#[tokio::test]
async fn active_tokens_are_accepted() {
    let token = verify(&format!("{{{ACTIVE},\"exp\":{},\"cnf\":{{\"jkt\":\"t\"}}}}", NOW + 9)).await.unwrap();
    assert_eq!(token.subject.as_deref(), Some("alice"));
    assert_eq!(token.client_id.as_deref(), Some("c"));
    assert_eq!(token.scopes, ["a".into(), "b".into()]);
    assert_eq!((token.expires_at, token.cache_until), (NOW + 9, 0));
    assert_eq!(token.binding.dpop_key.as_deref(), Some("t"));
    assert_eq!(&*token.issuer, "https://as.example");
    assert_eq!(verify(&format!("{{{ACTIVE}}}")).await.unwrap().expires_at, NOW + 3600);
}

#[tokio::test]
async fn issuer_is_given_or_the_endpoint() {
    for (given, said, issuer) in [
        (Some("https://as.example"), "", "https://as.example"),
        (None, r#","iss":"https://said.example""#, "https://as.example/introspect"),
        (None, "", "https://as.example/introspect"),
    ] {
        let mut asked = introspection(&endpoint(200, &format!("{{{ACTIVE}{said}}}")), basic());
        asked.issuer = given.map(Into::into);
        assert_eq!(&*asked.verify("t", NOW).await.unwrap().issuer, issuer);
    }
}

#[tokio::test]
async fn other_tokens_are_refused() {
    for (body, error) in [
        (r#"{"active":false}"#.to_owned(), TokenError::Inactive),
        (r#"{"active":true}"#.to_owned(), TokenError::WrongAudience),
        (r#"{"active":true,"aud":"https://other"}"#.to_owned(), TokenError::WrongAudience),
        (r#"{"active":true,"aud":7}"#.to_owned(), TokenError::WrongAudience),
        (format!(r#"{{{ACTIVE},"iss":"https://evil.example"}}"#), TokenError::WrongIssuer),
        (format!(r#"{{{ACTIVE},"exp":{}}}"#, NOW - 61), TokenError::Expired),
        (format!(r#"{{{ACTIVE},"nbf":{}}}"#, NOW + 3600), TokenError::NotYetValid),
        (format!(r#"{{{ACTIVE},"cnf":{{}}}}"#), TokenError::UnknownBinding),
        (ACTIVE_WITHOUT_SUB.replace("SUB", r#""sub":7"#), TokenError::Malformed("its sub is not a string")),
        (ACTIVE_WITHOUT_SUB.replace("SUB", r#""sub":null"#), TokenError::Malformed("its sub is not a string")),
        (ACTIVE_WITHOUT_SUB.replace("SUB", r#""username":{}"#), TokenError::Malformed("its username is not a string")),
        (format!(r#"{{{ACTIVE},"iss":7}}"#), TokenError::Malformed("its iss is not a string")),
    ] {
        assert_eq!(verify(&body).await.unwrap_err(), VerifyError::Token(error), "{body}");
    }
    let long = "x".repeat(MAX_BYTES + 1);
    let refused = introspection(&endpoint(200, ""), basic()).verify(&long, NOW).await.unwrap_err();
    assert_eq!(refused, VerifyError::Token(TokenError::TooLarge));
}

#[tokio::test]
async fn audience_may_be_declared_optional() {
    let mut optional = introspection(&endpoint(200, r#"{"active":true}"#), basic());
    optional.audience_is_optional = true;
    optional.verify("t", NOW).await.unwrap();
    let mut other = introspection(&endpoint(200, r#"{"active":true,"aud":"https://other"}"#), basic());
    other.audience_is_optional = true;
    assert_eq!(other.verify("t", NOW).await.unwrap_err(), VerifyError::Token(TokenError::WrongAudience));
}

#[tokio::test]
async fn an_endpoint_that_does_not_answer_is_unavailable() {
    for (status, body) in
        [(500, "{}"), (401, "{}"), (302, ""), (200, "<html>"), (200, "{}"), (200, r#"{"active":"true"}"#)]
    {
        let outcome = introspection(&endpoint(status, body), basic()).verify("t", NOW).await;
        assert!(matches!(outcome, Err(VerifyError::Unavailable { .. })), "{status} {body}");
    }
    let down = Arc::new(Endpoint { answer: Err(FetchError("refused".to_owned())), last: Mutex::default() });
    assert!(matches!(introspection(&down, basic()).verify("t", NOW).await, Err(VerifyError::Unavailable { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_slow_endpoint_is_given_up() {
    struct Silent;
    impl Fetch for Silent {
        fn fetch(&self, _: FetchRequest) -> FetchFuture<'_> {
            Box::pin(std::future::pending())
        }
    }
    let audience = Audience::new(["https://h/mcp"]);
    let silent = Introspection::new("https://as.example/i", basic(), None, audience, Arc::new(Silent));
    let before = tokio::time::Instant::now();
    assert!(matches!(silent.verify("t", NOW).await, Err(VerifyError::Unavailable { .. })));
    assert_eq!(before.elapsed(), Duration::from_secs(10));
}

#[tokio::test]
async fn answers_are_cached_for_a_minute_if_asked_for() {
    let cache = TokenCache::of_opaque_tokens();
    for (is_cached, exp, until) in [(false, 3600, None), (true, 3600, Some(60)), (true, 20, Some(20))] {
        let answers = endpoint(200, &format!("{{{ACTIVE},\"exp\":{}}}", NOW + exp));
        let mut asked = introspection(&answers, basic());
        asked.is_cached = is_cached;
        let token = format!("token-{is_cached}-{exp}");
        cache.insert(&token, KnownUser::new(asked.verify(&token, NOW).await.unwrap()).unwrap());
        let is_cached = |now| cache.get(token.as_bytes(), clock::at(now).unwrap()).is_some();
        assert_eq!(is_cached(NOW), until.is_some());
        if let Some(until) = until {
            assert!(is_cached(NOW + until - 1) && !is_cached(NOW + until));
        }
    }
}

#[test]
fn secrets_are_not_shown() {
    let shown = format!("{:?}", introspection(&endpoint(200, ""), basic()));
    assert!(!shown.contains("p:ss") && !shown.contains("my server"), "{shown}");
    let request = introspection(&endpoint(200, ""), basic()).request("top-secret");
    assert!(!format!("{request:?}").contains("top-secret"));
}
