//! [`ReplayTable`]: the `jti` of proofs that were used, as long as they could be used again.

use std::mem;
use std::sync::Mutex;

use crate::auth::fingerprint::{FingerprintSet, Fingerprints};
use crate::sync::lock;

/// As long as a proof is accepted: its `iat` may be 5 minutes ahead, and 5 minutes old.
const LIFETIME: u64 = 600;
/// Half of what is remembered. With more than 80 proofs per second for ten minutes, it is remembered for less long:
/// senders of valid proofs can shorten the memory, not fill it.
const MAX_GENERATION: usize = 50_000;

/// The proofs of the last ten minutes, in two generations: forgetting is dropping the older one.
#[derive(Debug, Default)]
pub(crate) struct ReplayTable {
    fingerprints: Fingerprints,
    used: Mutex<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    young: FingerprintSet,
    old: FingerprintSet,
    /// When `young` was begun, in seconds.
    since: u64,
}

impl ReplayTable {
    /// Whether a proof is used for the first time.
    pub(crate) fn is_new(&self, proof: &[&[u8]], now: u64) -> bool {
        let print = self.fingerprints.of(proof);
        let mut used = lock(&self.used);
        // Dropped without the lock.
        let _forgotten = used.turn(now);
        !used.old.contains(&print) && used.young.insert(print)
    }
}

impl Generations {
    fn turn(&mut self, now: u64) -> Option<FingerprintSet> {
        if self.young.len() < MAX_GENERATION && now.saturating_sub(self.since) < LIFETIME {
            return None;
        }
        self.since = now;
        let young = mem::take(&mut self.young);
        Some(mem::replace(&mut self.old, young))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_used_once() {
        let table = ReplayTable::default();
        let now = 1_000_000;
        assert!(table.is_new(&[b"key", b"1"], now));
        assert!(!table.is_new(&[b"key", b"1"], now));
        assert!(table.is_new(&[b"other", b"1"], now));
        assert!(!table.is_new(&[b"key", b"1"], now + LIFETIME), "still, when the generations have turned");
        assert!(table.is_new(&[b"key", b"1"], now + 3 * LIFETIME), "it was too old for long");
    }

    #[test]
    fn memory_is_bounded() {
        let table = ReplayTable::default();
        for number in 0..3 * MAX_GENERATION as u64 {
            assert!(table.is_new(&[&number.to_ne_bytes()], 0));
        }
        let used = lock(&table.used);
        assert!(used.young.len() <= MAX_GENERATION && used.old.len() <= MAX_GENERATION);
    }
}
