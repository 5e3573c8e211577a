//! The claim to a session's own stream: one reader at a time, which a resumed stream replaces.

use std::sync::atomic::{AtomicU64, Ordering};

/// Who reads a session's own stream.
#[derive(Debug, Default)]
pub(crate) struct StreamClaim {
    /// The number of the newest claim.
    newest: AtomicU64,
    /// The number of the claim that is held; 0 for none.
    held: AtomicU64,
}

impl StreamClaim {
    pub(crate) fn is_held(&self) -> bool {
        self.held.load(Ordering::Acquire) != 0
    }

    /// The number of a new claim, unless one is held.
    pub(crate) fn take(&self) -> Option<u64> {
        let number = self.next();
        self.held.compare_exchange(0, number, Ordering::AcqRel, Ordering::Acquire).ok().map(|_| number)
    }

    /// The number of a new claim, in place of the one that is held.
    pub(crate) fn take_over(&self) -> u64 {
        let number = self.next();
        self.held.store(number, Ordering::Release);
        number
    }

    /// Releases a claim, unless another has taken its place.
    pub(crate) fn release(&self, number: u64) {
        let _ = self.held.compare_exchange(number, 0, Ordering::AcqRel, Ordering::Acquire);
    }

    fn next(&self) -> u64 {
        self.newest.fetch_add(1, Ordering::Relaxed) + 1
    }
}
