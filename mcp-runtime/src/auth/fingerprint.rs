//! [`Fingerprints`]: 128-bit keyed hashes of secrets, by which tables find them without keeping them.
//!
//! Two `SipHash-1-3` with random keys of their own, which never leave the process: to hit an entry without knowing its
//! secret takes 2^128 guesses over the network. SHA-256, which needs no key, costs 34,000 instructions per KiB where the
//! processor has none for it, more than all of an HTTP call; one `SipHash` costs 2,600.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, BuildHasherDefault, Hasher};

/// A keyed hash of a secret; worthless in another process.
pub(crate) type Fingerprint = [u64; 2];

/// The keys of a table.
#[derive(Debug, Default)]
pub(crate) struct Fingerprints {
    keys: [RandomState; 2],
}

impl Fingerprints {
    /// The fingerprint of a list of texts.
    pub(crate) fn of(&self, texts: &[&[u8]]) -> Fingerprint {
        [0, 1].map(|at| {
            let mut hasher = self.keys[at].build_hasher();
            for text in texts {
                // With its length, so that no two lists are the same bytes.
                hasher.write_usize(text.len());
                hasher.write(text);
            }
            hasher.finish()
        })
    }

    /// The fingerprint of one text.
    pub(crate) fn of_one(&self, text: &[u8]) -> Fingerprint {
        let hash = |key: &RandomState| {
            let mut hasher = key.build_hasher();
            hasher.write(text);
            hasher.finish()
        };
        [hash(&self.keys[0]), hash(&self.keys[1])]
    }
}

/// A map by fingerprint, which need not be hashed again.
pub(crate) type FingerprintMap<T> = std::collections::HashMap<Fingerprint, T, BuildHasherDefault<FirstWord>>;

/// A set of fingerprints.
pub(crate) type FingerprintSet = std::collections::HashSet<Fingerprint, BuildHasherDefault<FirstWord>>;

/// Takes the first of two words for the hash of both.
#[derive(Debug, Default)]
pub(crate) struct FirstWord(u64);

impl Hasher for FirstWord {
    fn write(&mut self, bytes: &[u8]) {
        // An array of integers is hashed as its bytes.
        if let Some(word) = bytes.first_chunk() {
            self.0 = u64::from_ne_bytes(*word);
        }
    }

    /// The length of the array, which says nothing.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_tell_texts_apart() {
        let (one, other) = (Fingerprints::default(), Fingerprints::default());
        assert_eq!(one.of(&[b"ab", b"c"]), one.of(&[b"ab", b"c"]));
        assert_ne!(one.of(&[b"ab", b"c"]), one.of(&[b"a", b"bc"]));
        assert_ne!(one.of(&[b"a"]), other.of(&[b"a"]));
        assert_ne!(one.of(&[b"a"])[0], one.of(&[b"a"])[1]);
    }

    #[test]
    fn every_byte_of_a_text_matters() {
        let prints = Fingerprints::default();
        for length in [0, 1, 63, 64, 65] {
            let text = vec![7; length];
            let print = prints.of_one(&text);
            assert_eq!(print, prints.of_one(&text.clone()));
            assert_ne!(print, prints.of_one(&vec![7; length + 1]));
            for at in 0..length {
                let mut other = text.clone();
                other[at] = 8;
                let other = prints.of_one(&other);
                assert!(print[0] != other[0] && print[1] != other[1], "{at} of {length}");
            }
        }
    }

    #[test]
    fn maps_find_them() {
        let prints = Fingerprints::default();
        let mut map = FingerprintMap::default();
        for number in 0..1000_u32 {
            map.insert(prints.of(&[&number.to_ne_bytes()]), number);
        }
        assert_eq!(map.len(), 1000);
        assert_eq!(map.get(&prints.of(&[&7_u32.to_ne_bytes()])), Some(&7));
        let mut hasher = FirstWord::default();
        std::hash::Hash::hash(&[5_u64, 6], &mut hasher);
        assert_eq!(hasher.finish(), 5);
    }
}
