//! The tokens of `tests/tokens/mint.py`, good and hostile, each with its expected outcome.

use serde::Deserialize;

use crate::auth::jose::algorithm::{Algorithm, Algorithms};
use crate::auth::jose::audience::Audience;
use crate::auth::jose::claims::{TokenPolicy, VerifiedToken};
use crate::auth::jose::error::{TokenError, is_description};
use crate::auth::jose::key_set::KeySet;
use crate::auth::jose::token::UnverifiedToken;

#[derive(Deserialize)]
pub(crate) struct Fixture {
    pub(crate) now: u64,
    pub(crate) issuer: String,
    pub(crate) resource: String,
    pub(crate) jwks: serde_json::Value,
    pub(crate) tokens: Vec<Case>,
    pub(crate) dpop: DpopFixture,
}

#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) token: String,
    pub(crate) expected: String,
}

#[derive(Deserialize)]
pub(crate) struct DpopFixture {
    pub(crate) token: String,
    pub(crate) bound_to: String,
    pub(crate) proofs: Vec<Case>,
}

impl Fixture {
    pub(crate) fn read() -> Self {
        serde_json::from_str(include_str!("../../../../../tests/tokens/tokens.json")).unwrap()
    }

    pub(crate) fn keys(&self) -> KeySet {
        KeySet::parse(&self.jwks.to_string()).unwrap()
    }

    pub(crate) fn policy(&self) -> TokenPolicy {
        let policy = TokenPolicy::new(&*self.issuer, Audience::new([&*self.resource]));
        TokenPolicy { algorithms: Algorithms::of(Algorithm::ALL), ..policy }
    }

    pub(crate) fn token(&self, name: &str) -> &str {
        let case = self.tokens.iter().find(|case| case.name == name);
        &case.unwrap_or_else(|| panic!("`{name}` was not minted")).token
    }

    fn verify(&self, token: &str, policy: &TokenPolicy) -> Result<VerifiedToken, TokenError> {
        UnverifiedToken::parse(token)?.verify(&self.keys(), policy, self.now)
    }
}

#[test]
fn minted_tokens_have_the_expected_outcome() {
    let fixture = Fixture::read();
    let policy = fixture.policy();
    let mut wrong = Vec::new();
    for case in &fixture.tokens {
        let outcome = match fixture.verify(&case.token, &policy) {
            Ok(_) => "ok".to_owned(),
            Err(error) => {
                assert!(is_description(&error.to_string()), "{error}");
                format!("{error:?}")
            }
        };
        let variant = outcome.split('(').next().unwrap();
        if variant != case.expected && (case.expected != "refused" || variant == "ok") {
            wrong.push(format!("{}: {outcome}, not {}", case.name, case.expected));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let (good, bad) = (fixture.tokens.iter()).partition::<Vec<_>, _>(|case| case.expected == "ok");
    assert!(good.len() > 25 && bad.len() > 120, "{} {}", good.len(), bad.len());
}

#[test]
fn long_variants_are_refused_by_default() {
    let fixture = Fixture::read();
    let policy = TokenPolicy { algorithms: Algorithms::default(), ..fixture.policy() };
    for algorithm in Algorithm::ALL {
        let outcome = fixture.verify(fixture.token(algorithm.name()), &policy);
        if Algorithms::default().contains(algorithm) {
            outcome.unwrap();
        } else {
            assert_eq!(outcome.unwrap_err(), TokenError::Algorithm(policy.algorithms));
        }
    }
}

#[test]
fn claims_become_a_verified_token() {
    let fixture = Fixture::read();
    for name in ["ES256", "scp in a list", "scp as a string", "azp as client"] {
        let token = fixture.verify(fixture.token(name), &fixture.policy()).unwrap();
        assert_eq!(&*token.issuer, fixture.issuer);
        assert_eq!(token.subject.as_deref(), Some("alice"));
        assert_eq!(token.client_id.as_deref(), Some("client-1"));
        assert_eq!(token.scopes, ["notes:read".into(), "notes:write".into()]);
        assert_eq!(token.expires_at, fixture.now + 3600);
        assert!(token.key.as_ref().unwrap().is_current());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&token.claims).unwrap()["sub"], "alice");
        assert!(!format!("{token:?}").contains("claims"), "{token:?}");
    }
    let bound = fixture.verify(fixture.token("bound to a DPoP key"), &fixture.policy()).unwrap();
    assert_eq!(bound.binding.dpop_key.as_deref(), Some(&*fixture.dpop.bound_to));
    let bound = fixture.verify(fixture.token("bound to a certificate"), &fixture.policy()).unwrap();
    assert_eq!(bound.binding.certificate.unwrap().len(), 43);
}

#[test]
fn issuer_is_known_before_anything_is_verified() {
    let fixture = Fixture::read();
    let issuer = |name| UnverifiedToken::parse(fixture.token(name)).unwrap().issuer();
    assert_eq!(issuer("ES256").as_deref(), Some(&*fixture.issuer));
    assert_eq!(issuer("other iss").as_deref(), Some("https://evil.example"));
    assert_eq!(issuer("no iss"), None);
}

#[test]
fn hundred_kilobytes_are_refused() {
    let long = format!("{}.{}.c2ln", "e30", "e".repeat(100_000));
    assert_eq!(UnverifiedToken::parse(&long).unwrap_err(), TokenError::TooLarge);
}
