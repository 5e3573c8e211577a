//! Tokens that are bound to a key (`DPoP`, RFC 9449) or to a certificate (RFC 8705), over HTTP.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_runtime::auth::{Auth, Dpop};
use mcp_tests::fake_issuer::FakeIssuer;
use mcp_tests::http::{Ask, Response, Site, call, modern, stream_of};
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::document::get;
use super::issuers::{DOCUMENT, RESOURCE, name, refused, serving, whoami};
use super::{METADATA, challenge, with};

const ALGORITHMS: &str = r#"algs="RS256 PS256 ES256 EdDSA""#;

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn sha256(text: impl AsRef<[u8]>) -> String {
    encode(digest(&SHA256, text.as_ref()))
}

/// The key of a client.
struct Key {
    pair: EcdsaKeyPair,
    x: String,
    y: String,
}

impl Key {
    fn new() -> Self {
        let (algorithm, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap();
        let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
        let (x, y) = (encode(x), encode(y));
        Key { pair, x, y }
    }

    /// RFC 7638.
    fn thumbprint(&self) -> String {
        sha256(format!(r#"{{"crv":"P-256","kty":"EC","x":"{}","y":"{}"}}"#, self.x, self.y))
    }

    /// The token of a user that is bound to it.
    fn token(&self, issuer: &FakeIssuer, user: &str) -> String {
        issuer.sign(&json!({"aud": RESOURCE, "sub": user, "cnf": {"jkt": self.thumbprint()}}))
    }

    /// A proof for a POST with this token; `change` replaces claims, and `null` removes one.
    fn proof(&self, token: &str, change: &Value) -> String {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let id = NEXT.fetch_add(1, Ordering::Relaxed).to_string();
        let mut claims = json!({"jti": id, "htm": "POST", "htu": RESOURCE, "iat": now, "ath": sha256(token)});
        for (key, value) in change.as_object().unwrap() {
            match value {
                Value::Null => drop(claims.as_object_mut().unwrap().remove(key)),
                value => claims[key] = value.clone(),
            }
        }
        let jwk = json!({"kty": "EC", "crv": "P-256", "x": self.x, "y": self.y});
        let header = json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": jwk});
        let input = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let signature = self.pair.sign(&SystemRandom::new(), input.as_bytes()).unwrap();
        format!("{input}.{}", encode(signature))
    }
}

/// A call with a token of the scheme `DPoP` and a proof.
fn proven(token: &str, proof: &str) -> Ask {
    call("whoami", &json!({})).with("Authorization", format!("DPoP {token}")).with("DPoP", proof)
}

#[track_caller]
fn unproven(response: &Response, error: &str, words: &str) {
    assert_eq!(response.status, 401, "{words}: {response:?}");
    let challenge = challenge(response);
    let start = format!(r#"DPoP error="{error}", error_description=""#);
    assert!(challenge.starts_with(&start) && challenge.contains(words), "{words}: {challenge}");
    assert!(challenge.ends_with(&format!(r#"", {ALGORITHMS}, {METADATA}"#)), "{challenge}");
}

async fn site(issuer: &FakeIssuer, dpop: Dpop) -> Site {
    serving(Auth::jwt(&issuer.url).dpop(dpop)).await
}

#[tokio::test]
async fn bound_token_is_accepted_with_its_proof() {
    let (issuer, key) = (FakeIssuer::start().await, Key::new());
    for dpop in [Dpop::Allowed, Dpop::Required] {
        let site = site(&issuer, dpop).await;
        let token = key.token(&issuer, "alice");
        for scheme in ["DPoP", "dpop", "DPOP"] {
            let ask = call("whoami", &json!({})).with("Authorization", format!("{scheme} {token}"));
            assert_eq!(name(&site.ask(&ask.with("DPoP", key.proof(&token, &json!({})))).await), "alice");
        }
        // The same URL, written otherwise.
        let elsewhere = json!({"htu": "HTTPS://MCP.example.com:443/mcp?a=b#c"});
        assert_eq!(name(&site.ask(&proven(&token, &key.proof(&token, &elsewhere))).await), "alice");
        // Another method has proofs of its own.
        let get = |method: &str| {
            let proof = key.proof(&token, &json!({"htm": method}));
            stream_of("no-such-session").with("Authorization", format!("DPoP {token}")).with("DPoP", proof)
        };
        assert_eq!(site.ask(&get("GET")).await.status, 404, "it is let in");
        unproven(&site.ask(&get("POST")).await, "invalid_dpop_proof", "htm");
    }
}

#[tokio::test]
async fn bound_token_without_its_proof_is_refused() {
    let (issuer, key, other) = (FakeIssuer::start().await, Key::new(), Key::new());
    let site = site(&issuer, Dpop::Allowed).await;
    let token = key.token(&issuer, "alice");
    assert_eq!(name(&site.ask(&proven(&token, &key.proof(&token, &json!({})))).await), "alice", "so it is cached");
    // Whoever has stolen it.
    unproven(&whoami(&site, &token).await, "invalid_token", "not as Bearer");
    let with_proof = with(call("whoami", &json!({})), &token).with("DPoP", key.proof(&token, &json!({})));
    unproven(&site.ask(&with_proof).await, "invalid_token", "not as Bearer");
    unproven(&site.ask(&proven(&token, &other.proof(&token, &json!({})))).await, "invalid_token", "another key");
    let without = call("whoami", &json!({})).with("Authorization", format!("DPoP {token}"));
    unproven(&site.ask(&without).await, "invalid_dpop_proof", "exactly one DPoP header");
    let twice = proven(&token, &key.proof(&token, &json!({}))).with("DPoP", key.proof(&token, &json!({})));
    unproven(&site.ask(&twice).await, "invalid_dpop_proof", "exactly one DPoP header");
    let used = proven(&token, &key.proof(&token, &json!({})));
    assert_eq!(name(&site.ask(&used).await), "alice");
    unproven(&site.ask(&used).await, "invalid_dpop_proof", "used before");
}

#[tokio::test]
async fn proof_for_something_else_is_refused() {
    let (issuer, key) = (FakeIssuer::start().await, Key::new());
    let site = site(&issuer, Dpop::Required).await;
    let token = key.token(&issuer, "alice");
    let another = key.token(&issuer, "bob");
    let table = [
        (json!({"htm": "GET"}), "htm"),
        (json!({"htm": "post"}), "htm"),
        (json!({"htm": null}), "htm"),
        (json!({"htu": "https://other.example/mcp"}), "htu"),
        (json!({"htu": "https://mcp.example.com/"}), "htu"),
        (json!({"htu": null}), "htu"),
        (json!({"iat": 1}), "iat"),
        (json!({"iat": null}), "iat"),
        (json!({"ath": sha256(&another)}), "ath"),
        (json!({"ath": null}), "ath"),
        (json!({"jti": null}), "jti"),
    ];
    for (change, words) in table {
        let response = site.ask(&proven(&token, &key.proof(&token, &change))).await;
        unproven(&response, "invalid_dpop_proof", words);
    }
    for proof in ["", "x", "a.b.c", &token] {
        unproven(&site.ask(&proven(&token, proof)).await, "invalid_dpop_proof", "");
    }
}

#[tokio::test]
async fn tokens_without_a_key_are_for_bearer() {
    let (issuer, key) = (FakeIssuer::start().await, Key::new());
    let token = issuer.access_token(RESOURCE, "alice", "");
    let proof = || key.proof(&token, &json!({}));
    let allowing = site(&issuer, Dpop::Allowed).await;
    assert_eq!(name(&whoami(&allowing, &token).await), "alice");
    refused(&allowing.ask(&proven(&token, &proof())).await, "send it as Bearer");
    let requiring = site(&issuer, Dpop::Required).await;
    unproven(&whoami(&requiring, &token).await, "invalid_token", "requires");
    unproven(&requiring.ask(&proven(&token, &proof())).await, "invalid_token", "requires");
    unproven(&whoami(&requiring, "x").await, "invalid_token", "");
    // Without `dpop`, the scheme is one that is not known.
    let without = serving(Auth::jwt(&issuer.url)).await;
    let response = without.ask(&proven(&token, &proof())).await;
    assert_eq!((response.status, challenge(&response)), (401, &*format!("Bearer {METADATA}")));
}

#[tokio::test]
async fn challenges_and_document_say_what_is_accepted() {
    let (issuer, key) = (FakeIssuer::start().await, Key::new());
    let list = || modern("tools/list", json!({}));
    let algorithms = json!(["RS256", "PS256", "ES256", "EdDSA"]);
    let table = [
        (Dpop::Allowed, format!("Bearer {METADATA}, DPoP {ALGORITHMS}, {METADATA}"), Value::Null),
        (Dpop::Required, format!("DPoP {ALGORITHMS}, {METADATA}"), json!(true)),
    ];
    for (dpop, expected, is_required) in table {
        let site = site(&issuer, dpop).await;
        let response = site.ask(&list()).await;
        assert_eq!((response.status, challenge(&response)), (401, &*expected));
        let document = get(&site, &Ask::new("GET"), DOCUMENT).await.json();
        assert_eq!(document["dpop_signing_alg_values_supported"], algorithms);
        assert_eq!(document["dpop_bound_access_tokens_required"], is_required);
        let token = key.token(&issuer, "alice");
        let ask = call("write_note", &json!({"text": "hi"})).with("Authorization", format!("DPoP {token}"));
        let denied = site.ask(&ask.with("DPoP", key.proof(&token, &json!({})))).await;
        assert_eq!(denied.status, 403);
        assert!(challenge(&denied).starts_with(r#"DPoP error="insufficient_scope", scope="notes:write", "#));
    }
}

#[tokio::test]
async fn nonce_is_asked_for_and_then_accepted() {
    let (issuer, key) = (FakeIssuer::start().await, Key::new());
    let auth = || Auth::jwt(&issuer.url).dpop(Dpop::Required).dpop_nonces("a secret of all replicas");
    let (site, replica) = (serving(auth()).await, serving(auth()).await);
    let token = key.token(&issuer, "alice");
    let response = site.ask(&proven(&token, &key.proof(&token, &json!({})))).await;
    unproven(&response, "use_dpop_nonce", "nonce");
    let nonce = response.header("dpop-nonce").unwrap();
    for site in [&site, &replica] {
        assert_eq!(name(&site.ask(&proven(&token, &key.proof(&token, &json!({"nonce": nonce})))).await), "alice");
    }
    let response = site.ask(&proven(&token, &key.proof(&token, &json!({"nonce": "mine"})))).await;
    unproven(&response, "use_dpop_nonce", "nonce");
}

#[tokio::test]
async fn certificate_of_the_client_has_to_be_that_of_the_token() {
    let issuer = FakeIssuer::start().await;
    let auth = Auth::jwt(&issuer.url).certificate(|parts| {
        let value = parts.headers.get("x-client-certificate")?.to_str().ok()?;
        assert_ne!(value, "panic", "a hook with a mistake");
        URL_SAFE_NO_PAD.decode(value).ok()
    });
    let site = serving(auth).await;
    let bound = json!({"aud": RESOURCE, "sub": "alice", "cnf": {"x5t#S256": sha256("certificate")}});
    let token = issuer.sign(&bound);
    let ask = |certificate: &str| with(call("whoami", &json!({})), &token).with("X-Client-Certificate", certificate);
    assert_eq!(name(&site.ask(&ask(&encode("certificate"))).await), "alice");
    refused(&site.ask(&ask(&encode("another"))).await, "another client certificate");
    refused(&site.ask(&ask("panic")).await, "connect with that certificate");
    refused(&whoami(&site, &token).await, "connect with that certificate");
    assert_eq!(name(&whoami(&site, &issuer.access_token(RESOURCE, "bob", "")).await), "bob");
    let document = get(&site, &Ask::new("GET"), DOCUMENT).await.json();
    assert_eq!(document["tls_client_certificate_bound_access_tokens"], true);
}
