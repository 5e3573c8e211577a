//! Sealing the state that a client carries between the rounds of a call: the client cannot read it, change it,
//! or use it for another call.
//!
//! Each state has its own key, derived from the secret and a random salt, so that no nonce is used twice with one
//! key, however many states a fleet seals. The server's name, principal, method and arguments (`binding`) are
//! authenticated with the state and not part of it: for another call it does not open.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
#[cfg(feature = "http")]
use std::time::Duration;
use std::{fmt, io};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf;

use crate::error::PAGE;
use crate::random;
#[cfg(feature = "http")]
use crate::store::{DynBackend, Unavailable, with_timeout};
#[cfg(feature = "http")]
use crate::sync::spawn;

/// The `info` of the key derivation. A new format of the state gets a new one.
const KEY_INFO: &[u8] = b"mcp requestState 2";
const SALT_BYTES: usize = 24;
const TAG_BYTES: usize = 16;
/// The minimum length of a secret: 256 bits, if it is random.
const MIN_SECRET_BYTES: usize = 32;

/// Seals states with the first of its secrets, and opens them with any.
#[derive(Default)]
pub(crate) struct StateSealer {
    /// The secrets that the user configured.
    given: Vec<Box<[u8]>>,
    /// Generated on first use, if none are configured.
    own: OnceLock<Box<[u8]>>,
    /// Where replicas agree on a secret, which takes the place of their own.
    #[cfg(feature = "http")]
    agreement: Option<Agreement>,
    /// Whether the warning about a state that does not open was logged.
    warned: AtomicBool,
}

impl StateSealer {
    /// A sealer with these secrets, or what is wrong with them.
    pub(crate) fn new(given: Vec<Box<[u8]>>) -> Result<Self, String> {
        if given.is_empty() {
            return Err(
                "`state_secrets` needs at least one; without the option, a secret is generated per process".into()
            );
        }
        match given.iter().find(|secret| secret.len() < MIN_SECRET_BYTES) {
            Some(short) => Err(format!(
                "a secret of {} bytes is too short: use at least {MIN_SECRET_BYTES} random bytes (`openssl rand -base64 32`)",
                short.len()
            )),
            None => Ok(StateSealer { given, ..Self::default() }),
        }
    }

    /// A sealer whose secret is agreed on by all replicas.
    #[cfg(feature = "http")]
    pub(crate) fn agreeing(source: Arc<dyn DynBackend>) -> Self {
        StateSealer { agreement: Some(Agreement { source, asking: AtomicBool::new(false) }), ..Self::default() }
    }

    /// Whether the user configured any.
    #[cfg(feature = "http")]
    pub(crate) fn has_secrets(&self) -> bool {
        !self.given.is_empty()
    }

    /// Asks the backend for the secret that replicas agree on, if there is one and it is not known yet.
    #[cfg(feature = "http")]
    pub(crate) async fn agree(&self) {
        let Some(Agreement { source, asking }) = self.agreement.as_ref().filter(|_| self.own.get().is_none()) else {
            return;
        };
        if asking.swap(true, Ordering::Relaxed) {
            return;
        }
        match with_timeout(AGREEMENT_TIMEOUT, "secret", source.secret()).await {
            Ok(secret) if secret.len() >= MIN_SECRET_BYTES => drop(self.own.set(secret.into())),
            Ok(_) => tracing::error!("the secret of the backend has less than {MIN_SECRET_BYTES} bytes"),
            // Logged already.
            Err(Unavailable) => {}
        }
        asking.store(false, Ordering::Relaxed);
    }

    /// Whether states can be sealed and opened: not before replicas have agreed on a secret. If they have not, because
    /// the backend was away, it is asked again.
    #[cfg_attr(not(feature = "http"), expect(clippy::unused_self, reason = "as with HTTP"))]
    pub(crate) fn is_ready(self: &Arc<Self>) -> bool {
        #[cfg(feature = "http")]
        if self.agreement.is_some() && self.own.get().is_none() {
            let sealer = Arc::clone(self);
            spawn(async move { sealer.agree().await });
            return false;
        }
        true
    }

    /// Seals `text`. It opens with the same `binding` only.
    pub(crate) fn seal(&self, mut text: Vec<u8>, binding: &[u8]) -> io::Result<String> {
        let mut salt = [0; SALT_BYTES];
        random::fill(&mut salt)?;
        let broken = |_| io::Error::other("sealing failed");
        key(self.current()?, &salt)
            .and_then(|key| key.seal_in_place_append_tag(nonce(), Aad::from(binding), &mut text))
            .map_err(broken)?;
        Ok(BASE64.encode([&salt[..], &text].concat()))
    }

    /// Whether a text has a length that a sealed text of up to `bytes` can have. Checked before anything is decoded.
    pub(crate) fn may_be_sealed(sealed: &str, bytes: usize) -> bool {
        let overhead = SALT_BYTES + TAG_BYTES;
        let longest = bytes.saturating_add(overhead).div_ceil(3).saturating_mul(4);
        (overhead..=longest).contains(&sealed.len())
    }

