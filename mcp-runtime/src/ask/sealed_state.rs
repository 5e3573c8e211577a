//! Sealing what a client keeps for the server between the rounds of a call: it can neither read it nor
//! change it, nor use it for another call.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fmt, io};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf;

use crate::random;

/// What every key is derived for; another form of the state gets another.
const PURPOSE: &[u8] = b"mcp requestState 1";
const SALT: usize = 24;
/// The shortest secret: 256 bits, if it is random.
const SHORTEST: usize = 32;

/// The secrets states are sealed with: the first seals, all of them open.
#[derive(Default)]
pub(crate) struct StateSealer {
    given: Vec<Box<[u8]>>,
    /// Made when it is needed first, where none are given.
    own: OnceLock<[u8; 32]>,
    /// Whether it was told that something did not open.
    wondered: AtomicBool,
}

impl StateSealer {
    /// What is wrong with the secrets, if anything is.
    pub(crate) fn new(given: Vec<Box<[u8]>>) -> Result<Self, String> {
        if given.is_empty() {
            return Err("`secrets` needs at least one; leave it out for one that lives as long as the process".into());
        }
        match given.iter().find(|secret| secret.len() < SHORTEST) {
            Some(short) => Err(format!(
                "a secret of {} bytes is too short: use at least {SHORTEST} random ones (`openssl rand -base64 32`)",
                short.len()
            )),
            None => Ok(StateSealer { given, ..Self::default() }),
        }
    }

    /// Seals `text`, to be opened for the same `purpose` only.
    pub(crate) fn seal(&self, mut text: Vec<u8>, purpose: &[u8]) -> io::Result<String> {
        let mut salt = [0; SALT];
        random::fill(&mut salt)?;
        let broken = |_| io::Error::other("sealing failed");
        key(self.current()?, &salt)
            .and_then(|key| key.seal_in_place_append_tag(nonce(), Aad::from(purpose), &mut text))
            .map_err(broken)?;
        Ok(BASE64.encode([&salt[..], &text].concat()))
    }

    /// What was sealed for this purpose, if it is that.
    pub(crate) fn open(&self, sealed: &str, purpose: &[u8]) -> Option<Vec<u8>> {
        let bytes = BASE64.decode(sealed).ok()?;
        let (salt, text) = bytes.split_at_checked(SALT)?;
        let own = self.own.get().map(|own| &own[..]);
        self.given.iter().map(|secret| &**secret).chain(own).find_map(|secret| {
            let mut text = text.to_vec();
            let length = key(secret, salt).ok()?.open_in_place(nonce(), Aad::from(purpose), &mut text).ok()?.len();
            text.truncate(length);
            Some(text)
        })
    }

    /// Tells once that something did not open: clients can send such things as often as they like.
    pub(crate) fn warn_once(&self) {
        if !self.wondered.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "a client came back with a state that does not open here, told once: if it was not made up, it is of \
                 another call or of another process; do all replicas have the same `Server::secrets`?"
            );
        }
    }

    fn current(&self) -> io::Result<&[u8]> {
        if let Some(first) = self.given.first() {
            return Ok(first);
        }
        if self.own.get().is_none() {
            let mut own = [0; 32];
            random::fill(&mut own)?;
            // Two at once: both use the one that was first.
            if self.own.set(own).is_ok() {
                tracing::info!(
                    "calls that ask are sealed with a secret of this process: after a restart, or behind a load \
                     balancer at another replica, their retries are refused. `Server::secrets` shares one"
                );
            }
        }
        self.own.get().map(|own| &own[..]).ok_or_else(|| io::Error::other("no secret"))
    }
}

impl fmt::Debug for StateSealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateSealer").field("given", &self.given.len()).finish_non_exhaustive()
    }
}

/// A key of its own for every state, so that no nonce is ever used twice with one.
fn key(secret: &[u8], salt: &[u8]) -> Result<LessSafeKey, ring::error::Unspecified> {
    let derived = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(secret);
    let key: UnboundKey = derived.expand(&[PURPOSE], &aead::CHACHA20_POLY1305)?.into();
    Ok(LessSafeKey::new(key))
}

fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; aead::NONCE_LEN])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(all: &[&str]) -> StateSealer {
        StateSealer::new(all.iter().map(|secret| secret.as_bytes().into()).collect()).unwrap()
    }

    const OLD: &str = "an old secret, long enough to be one";
    const NEW: &str = "a new secret, and long enough as well";

    #[test]
    fn what_was_sealed_opens_for_the_same_purpose_only() {
        let sealed = secrets(&[NEW]).seal(b"text".to_vec(), b"call").unwrap();
        assert_eq!(secrets(&[NEW]).open(&sealed, b"call").as_deref(), Some(&b"text"[..]));
        assert_eq!(secrets(&[NEW]).open(&sealed, b"another call"), None);
        assert_eq!(secrets(&[OLD]).open(&sealed, b"call"), None);
        assert_eq!(StateSealer::default().open(&sealed, b"call"), None);
    }

    #[test]
    fn a_secret_can_be_replaced() {
        let sealed = secrets(&[OLD]).seal(b"text".to_vec(), b"").unwrap();
        assert!(secrets(&[NEW, OLD]).open(&sealed, b"").is_some());
        let sealed = secrets(&[NEW, OLD]).seal(b"text".to_vec(), b"").unwrap();
        assert!(secrets(&[NEW]).open(&sealed, b"").is_some(), "the first seals");
    }

    #[test]
    fn no_byte_can_be_changed() {
        let secrets = StateSealer::default();
        let sealed = secrets.seal(b"text".to_vec(), b"call").unwrap();
        assert!(secrets.open(&sealed, b"call").is_some());
        for at in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(secrets.open(&String::from_utf8(changed).unwrap(), b"call"), None, "at {at}");
            assert_eq!(secrets.open(&sealed[..at], b"call"), None, "cut at {at}");
        }
        for more in ["A", "-TAMPERED", "=", "\n", " "] {
            assert_eq!(secrets.open(&format!("{sealed}{more}"), b"call"), None, "{more:?} added");
        }
    }

    #[test]
    fn the_same_is_never_sealed_to_the_same() {
        let secrets = StateSealer::default();
        let seal = || secrets.seal(b"text".to_vec(), b"call").unwrap();
        assert_ne!(seal(), seal());
    }

    #[test]
    fn secrets_are_long_and_not_told() {
        assert!(StateSealer::new(Vec::new()).unwrap_err().contains("at least one"));
        assert!(StateSealer::new(vec![b"short".as_slice().into()]).unwrap_err().contains("5 bytes"));
        assert!(!format!("{:?}", secrets(&[NEW])).contains("secret,"));
    }
}
