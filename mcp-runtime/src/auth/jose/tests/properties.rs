//! Random and damaged texts: refused, without a panic.

use proptest::prelude::*;

use super::minted::Fixture;
use crate::auth::jose::base64url;
use crate::auth::jose::dpop::{DpopChecker, ProvenRequest};
use crate::auth::jose::key_set::KeySet;
use crate::auth::jose::token::UnverifiedToken;

proptest! {
    #[test]
    fn random_texts_are_refused(text in ".{0,200}") {
        refused(&text);
    }

    #[test]
    fn random_segments_are_refused(segments in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..6)) {
        let segments: Vec<String> = segments.iter().map(|bytes| base64url::encode(bytes)).collect();
        refused(&segments.join("."));
    }

    #[test]
    fn damaged_tokens_are_refused(which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte in any::<char>()) {
        let fixture = Fixture::read();
        let good: Vec<_> = fixture.tokens.iter().filter(|case| case.expected == "ok").collect();
        let mut damaged: Vec<char> = which.get(&good).token.chars().collect();
        let place = at.index(damaged.len());
        prop_assume!(damaged[place] != byte);
        damaged[place] = byte;
        refused(&damaged.iter().collect::<String>());
    }

    #[test]
    fn random_key_sets_do_not_panic(text in r#"\{"keys":\[(\{"kty":"(RSA|EC|OKP)"(,"(n|e|x|y|crv|alg|use|key_ops|kid)":("[A-Za-z0-9_-]{0,9}"|1|\[\]|\{\}|null)){0,4}\},?){0,4}\]\}"#) {
        if let Ok(keys) = KeySet::parse(&text) {
            let fixture = Fixture::read();
            let token = UnverifiedToken::parse(fixture.token("ES256")).unwrap();
            prop_assert!(token.verify(&keys, &fixture.policy(), fixture.now).is_err());
        }
    }
}

fn refused(text: &str) {
    let fixture = Fixture::read();
    let outcome =
        UnverifiedToken::parse(text).and_then(|token| token.verify(&fixture.keys(), &fixture.policy(), fixture.now));
    assert!(outcome.is_err(), "{text}");
    let request = ProvenRequest { proof: text, method: "POST", url: "https://h/", access_token: "", bound_to: "" };
    assert!(DpopChecker::default().check(&request, fixture.now).is_err());
}
