//! [`TokenCache`]: tokens that were verified, so that the next call with one costs no signature.
//!
//! A token is found by a keyed hash of its signature, the part that nobody else knows; what it is a signature of, which is
//! no credential, is compared in full. So no usable token stays in memory, and a changed one is never found. An entry is
//! as good as its key: [`KeyTrust`](crate::auth::jose::jwk::KeyTrust) ends when the issuer removes the key, or has to be asked
//! again.

use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex};

use crate::auth::User;
use crate::auth::fingerprint::{FingerprintMap, Fingerprints};
use crate::auth::jose::jwk::KeyTrust;
use crate::sync::lock;

/// Half of the tokens that are kept, and of their bytes.
const MAX_ENTRIES: usize = 5_000;
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// The tokens that were used last, in two generations: eviction is dropping the older one, and costs nothing per token.
#[derive(Default)]
pub(crate) struct TokenCache {
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
    /// The token up to its signature.
    signed: Box<str>,
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
    /// The user of a token, if it was verified before and that still holds at `now`.
    pub(crate) fn get(&self, token: &str, now: u64) -> Option<Arc<User>> {
        let (signed, signature) = split(token);
        let print = self.fingerprints.of_long(signature.as_bytes());
        let mut tokens = lock(&self.tokens);
        let is_good = |entry: &Entry| {
            let Entry { signed: own, known } = entry;
            **own == *signed && now < known.until && known.key.as_ref().is_none_or(|key| key.is_current())
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
        let (signed, signature) = split(token);
        let print = self.fingerprints.of_long(signature.as_bytes());
        let entry = Entry { signed: signed.into(), known };
        // Dropped without the lock.
        let _evicted = lock(&self.tokens).keep(print, entry);
    }
}

impl Generations {
    /// Keeps an entry, and returns those that it displaces.
    fn keep(&mut self, print: crate::auth::fingerprint::Fingerprint, entry: Entry) -> Option<FingerprintMap<Entry>> {
        let bytes = entry.signed.len() + entry.known.user.raw_claims().map_or(0, str::len);
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

/// A token up to its signature, and its signature. Of an opaque token, everything is secret.
fn split(token: &str) -> (&str, &str) {
    match memchr::memrchr(b'.', token.as_bytes()) {
        Some(dot) => token.split_at(dot),
        None => ("", token),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verified(until: u64, key: Option<Arc<KeyTrust>>) -> KnownUser {
        KnownUser { user: Arc::new(User::new("alice")), until, key }
    }

    #[test]
    fn a_token_is_found_until_it_expires() {
        let cache = TokenCache::default();
        cache.insert("a.b.c", verified(100, None));
        assert!(cache.get("a.b.c", 99).is_some());
        assert!(cache.get("a.b.c", 100).is_none());
    }

    #[test]
    fn a_changed_token_is_not_found() {
        let cache = TokenCache::default();
        cache.insert("a.b.c", verified(100, None));
        cache.insert("opaque", verified(100, None));
        assert!(cache.get("opaque", 0).is_some());
        for other in ["a.x.c", "x.b.c", "a.b.d", "a.b.", "c", ".c", "a.b.c.", "opaqu", ".opaque", "a.b.c "] {
            assert!(cache.get(other, 0).is_none(), "{other}");
        }
    }

    #[test]
    fn a_token_goes_with_its_key() {
        let (cache, key) = (TokenCache::default(), Arc::new(KeyTrust::default()));
        cache.insert("a.b.c", verified(100, Some(Arc::clone(&key))));
        assert!(cache.get("a.b.c", 0).is_some());
        key.revoke();
        assert!(cache.get("a.b.c", 0).is_none());
    }

    #[test]
    fn tokens_in_use_stay_and_the_others_go() {
        let cache = TokenCache::default();
        cache.insert("in.use", verified(100, None));
        cache.insert("un.used", verified(100, None));
        for number in 0..4 * MAX_ENTRIES {
            cache.insert(&format!("a.{number}"), verified(100, None));
            assert!(cache.get("in.use", 0).is_some(), "{number}");
        }
        assert!(cache.get("un.used", 0).is_none());
        let tokens = lock(&cache.tokens);
        assert!(tokens.young.len() <= MAX_ENTRIES && tokens.old.len() <= MAX_ENTRIES);
    }

    #[test]
    fn bytes_are_bounded() {
        let cache = TokenCache::default();
        let long = "x".repeat(16 * 1024);
        for number in 0..3000 {
            cache.insert(&format!("{long}.{number}"), verified(100, None));
        }
        let tokens = lock(&cache.tokens);
        let kept = |map: &FingerprintMap<Entry>| map.values().map(|entry| entry.signed.len()).sum::<usize>();
        assert!(kept(&tokens.young) <= MAX_BYTES && kept(&tokens.old) <= MAX_BYTES);
        assert!(tokens.old.len() > 900);
    }
}
