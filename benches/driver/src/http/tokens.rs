//! The tokens of callers, and the issuer who signs them.

use std::{
    rc::Rc,
    time::{SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    rsa::PublicKeyComponents,
    signature::{RSA_PKCS1_SHA256, RsaKeyPair},
};
use serde_json::{Value, json};

use crate::Result;

/// A key for these tokens alone: ring cannot generate RSA keys. RS256 is what most issuers use, and the worst case of both
/// bars: its signatures are the longest, and the cheapest to verify.
const KEY: &[u8] = include_bytes!("bench-only.pk8");
const KEY_ID: &str = "bench-2026";

/// The tokens of the requests of one client: each has the next one, round and round.
#[derive(Clone)]
pub struct Tokens {
    all: Rc<[String]>,
    at: usize,
}

impl Tokens {
    pub fn none() -> Self {
        Self::of(Vec::new())
    }

    pub fn of(all: Vec<String>) -> Self {
        Self { all: all.into(), at: 0 }
    }

    /// The token of the next request, if it has one.
    pub fn next(&mut self) -> Option<&str> {
        let token = self.all.get(self.at % self.all.len().max(1))?;
        self.at += 1;
        Some(token)
    }
}

/// An issuer of JWTs.
pub struct Issuer {
    key: RsaKeyPair,
    random: SystemRandom,
    /// In seconds since 1970.
    now: u64,
}

impl Issuer {
    pub fn new() -> Result<Self> {
        let key = RsaKeyPair::from_pkcs8(KEY).map_err(|error| format!("the key of the issuer: {error}"))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        Ok(Self { key, random: SystemRandom::new(), now })
    }

    /// Modulus and exponent of its key, as in a JSON Web Key.
    pub fn public_key(&self) -> [String; 2] {
        let PublicKeyComponents::<Vec<u8>> { n, e } = self.key.public().into();
        [n, e].map(encode)
    }

    /// Its keys, as a JSON Web Key Set.
    pub fn keys(&self) -> Value {
        let [n, e] = self.public_key();
        json!({ "keys": [{ "kty": "RSA", "use": "sig", "alg": "RS256", "kid": KEY_ID, "n": n, "e": e }] })
    }

    /// An access token, with the members that issuers put into one. Each number is another token of the same user.
    pub fn token(&self, number: usize) -> Result<String> {
        let header = json!({ "alg": "RS256", "typ": "at+jwt", "kid": KEY_ID });
        let claims = json!({
            "iss": "https://auth.example.com",
            "aud": "https://mcp.example.com/mcp",
            "sub": "9f1c6a2e-3f70-4c0a-9b51-0c64d2a7e8b3",
            "client_id": "https://client.example.com/metadata.json",
            "scope": "openid profile bench",
            "iat": self.now,
            "exp": self.now + 3600,
            "jti": format!("{number:032x}"),
        });
        let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let mut signature = vec![0; self.key.public().modulus_len()];
        let signing = self.key.sign(&RSA_PKCS1_SHA256, &self.random, signed.as_bytes(), &mut signature);
        signing.map_err(|_| "the token cannot be signed")?;
        Ok(format!("{signed}.{}", encode(signature)))
    }
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::{Issuer, Tokens};

    #[test]
    fn tokens_go_round() {
        let mut tokens = Tokens::of(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(
            [tokens.next().map(str::to_owned), tokens.next().map(str::to_owned)].map(Option::unwrap),
            ["a", "b"]
        );
        assert_eq!(tokens.next(), Some("a"));
        assert_eq!(Tokens::none().next(), None);
    }

    #[test]
    fn each_number_is_another_token() {
        let issuer = Issuer::new().unwrap();
        assert_ne!(issuer.token(1).unwrap(), issuer.token(2).unwrap());
        assert_eq!(issuer.token(1).unwrap().split('.').count(), 3);
    }
}
