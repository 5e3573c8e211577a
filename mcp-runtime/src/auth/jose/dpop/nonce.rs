//! [`Nonces`]: nonces that need no memory. Each is the time it was issued, authenticated with HMAC, so that any replica
//! with the secret knows its own (RFC 9449 §9). The time is not secret, so nothing is encrypted.

use ring::hmac;

use crate::auth::jose::base64url;

/// How long a nonce is accepted, in seconds.
const LIFETIME: u64 = 300;
const TIME_BYTES: usize = 8;
/// Derives a key of its own from a secret that has other uses.
const PURPOSE: &[u8] = b"mcp dpop nonce 1";

/// Issues nonces and knows them again.
#[derive(Debug)]
pub(crate) struct Nonces {
    key: hmac::Key,
}

impl Nonces {
    pub(crate) fn new(secret: &[u8]) -> Self {
        let derived = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), PURPOSE);
        Nonces { key: hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()) }
    }

    pub(crate) fn issue(&self, now: u64) -> String {
        let time = now.to_be_bytes();
        let tag = hmac::sign(&self.key, &time);
        base64url::encode(&[&time[..], tag.as_ref()].concat())
    }

    pub(crate) fn accepts(&self, nonce: &str, now: u64) -> bool {
        let Some(bytes) = base64url::decode(nonce) else { return false };
        let Some((time, tag)) = bytes.split_first_chunk::<TIME_BYTES>() else { return false };
        hmac::verify(&self.key, time, tag).is_ok() && u64::from_be_bytes(*time).abs_diff(now) <= LIFETIME
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonces_are_known_and_expire() {
        let (nonces, other) = (Nonces::new(b"secret"), Nonces::new(b"other"));
        let nonce = nonces.issue(1000);
        assert!(nonces.accepts(&nonce, 1000) && nonces.accepts(&nonce, 1000 + LIFETIME));
        assert!(Nonces::new(b"secret").accepts(&nonce, 1000), "of a replica");
        assert!(!nonces.accepts(&nonce, 1001 + LIFETIME));
        assert!(!other.accepts(&nonce, 1000));
        for forged in ["", "AAAA", &nonce[1..], &nonce[..nonce.len() - 1], &nonce.replace(&nonce[..4], "AAAB")] {
            assert!(!nonces.accepts(forged, 1000), "{forged}");
        }
    }
}
