//! [`Jwk`]: a public key as JSON (RFC 7517), what it may be used for, and its thumbprint (RFC 7638).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ring::digest;
use tokio::time::Instant;

use super::algorithm::{Algorithm, PublicKey};
use super::{base64url, json};
use crate::jsonrpc::object::Object;

/// The sizes of RSA keys, in bits. Below, they can be factored; above, a signature takes milliseconds.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

/// The members of private and symmetric keys.
const PRIVATE: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// A public key that verifies signatures.
#[derive(Debug, Clone)]
pub(crate) struct Jwk {
    pub(crate) id: Option<Box<str>>,
    key: PublicKey,
    /// The only algorithm it is for, if it says one.
    algorithm: Option<Algorithm>,
    pub(crate) trust: Arc<KeyTrust>,
}

/// Why a key is not used. Its text is for the operator's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JwkError {
    UnknownType,
    OtherUse,
    UnknownAlgorithm,
    RsaSize,
    Private,
    Malformed,
}

impl JwkError {
    pub(crate) fn reason(self) -> &'static str {
        match self {
            JwkError::UnknownType => {
                "its `kty` or `crv` is not supported (RSA, EC with P-256 or P-384, OKP with Ed25519)"
            }
            JwkError::OtherUse => "its `use` or `key_ops` is not for verifying signatures",
            JwkError::UnknownAlgorithm => "its `alg` is no supported signature algorithm",
            JwkError::RsaSize => "RSA keys need 2048 to 8192 bits",
            JwkError::Private => "it contains a private or symmetric key, which must not be published: replace it",
            JwkError::Malformed => "its members are malformed",
        }
    }
}

impl Jwk {
    pub(crate) fn read(object: &Object<'_>) -> Result<Self, JwkError> {
        let text = |key| json::optional_text(object, key).map_err(|_| JwkError::Malformed);
        if text("use")?.is_some_and(|usage| usage != "sig") {
            return Err(JwkError::OtherUse);
        }
        if let Some(operations) = object.get("key_ops") {
            let operations = json::texts(operations).ok_or(JwkError::Malformed)?;
            if !operations.iter().any(|operation| operation == "verify") {
                return Err(JwkError::OtherUse);
            }
        }
        if PRIVATE.iter().any(|member| object.get(member).is_some()) {
            return Err(JwkError::Private);
        }
        let algorithm = match text("alg")? {
            None => None,
            Some(name) => Some(Algorithm::from_name(&name).ok_or(JwkError::UnknownAlgorithm)?),
        };
        let key = public_key(object)?;
        if algorithm.is_some_and(|algorithm| !key.fits(algorithm)) {
            return Err(JwkError::UnknownAlgorithm);
        }
        let id = text("kid")?.map(|id| id.into_owned().into());
        Ok(Jwk { id, key, algorithm, trust: Arc::default() })
    }

    /// Whether the key is for signatures of this algorithm.
    pub(crate) fn fits(&self, algorithm: Algorithm) -> bool {
        self.algorithm.is_none_or(|only| only == algorithm) && self.key.fits(algorithm)
    }

    pub(crate) fn verifies(&self, algorithm: Algorithm, (message, signature): (&[u8], &[u8])) -> bool {
        self.fits(algorithm) && self.key.verifies(algorithm, message, signature)
    }

    /// Whether both are one key, under one name.
    pub(crate) fn is_same(&self, other: &Jwk) -> bool {
        self.id == other.id && self.algorithm == other.algorithm && self.key == other.key
    }

    /// The SHA-256 thumbprint, in base64url: the members that make the key, in order and without whitespace.
    pub(crate) fn thumbprint(&self) -> String {
        let encode = base64url::encode;
        let point = |name: &str, point: &[u8]| {
            let (x, y) = point[1..].split_at(point.len() / 2);
            format!(r#"{{"crv":"{name}","kty":"EC","x":"{}","y":"{}"}}"#, encode(x), encode(y))
        };
        let canonical = match &self.key {
            PublicKey::Rsa { n, e } => format!(r#"{{"e":"{}","kty":"RSA","n":"{}"}}"#, encode(e), encode(n)),
            PublicKey::P256(bytes) => point("P-256", bytes),
            PublicKey::P384(bytes) => point("P-384", bytes),
            PublicKey::Ed25519(x) => format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, encode(x)),
        };
        encode(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref())
    }
}

fn public_key(object: &Object<'_>) -> Result<PublicKey, JwkError> {
    let text = |key: &str| object.get(key).and_then(crate::jsonrpc::raw::Raw::text);
    let bytes = |key: &str| text(key).and_then(|text| base64url::decode(&text)).ok_or(JwkError::Malformed);
    let curve = text("crv").unwrap_or_default();
    let point = |size: usize| -> Result<Box<[u8]>, JwkError> {
        let (x, y) = (bytes("x")?, bytes("y")?);
        if x.len() != size || y.len() != size {
            return Err(JwkError::Malformed);
        }
        Ok([&[4][..], &x, &y].concat().into())
    };
    match (&*text("kty").ok_or(JwkError::Malformed)?, &*curve) {
        ("RSA", _) => {
            let (n, e) = (without_zeros(&bytes("n")?), without_zeros(&bytes("e")?));
            let bits = n.first().map_or(0, |first| n.len() * 8 - first.leading_zeros() as usize);
            if !RSA_BITS.contains(&bits) {
                return Err(JwkError::RsaSize);
            }
            Ok(PublicKey::Rsa { n, e })
        }
        ("EC", "P-256") => point(32).map(PublicKey::P256),
        ("EC", "P-384") => point(48).map(PublicKey::P384),
        ("OKP", "Ed25519") => match bytes("x")? {
            x if x.len() == 32 => Ok(PublicKey::Ed25519(x.into())),
            _ => Err(JwkError::Malformed),
        },
        _ => Err(JwkError::UnknownType),
    }
}

/// Some encoders write the sign byte of a DER integer, which is no part of the number.
fn without_zeros(number: &[u8]) -> Box<[u8]> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number[zeros..].into()
}

