//! Entry points for the fuzz target of access tokens.

use ring::signature::Ed25519KeyPair;

use crate::auth::jose::algorithm::{Algorithm, Algorithms};
use crate::auth::jose::audience::Audience;
use crate::auth::jose::base64url;
use crate::auth::jose::claims::TokenPolicy;
use crate::auth::jose::dpop::{DpopChecker, ProvenRequest};
use crate::auth::jose::key_set::KeySet;
use crate::auth::jose::token::UnverifiedToken;

/// The issuer of accepted tokens.
pub const ISSUER: &str = "https://issuer.example";
/// The audience of accepted tokens.
pub const RESOURCE: &str = "https://mcp.example/mcp";
/// The time it is, in seconds.
pub const NOW: u64 = 2_000_000_000;

/// Whether a token is accepted that is signed by a fixed Ed25519 key. The same texts are read as a proof, and as segments.
pub fn is_accepted(header: &str, claims: &str, keys: &str) -> bool {
    let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).expect("32 bytes are a seed");
    let input = format!("{}.{}", base64url::encode(header.as_bytes()), base64url::encode(claims.as_bytes()));
    let token = format!("{input}.{}", base64url::encode(key.sign(input.as_bytes()).as_ref()));
    let keys = KeySet::parse(keys).unwrap_or_default();
    let policy = TokenPolicy::new(ISSUER, Audience::new([RESOURCE]));
    let policy = TokenPolicy { algorithms: Algorithms::of(Algorithm::ALL), ..policy };
    let verify = |token: &str| UnverifiedToken::parse(token).and_then(|token| token.verify(&keys, &policy, NOW));
    let raw = format!("{header}.{claims}.");
    assert!(verify(&raw).is_err(), "nothing is accepted without a signature");
    let request =
        ProvenRequest { proof: &token, method: "POST", url: RESOURCE, access_token: "token", bound_to: "nobody" };
    assert!(DpopChecker::default().check(&request, NOW).is_err(), "no key has this thumbprint");
    verify(&token).is_ok()
}
