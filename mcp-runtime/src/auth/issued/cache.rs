//! [`TokenCache`]: tokens that were verified, so that the next call with one costs no signature.
//!
//! Of a JWT, the last 48 characters are kept as a keyed hash only: 288 bits of its signature (of ES256 and `EdDSA`, all of
//! its second half), without which it is worth nothing. The rest is compared in full. Of an opaque token, everything is a
//! secret. So no usable token stays in memory, and a changed one is never found; and a call costs a hash of 48 bytes.
//!
//! An entry is as good as its key: [`KeyTrust`](crate::auth::jose::jwk::KeyTrust) ends when the issuer removes the key, or
//! has to be asked again.

use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use crate::auth::fingerprint::{FingerprintMap, Fingerprints};
use crate::auth::jose::jwk::KeyTrust;
use crate::auth::{User, clock};
use crate::sync::lock;

/// Half of the tokens that are kept, and of their bytes.
const MAX_ENTRIES: usize = 5_000;
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// The end of a JWT that is kept as a hash. Every signature is longer.
const SECRET_END: usize = 48;

/// The tokens that were used last, in two generations: eviction is dropping the older one, and costs nothing per token.
pub(crate) struct TokenCache {
    /// Whether nothing is known about where the secret of a token is.
    is_opaque: bool,
    fingerprints: Fingerprints,
    tokens: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    young: FingerprintMap<Entry>,
    old: FingerprintMap<Entry>,
    /// Of `young`.
    bytes: usize,
}

struct Entry {
    /// The token up to its secret.
    start: Box<[u8]>,
    /// Compared with the clock as it is: the conversion to seconds costs a hundred instructions.
    until: SystemTime,
    known: KnownUser,
}

/// The user of a token that was verified.
pub(crate) struct KnownUser {
    pub(crate) user: Arc<User>,
    /// Until when the token need not be verified again, in seconds since 1970.
    pub(crate) until: u64,
    /// The trust in the key that signed it; `None` if it was introspected.
    pub(crate) key: Option<Arc<KeyTrust>>,
}

impl fmt::Debug for TokenCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenCache").finish_non_exhaustive()
    }
}

impl TokenCache {
    /// For tokens that are signed.
    pub(crate) fn of_jwts() -> Self {
        TokenCache { is_opaque: false, fingerprints: Fingerprints::default(), tokens: Mutex::default() }
    }

    /// For any tokens.
    pub(crate) fn of_opaque_tokens() -> Self {
        TokenCache { is_opaque: true, ..TokenCache::of_jwts() }
    }

    /// A token up to its secret, and its secret.
    fn split<'a>(&self, token: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        let end = if self.is_opaque { token.len() } else { token.len().min(SECRET_END) };
        token.split_at(token.len() - end)
    }

    /// The user of a token, if it was verified before and that still holds at `now`.
    pub(crate) fn get(&self, token: &[u8], now: SystemTime) -> Option<Arc<User>> {
        let (start, secret) = self.split(token);
        let print = self.fingerprints.of_one(secret);
        let mut tokens = lock(&self.tokens);
        let is_good = |entry: &Entry| {
            let Entry { start: own, until, known } = entry;
            **own == *start && now < *until && known.key.as_ref().is_none_or(|key| key.is_current())
        };
        if let Some(entry) = tokens.young.get(&print) {
            return is_good(entry).then(|| Arc::clone(&entry.known.user));
        }
        if !is_good(tokens.old.get(&print)?) {
            return None;
        }
        let entry = tokens.old.remove(&print)?;
        let user = Arc::clone(&entry.known.user);
        let evicted = tokens.keep(print, entry);
        drop(tokens);
        drop(evicted);
        Some(user)
    }

    /// Keeps a token that was verified.
    pub(crate) fn insert(&self, token: &str, known: KnownUser) {
        let (start, secret) = self.split(token.as_bytes());
        let print = self.fingerprints.of_one(secret);
        let Some(until) = clock::at(known.until) else { return };
        let entry = Entry { start: start.into(), until, known };
        // Dropped without the lock.
        let _evicted = lock(&self.tokens).keep(print, entry);
    }
}