/// Until when signatures by a key are known to be good. Tokens that were verified with it hold it, too, so that a key
/// that its issuer removes takes them along, without a search for them.
#[derive(Debug)]
pub(crate) struct KeyTrust {
    since: Instant,
    /// In milliseconds after `since`; `FOREVER` for keys that do not change.
    until: AtomicU64,
}

const FOREVER: u64 = u64::MAX;

impl Default for KeyTrust {
    /// For as long as the process runs.
    fn default() -> Self {
        KeyTrust { since: Instant::now(), until: AtomicU64::new(FOREVER) }
    }
}

impl KeyTrust {
    /// Whether the key was published when its issuer was last asked, and the issuer need not be asked again yet.
    pub(crate) fn is_current(&self) -> bool {
        match self.until.load(Ordering::Relaxed) {
            FOREVER => true,
            until => self.since.elapsed().as_millis() < u128::from(until),
        }
    }

    pub(crate) fn extend(&self, until: Instant) {
        let millis = u64::try_from(until.saturating_duration_since(self.since).as_millis()).unwrap_or(FOREVER - 1);
        self.until.store(millis, Ordering::Relaxed);
    }

    /// Ends it now: the key is gone.
    pub(crate) fn revoke(&self) {
        self.until.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Jwk, JwkError> {
        Jwk::read(&json::object(text).unwrap())
    }

    const X: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

    #[test]
    fn keys_say_what_they_are_for() {
        let key = |more: &str| read(&format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{X}"{more}}}"#));
        let fits = key(r#","use":"sig","key_ops":["verify"],"alg":"EdDSA","kid":"1""#).unwrap();
        assert!(fits.fits(Algorithm::EdDsa) && !fits.fits(Algorithm::Es256));
        assert_eq!(fits.id.as_deref(), Some("1"));
        for (more, error) in [
            (r#","use":"enc""#, JwkError::OtherUse),
            (r#","key_ops":["sign"]"#, JwkError::OtherUse),
            (r#","key_ops":"#, JwkError::Malformed),
            (r#","alg":"ES256""#, JwkError::UnknownAlgorithm),
            (r#","alg":"HS256""#, JwkError::UnknownAlgorithm),
            (r#","alg":7"#, JwkError::Malformed),
            (r#","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A""#, JwkError::Private),
        ] {
            let more = if more.ends_with(':') { format!("{more}3") } else { more.to_owned() };
            assert_eq!(key(&more).unwrap_err(), error, "{more}");
        }
    }

    #[test]
    fn unsupported_keys_say_why() {
        let small = base64url::encode(&[0xff; 128]);
        let huge = base64url::encode(&[0xff; 1025]);
        for (text, error) in [
            (r#"{"kty":"oct","k":"c2VjcmV0"}"#.to_owned(), JwkError::Private),
            (r#"{"kty":"oct"}"#.to_owned(), JwkError::UnknownType),
            (r#"{"kty":"EC","crv":"secp256k1","x":"AA","y":"AA"}"#.to_owned(), JwkError::UnknownType),
            (r#"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#.to_owned(), JwkError::Malformed),
            (r#"{"kty":"OKP","crv":"X25519","x":"AA"}"#.to_owned(), JwkError::UnknownType),
            (r#"{"kty":"OKP","crv":"Ed25519","x":"AA"}"#.to_owned(), JwkError::Malformed),
            (r#"{"kid":"1"}"#.to_owned(), JwkError::Malformed),
            (format!(r#"{{"kty":"RSA","n":"{small}","e":"AQAB"}}"#), JwkError::RsaSize),
            (format!(r#"{{"kty":"RSA","n":"{huge}","e":"AQAB"}}"#), JwkError::RsaSize),
            (r#"{"kty":"RSA","n":"","e":"AQAB"}"#.to_owned(), JwkError::RsaSize),
        ] {
            assert_eq!(read(&text).unwrap_err(), error, "{text}");
        }
        // Not counted by its bytes: the first one may be a zero.
        let padded = base64url::encode(&[&[0][..], &[0x7f], &[0xff; 255]].concat());
        assert_eq!(read(&format!(r#"{{"kty":"RSA","n":"{padded}","e":"AQAB"}}"#)).unwrap_err(), JwkError::RsaSize);
    }

    #[test]
    fn trust_ends_and_is_extended() {
        let trust = KeyTrust::default();
        assert!(trust.is_current());
        trust.revoke();
        assert!(!trust.is_current());
        trust.extend(Instant::now() + std::time::Duration::from_secs(60 * 60));
        assert!(trust.is_current());
    }
}