    /// The text that was sealed with this binding. `None` if it was sealed by another server, with another
    /// binding, or not at all.
    pub(crate) fn open(&self, sealed: &str, binding: &[u8]) -> Option<Vec<u8>> {
        let bytes = BASE64.decode(sealed).ok()?;
        let (salt, text) = bytes.split_at_checked(SALT_BYTES)?;
        let own = self.own.get().map(|own| &own[..]);
        self.given.iter().map(|secret| &**secret).chain(own).find_map(|secret| {
            let mut text = text.to_vec();
            let length = key(secret, salt).ok()?.open_in_place(nonce(), Aad::from(binding), &mut text).ok()?.len();
            text.truncate(length);
            Some(text)
        })
    }

    /// Warns once that a state did not open. Not each time: clients could flood the log.
    pub(crate) fn warn_once(&self) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "a client retried a call with a `requestState` that does not open (logged once): it is forged, or from \
                 another call or another process; do all replicas have the same `Server::state_secrets`? see \
                 {PAGE}#states-that-do-not-open"
            );
        }
    }

    fn current(&self) -> io::Result<&[u8]> {
        if let Some(first) = self.given.first() {
            return Ok(first);
        }
        #[cfg(feature = "http")]
        if self.agreement.is_some() {
            let agreed = self.own.get().map(|own| &own[..]);
            return agreed.ok_or_else(|| io::Error::other("the replicas have not agreed on a secret yet"));
        }
        if self.own.get().is_none() {
            let mut own = [0; 32];
            random::fill(&mut own)?;
            // If two threads race, both use the secret of the first.
            if self.own.set(own.into()).is_ok() {
                tracing::info!(
                    "`requestState` is sealed with a secret of this process: retries after a restart, or at another \
                     replica, are rejected. Set `Server::state_secrets` to share one"
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

/// How replicas come to have one secret.
#[cfg(feature = "http")]
struct Agreement {
    source: Arc<dyn DynBackend>,
    /// Whether the backend is being asked.
    asking: AtomicBool,
}

/// How long the backend may take to tell the secret.
#[cfg(feature = "http")]
const AGREEMENT_TIMEOUT: Duration = Duration::from_secs(1);

/// Derives a key for each state, so that no nonce is used twice with one key.
fn key(secret: &[u8], salt: &[u8]) -> Result<LessSafeKey, ring::error::Unspecified> {
    let derived = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(secret);
    let key: UnboundKey = derived.expand(&[KEY_INFO], &aead::CHACHA20_POLY1305)?.into();
    Ok(LessSafeKey::new(key))
}

fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; aead::NONCE_LEN])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealer(all: &[&str]) -> StateSealer {
        StateSealer::new(all.iter().map(|secret| secret.as_bytes().into()).collect()).unwrap()
    }

    const OLD: &str = "an old secret, long enough to be one";
    const NEW: &str = "a new secret, and long enough as well";

    #[test]
    fn state_opens_with_the_same_binding_only() {
        let sealed = sealer(&[NEW]).seal(b"text".to_vec(), b"call").unwrap();
        assert_eq!(sealer(&[NEW]).open(&sealed, b"call").as_deref(), Some(&b"text"[..]));
        assert_eq!(sealer(&[NEW]).open(&sealed, b"another call"), None);
        assert_eq!(sealer(&[OLD]).open(&sealed, b"call"), None);
        assert_eq!(StateSealer::default().open(&sealed, b"call"), None);
    }

    #[test]
    fn old_secrets_open_and_the_first_seals() {
        let sealed = sealer(&[OLD]).seal(b"text".to_vec(), b"").unwrap();
        assert!(sealer(&[NEW, OLD]).open(&sealed, b"").is_some());
        let sealed = sealer(&[NEW, OLD]).seal(b"text".to_vec(), b"").unwrap();
        assert!(sealer(&[NEW]).open(&sealed, b"").is_some(), "the first seals");
    }

    #[test]
    fn tampered_state_does_not_open() {
        let sealer = StateSealer::default();
        let state = sealer.seal(b"text".to_vec(), b"call").unwrap();
        assert!(sealer.open(&state, b"call").is_some());
        for at in 0..state.len() {
            let mut changed = state.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(sealer.open(&String::from_utf8(changed).unwrap(), b"call"), None, "at {at}");
            assert_eq!(sealer.open(&state[..at], b"call"), None, "cut at {at}");
        }
        for more in ["A", "-TAMPERED", "=", "\n", " "] {
            assert_eq!(sealer.open(&format!("{state}{more}"), b"call"), None, "{more:?} added");
        }
    }

    #[test]
    fn length_is_checked_exactly_enough() {
        let sealer = StateSealer::default();
        for bytes in 0..50 {
            let state = sealer.seal(vec![0; bytes], b"").unwrap();
            assert!(StateSealer::may_be_sealed(&state, bytes), "{bytes}");
            assert!(!StateSealer::may_be_sealed(&"A".repeat(state.len() + 4), bytes), "{bytes}");
        }
        assert!(!StateSealer::may_be_sealed("", 100) && !StateSealer::may_be_sealed("A", usize::MAX));
    }

    #[test]
    fn sealing_is_randomized() {
        let sealer = StateSealer::default();
        let seal = || sealer.seal(b"text".to_vec(), b"call").unwrap();
        assert_ne!(seal(), seal());
    }

    #[test]
    fn short_secrets_are_rejected_and_none_is_printed() {
        assert!(StateSealer::new(Vec::new()).unwrap_err().contains("at least one"));
        assert!(StateSealer::new(vec![b"short".as_slice().into()]).unwrap_err().contains("5 bytes"));
        assert!(!format!("{:?}", sealer(&[NEW])).contains("secret,"));
    }
}
