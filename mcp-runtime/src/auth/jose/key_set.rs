//! [`KeySet`]: the keys of an issuer (RFC 7517 §5), and the one that a token was signed with.

use super::algorithm::Algorithm;
use super::error::TokenError;
use super::json;
use super::jwk::{Jwk, JwkError};

/// Issuers have two or three keys; those with one per tenant, a few dozen.
const MAX_KEYS: usize = 100;

/// The public keys of an issuer.
#[derive(Debug, Default)]
pub(crate) struct KeySet {
    keys: Vec<Jwk>,
}

/// A text that is no key set. What it says is for the operator.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotAKeySet;

impl KeySet {
    /// Reads a set. Keys that are not supported are skipped: sets have keys for encryption and of new types, too.
    pub(crate) fn parse(text: &str) -> Result<Self, NotAKeySet> {
        let object = json::object(text).ok_or(NotAKeySet)?;
        let entries = object.get("keys").and_then(json::elements).ok_or(NotAKeySet)?;
        if entries.len() > MAX_KEYS {
            tracing::warn!("a key set has {} keys; all after the first {MAX_KEYS} are ignored", entries.len());
        }
        let mut keys = Vec::new();
        for (at, entry) in entries.into_iter().take(MAX_KEYS).enumerate() {
            match json::inner_object(entry).ok_or(JwkError::Malformed).and_then(|entry| Jwk::read(&entry)) {
                Ok(key) => keys.push(key),
                Err(error @ JwkError::Private) => {
                    tracing::error!("key {at} of a key set is not used: {}", error.reason());
                }
                Err(error) => tracing::debug!("key {at} of a key set is not used: {}", error.reason()),
            }
        }
        Ok(KeySet { keys })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The key that verifies a message.
    pub(crate) fn verify(
        &self,
        algorithm: Algorithm,
        key_id: Option<&str>,
        signed: (&[u8], &[u8]),
    ) -> Result<&Jwk, TokenError> {
        let Some(key_id) = key_id else { return self.verify_without_id(algorithm, signed) };
        let mut named = self.keys.iter().filter(|key| key.id.as_deref() == Some(key_id)).peekable();
        if named.peek().is_none() {
            return Err(TokenError::UnknownKey);
        }
        // Keys of different types may share an id (RFC 7517 §4.5).
        let mut fitting = named.filter(|key| key.fits(algorithm)).peekable();
        if fitting.peek().is_none() {
            return Err(TokenError::OtherAlgorithm);
        }
        fitting.find(|key| key.verifies(algorithm, signed)).ok_or(TokenError::BadSignature)
    }

    fn verify_without_id(&self, algorithm: Algorithm, signed: (&[u8], &[u8])) -> Result<&Jwk, TokenError> {
        let mut fitting = self.keys.iter().filter(|key| key.fits(algorithm));
        match (fitting.next(), fitting.next()) {
            (None, _) => Err(TokenError::UnknownKey),
            (Some(_), Some(_)) => Err(TokenError::AmbiguousKey),
            (Some(only), None) if only.verifies(algorithm, signed) => Ok(only),
            (Some(_), None) => Err(TokenError::BadSignatureWithoutKeyId),
        }
    }

    /// Takes the place of an earlier set of the same issuer: keys that are in both stay the same ones, and those that
    /// are gone are not trusted any more.
    pub(crate) fn replaces(&mut self, earlier: &KeySet) {
        for old in &earlier.keys {
            match self.keys.iter_mut().find(|key| key.is_same(old)) {
                Some(same) => same.trust = old.trust.clone(),
                None => old.trust.revoke(),
            }
        }
    }

    /// Trusts all keys until then.
    pub(crate) fn extend_trust(&self, until: tokio::time::Instant) {
        for key in &self.keys {
            key.trust.extend(until);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"a"}"#;
    const B: &str = r#"{"kty":"OKP","crv":"Ed25519","x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","kid":"b"}"#;

    fn set(keys: &[&str]) -> KeySet {
        KeySet::parse(&format!(r#"{{"keys":[{}]}}"#, keys.join(","))).unwrap()
    }

    #[test]
    fn unknown_entries_are_skipped() {
        let set = set(&[
            r#"{"kty":"AKP","alg":"ML-DSA-44","pub":"AA"}"#,
            "7",
            r#"{"kty":"oct","k":"AA"}"#,
            A,
            r#"{"a":1,"a":1}"#,
        ]);
        assert_eq!(set.keys.len(), 1);
        for other in ["", "[]", "{}", r#"{"keys":{}}"#, r#"{"keys":[],"keys":[]}"#] {
            assert_eq!(KeySet::parse(other).err(), Some(NotAKeySet), "{other}");
        }
        assert!(KeySet::parse(r#"{"keys":[]}"#).unwrap().is_empty());
    }

    #[test]
    fn sets_are_bounded() {
        assert_eq!(set(&[A; MAX_KEYS + 5]).keys.len(), MAX_KEYS);
    }

    #[test]
    fn a_key_is_found_by_its_id_or_by_being_the_only_one() {
        let find = |set: &KeySet, algorithm, id| set.verify(algorithm, id, (b"", b"")).err();
        let one = set(&[A]);
        assert_eq!(find(&one, Algorithm::EdDsa, Some("a")), Some(TokenError::BadSignature));
        assert_eq!(find(&one, Algorithm::EdDsa, Some("b")), Some(TokenError::UnknownKey));
        assert_eq!(find(&one, Algorithm::Rs256, Some("a")), Some(TokenError::OtherAlgorithm));
        assert_eq!(find(&one, Algorithm::EdDsa, None), Some(TokenError::BadSignatureWithoutKeyId));
        assert_eq!(find(&one, Algorithm::Rs256, None), Some(TokenError::UnknownKey));
        assert_eq!(find(&set(&[A, B]), Algorithm::EdDsa, None), Some(TokenError::AmbiguousKey));
    }

    #[test]
    fn keys_that_are_gone_are_not_trusted() {
        let earlier = set(&[A, B]);
        let (a, b) = (earlier.keys[0].trust.clone(), earlier.keys[1].trust.clone());
        let mut next = set(&[A]);
        next.replaces(&earlier);
        assert!(a.is_current() && !b.is_current());
        assert!(std::sync::Arc::ptr_eq(&next.keys[0].trust, &a));
        // The same id with another key is another key.
        let mut replaced = set(&[&B.replace("\"b\"", "\"a\"")]);
        replaced.replaces(&next);
        assert!(!a.is_current());
    }
}
