//! [`SessionHash`]: a session in logs. Its id is a credential, so it is never shown.

use std::fmt;

use ring::digest::{SHA256, digest};

/// A session, by a hash of its id: the first 64 bits of its SHA-256. The id itself is a credential of the client's. The
/// hash is the same at all replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionHash(u64);

impl SessionHash {
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP sessions have ids"))]
    /// The hash of an id. Ids are random, so the hash cannot be turned back into one.
    pub(crate) fn of(id: &str) -> Self {
        let digest = digest(&SHA256, id.as_bytes());
        let first = digest.as_ref().iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte));
        SessionHash(first)
    }
}

/// 16 hexadecimal digits.
impl fmt::Display for SessionHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_the_beginning_of_sha_256() {
        assert_eq!(SessionHash::of("abc").to_string(), "ba7816bf8f01cfea");
    }
}