impl Generations {
    /// Keeps an entry, and returns those that it displaces.
    fn keep(&mut self, print: crate::auth::fingerprint::Fingerprint, entry: Entry) -> Option<FingerprintMap<Entry>> {
        let bytes = entry.start.len() + entry.known.user.raw_claims().map_or(0, str::len);
        let is_full = self.young.len() >= MAX_ENTRIES || self.bytes + bytes > MAX_BYTES;
        let evicted = is_full.then(|| {
            self.bytes = 0;
            let young = mem::take(&mut self.young);
            mem::replace(&mut self.old, young)
        });
        self.bytes += bytes;
        self.young.insert(print, entry);
        evicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        clock::at(seconds).unwrap()
    }

    fn verified(until: u64, key: Option<Arc<KeyTrust>>) -> KnownUser {
        KnownUser { user: Arc::new(User::new("alice")), until, key }
    }

    #[test]
    fn a_token_is_found_until_it_expires() {
        let cache = TokenCache::of_jwts();
        cache.insert("a.b.c", verified(100, None));
        assert!(cache.get(b"a.b.c", at(99)).is_some());
        assert!(cache.get(b"a.b.c", at(100)).is_none());
    }

    #[test]
    fn a_changed_token_is_not_found() {
        let token = format!("{}.{}.{}", "h".repeat(40), "c".repeat(200), "s".repeat(86));
        for cache in [TokenCache::of_jwts(), TokenCache::of_opaque_tokens()] {
            for token in [&token, "short", ""] {
                cache.insert(token, verified(100, None));
                assert!(cache.get(token.as_bytes(), at(0)).is_some());
            }
            for changed in 0..token.len() {
                let mut other = token.clone().into_bytes();
                other[changed] = b'x';
                assert!(cache.get(&other, at(0)).is_none(), "{changed}");
            }
            for other in [&token[1..], &token[..token.len() - 1], &format!("{token} "), "shor", "short.", "x"] {
                assert!(cache.get(other.as_bytes(), at(0)).is_none(), "{other}");
            }
        }
    }

    #[test]
    fn no_usable_token_is_kept() {
        for (cache, kept) in [(TokenCache::of_jwts(), 52), (TokenCache::of_opaque_tokens(), 0)] {
            cache.insert(&"t".repeat(100), verified(100, None));
            assert_eq!(lock(&cache.tokens).young.values().next().unwrap().start.len(), kept);
        }
    }

    #[test]
    fn a_token_goes_with_its_key() {
        let (cache, key) = (TokenCache::of_jwts(), Arc::new(KeyTrust::default()));
        cache.insert("a.b.c", verified(100, Some(Arc::clone(&key))));
        assert!(cache.get(b"a.b.c", at(0)).is_some());
        key.revoke();
        assert!(cache.get(b"a.b.c", at(0)).is_none());
    }

    #[test]
    fn tokens_in_use_stay_and_the_others_go() {
        let cache = TokenCache::of_jwts();
        cache.insert("in.use", verified(100, None));
        cache.insert("un.used", verified(100, None));
        for number in 0..4 * MAX_ENTRIES {
            cache.insert(&format!("a.{number}"), verified(100, None));
            assert!(cache.get(b"in.use", at(0)).is_some(), "{number}");
        }
        assert!(cache.get(b"un.used", at(0)).is_none());
        let tokens = lock(&cache.tokens);
        assert!(tokens.young.len() <= MAX_ENTRIES && tokens.old.len() <= MAX_ENTRIES);
    }

    #[test]
    fn bytes_are_bounded() {
        let cache = TokenCache::of_jwts();
        let long = "x".repeat(16 * 1024);
        for number in 0..3000 {
            cache.insert(&format!("{long}.{number:064}"), verified(100, None));
        }
        let tokens = lock(&cache.tokens);
        let kept = |map: &FingerprintMap<Entry>| map.values().map(|entry| entry.start.len()).sum::<usize>();
        assert!(kept(&tokens.young) <= MAX_BYTES && kept(&tokens.old) <= MAX_BYTES);
        assert!(tokens.old.len() > 900);
    }
}
