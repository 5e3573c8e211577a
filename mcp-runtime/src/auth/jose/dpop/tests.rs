//! Proofs minted by joserfc, and the example of RFC 9449.

use super::*;
use crate::auth::jose::error::is_description;
use crate::auth::jose::tests::minted::Fixture;

fn request<'a>(fixture: &'a Fixture, proof: &'a str) -> ProvenRequest<'a> {
    ProvenRequest {
        proof,
        method: "POST",
        url: &fixture.resource,
        access_token: &fixture.dpop.token,
        bound_to: &fixture.dpop.bound_to,
    }
}

#[test]
fn minted_proofs_have_the_expected_outcome() {
    let fixture = Fixture::read();
    let checker = DpopChecker::default();
    for case in &fixture.dpop.proofs {
        let outcome = checker.check(&request(&fixture, &case.token), fixture.now);
        let variant = match outcome {
            Ok(()) => "ok".to_owned(),
            Err(error) => {
                assert!(is_description(&error.to_string()), "{error}");
                format!("{error:?}").split('(').next().unwrap().to_owned()
            }
        };
        assert_eq!(variant, case.expected, "{}: {outcome:?}", case.name);
    }
}

#[test]
fn a_proof_is_accepted_once() {
    let fixture = Fixture::read();
    let checker = DpopChecker::default();
    let proof = &fixture.dpop.proofs[0].token;
    checker.check(&request(&fixture, proof), fixture.now).unwrap();
    let again = checker.check(&request(&fixture, proof), fixture.now).unwrap_err();
    assert_eq!((again, again.code()), (DpopError::Invalid("its jti was used before"), "invalid_dpop_proof"));
    assert!(DpopChecker::default().check(&request(&fixture, proof), fixture.now + 301).is_err());
}

#[test]
fn a_nonce_is_asked_for_and_then_accepted() {
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};

    let random = SystemRandom::new();
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
    let key = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap();
    let (x, y) = key.public_key().as_ref()[1..].split_at(32);
    let (x, y) = (base64url::encode(x), base64url::encode(y));
    let jwk = format!(r#"{{"kty":"EC","crv":"P-256","x":"{x}","y":"{y}"}}"#);
    let bound_to = Jwk::read(&json::object(&jwk).unwrap()).unwrap().thumbprint();
    let ath = base64url::encode(digest::digest(&digest::SHA256, b"token").as_ref());
    let proof = |more: &str| {
        let header = format!(r#"{{"typ":"dpop+jwt","alg":"ES256","jwk":{jwk}}}"#);
        let claims = format!(r#"{{"jti":"1","htm":"GET","htu":"https://h/","iat":1000,"ath":"{ath}"{more}}}"#);
        let input = format!("{}.{}", base64url::encode(header.as_bytes()), base64url::encode(claims.as_bytes()));
        let signature = key.sign(&random, input.as_bytes()).unwrap();
        format!("{input}.{}", base64url::encode(signature.as_ref()))
    };
    let checker = DpopChecker::default().with_nonces(b"secret");
    let check = |proof: &str| {
        let request =
            ProvenRequest { proof, method: "GET", url: "https://h", access_token: "token", bound_to: &bound_to };
        checker.check(&request, 1000)
    };
    assert_eq!(check(&proof("")), Err(DpopError::UseNonce));
    assert_eq!(check(&proof(r#","nonce":"AAAA""#)), Err(DpopError::UseNonce));
    let nonce = checker.nonce(1000).unwrap();
    check(&proof(&format!(r#","nonce":"{nonce}""#))).unwrap();
    assert_eq!(DpopChecker::default().nonce(1000), None);
}

/// RFC 9449 §7.1, Figure 12.
#[test]
fn example_of_the_rfc_is_accepted() {
    let proof = "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpD\
                 a0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAt\
                 MjU2In19.eyJqdGkiOiJlMWozVl9iS2ljOC1MQUVCIiwiaHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly9yZXNvdXJjZS5leGFtcGxlLm9yZy9w\
                 cm90ZWN0ZWRyZXNvdXJjZSIsImlhdCI6MTU2MjI2MjYxOCwiYXRoIjoiZlVIeU8ycjJaM0RaNTNFc05yV0JiMHhXWG9hTnk1OUlpS0NBcWtz\
                 bVFFbyJ9.2oW9RP35yRqzhrtNP86L-Ey71EOptxRimPPToA1plemAgR6pxHF8y6-yqyVnmcw6Fy1dqd-jfxSYoMxhAJpLjA";
    let request = ProvenRequest {
        proof,
        method: "GET",
        url: "https://resource.example.org/protectedresource",
        access_token: "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU",
        bound_to: "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I",
    };
    DpopChecker::default().check(&request, 1_562_262_618).unwrap();
    assert!(matches!(DpopChecker::default().check(&request, 1_700_000_000), Err(DpopError::Invalid(_))));
    let other = ProvenRequest { bound_to: "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2", ..request };
    assert_eq!(DpopChecker::default().check(&other, 1_562_262_618), Err(DpopError::OtherKey));
}
