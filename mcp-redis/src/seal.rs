//! Sealing of records: whoever reads the database, a backup or the network learns nothing of them, and cannot change
//! them or exchange one for another unnoticed.
//!
//! Each record has a key of its own, derived from the secret and a random salt, so that no nonce is used twice with one
//! key, however many records a fleet writes. A sealed record is a version byte, the id of the secret, the salt, and the
//! ChaCha20-Poly1305 text. The place of the record is authenticated with it, so that it opens nowhere else.

use std::{fmt, io};

use ring::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};
use ring::hkdf;
use ring::rand::{SecureRandom as _, SystemRandom};

/// The first byte of a sealed record. Text begins with another one.
const VERSION: u8 = 1;
const KEY_ID_BYTES: usize = 4;
const SALT_BYTES: usize = 24;
/// What is before the text: version, id of the secret, salt.
const HEAD_BYTES: usize = 1 + KEY_ID_BYTES + SALT_BYTES;
/// The `info` of the key derivation. A new format gets a new one.
const KEY_INFO: &[u8] = b"mcp-redis record 1";

/// Seals records with the first of its secrets and opens them with any. Without one, records are stored as they are.
#[derive(Default)]
pub(crate) struct Sealer {
    secrets: Vec<Secret>,
}

struct Secret {
    id: [u8; KEY_ID_BYTES],
    secret: [u8; 32],
}

impl Sealer {
    pub(crate) fn new(secrets: &[[u8; 32]]) -> Self {
        let secret = |secret: &[u8; 32]| {
            let hash = digest(&SHA256, &[b"mcp-redis key id 1", &secret[..]].concat());
            let mut id = [0; KEY_ID_BYTES];
            id.copy_from_slice(&hash.as_ref()[..KEY_ID_BYTES]);
            Secret { id, secret: *secret }
        };
        Sealer { secrets: secrets.iter().map(secret).collect() }
    }

    /// Seals a text. It opens only at the same place, the name of its key for example.
    pub(crate) fn seal(&self, text: Vec<u8>, place: &[u8]) -> io::Result<Vec<u8>> {
        let Some(secret) = self.secrets.first() else { return Ok(text) };
        let mut sealed = Vec::with_capacity(HEAD_BYTES + text.len() + aead::MAX_TAG_LEN);
        sealed.push(VERSION);
        sealed.extend(secret.id);
        sealed.extend(random::<SALT_BYTES>()?);
        let key = secret.derive(&sealed)?;
        let mut text = text;
        let authenticated = [&sealed[..=KEY_ID_BYTES], place].concat();
        let tag = key
            .seal_in_place_separate_tag(nonce(), Aad::from(authenticated), &mut text)
            .map_err(|_| io::Error::other("a record could not be sealed"))?;
        sealed.extend(text);
        sealed.extend(tag.as_ref());
        Ok(sealed)
    }

    /// Opens what was sealed for this place.
    pub(crate) fn open(&self, mut stored: Vec<u8>, place: &[u8]) -> io::Result<Vec<u8>> {
        match (self.secrets.is_empty(), stored.first() == Some(&VERSION)) {
            (true, false) => return Ok(stored),
            (true, true) => return Err(corrupt("it is sealed; give this replica the `seal_key` of the others")),
            // Whoever can write to the database could otherwise leave records without knowing a secret.
            (false, false) => {
                return Err(corrupt(
                    "it is not sealed; give every replica the same `seal_key`, and remove old records",
                ));
            }
            (false, true) => {}
        }
        let Some((head, _)) = stored.split_at_checked(HEAD_BYTES) else { return Err(corrupt("it is cut off")) };
        let unknown = || corrupt("it is sealed with another key; give every replica the same `seal_key`s");
        let secret = self.secrets.iter().find(|secret| head[1..].starts_with(&secret.id)).ok_or_else(unknown)?;
        let (key, authenticated) = (secret.derive(head)?, [&head[..=KEY_ID_BYTES], place].concat());
        let opened = key
            .open_within(nonce(), Aad::from(authenticated), &mut stored, HEAD_BYTES..)
            .map_err(|_| corrupt("it was altered, or moved from another place"))?
            .len();
        stored.truncate(opened);
        Ok(stored)
    }
}

impl Secret {
    /// The key of one record, from the salt at the end of its head.
    fn derive(&self, head: &[u8]) -> io::Result<LessSafeKey> {
        let derived = hkdf::Salt::new(hkdf::HKDF_SHA256, &head[1 + KEY_ID_BYTES..]).extract(&self.secret);
        let key = derived.expand(&[KEY_INFO], &aead::CHACHA20_POLY1305).map(UnboundKey::from);
        key.map(LessSafeKey::new).map_err(|_| io::Error::other("the key of a record could not be derived"))
    }
}

/// Each key seals one text.
fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; aead::NONCE_LEN])
}

/// The error for a record that cannot be read.
pub(crate) fn corrupt(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a record in Redis cannot be read: {why}"))
}

/// Unguessable bytes.
pub(crate) fn random<const BYTES: usize>() -> io::Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    let failed = |_| io::Error::other("the system's random number generator failed");
    SystemRandom::new().fill(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// Omits the secrets.
impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer").field("secrets", &self.secrets.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: [u8; 32] = [1; 32];
    const TWO: [u8; 32] = [2; 32];

    fn sealed(sealer: &Sealer) -> Vec<u8> {
        sealer.seal(b"{\"a\":1}".to_vec(), b"place").unwrap()
    }

    #[test]
    fn sealed_record_opens_at_its_place_only() {
        let sealer = Sealer::new(&[ONE]);
        let record = sealed(&sealer);
        assert_eq!(sealer.open(record.clone(), b"place").unwrap(), b"{\"a\":1}");
        assert_eq!(sealer.open(record, b"elsewhere").unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_ne!(sealed(&sealer), sealed(&sealer));
    }

    #[test]
    fn altered_record_does_not_open() {
        let sealer = Sealer::new(&[ONE]);
        let record = sealed(&sealer);
        for index in 0..record.len() {
            let mut altered = record.clone();
            altered[index] ^= 1;
            assert_eq!(sealer.open(altered, b"place").unwrap_err().kind(), io::ErrorKind::InvalidData, "byte {index}");
            assert!(sealer.open(record[..index].to_vec(), b"place").is_err(), "cut at {index}");
        }
    }

    #[test]
    fn older_secrets_open() {
        let old = sealed(&Sealer::new(&[ONE]));
        assert!(Sealer::new(&[TWO, ONE]).open(old.clone(), b"place").is_ok());
        assert!(Sealer::new(&[TWO]).open(old, b"place").unwrap_err().to_string().contains("another key"));
    }

    #[test]
    fn plain_and_sealed_records_are_not_confused() {
        let plain = Sealer::default();
        assert_eq!(plain.open(sealed(&plain), b"place").unwrap(), b"{\"a\":1}");
        assert!(plain.open(sealed(&Sealer::new(&[ONE])), b"place").unwrap_err().to_string().contains("is sealed"));
        assert!(Sealer::new(&[ONE]).open(sealed(&plain), b"place").unwrap_err().to_string().contains("not sealed"));
    }
}
