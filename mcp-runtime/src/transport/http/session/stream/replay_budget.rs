//! The replay budget of a session: the bytes of events that its streams keep, of the session's own limit and of the
//! server's memory budget.

use std::sync::{Arc, Mutex, MutexGuard};

use crate::server::memory::Charge;
use crate::sync::lock;

/// The bytes that the streams of a session keep for replay: of its own limit, and of the server's memory budget.
#[derive(Debug, Clone)]
pub(crate) struct ReplayBudget(Arc<Replay>);

#[derive(Debug)]
struct Replay {
    limit: usize,
    used: Mutex<Used>,
}

#[derive(Debug)]
struct Used {
    bytes: usize,
    charge: Charge,
}

impl ReplayBudget {
    pub(crate) fn new(limit: usize, charge: Charge) -> Self {
        ReplayBudget(Arc::new(Replay { limit, used: Mutex::new(Used { bytes: 0, charge }) }))
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        lock(&self.0.used)
    }

    /// Takes these bytes; false if the server has no memory for them.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let mut used = self.used();
        let sum = used.bytes + bytes;
        let taken = used.charge.set(sum);
        if taken {
            used.bytes = sum;
        }
        taken
    }

    pub(super) fn give_back(&self, bytes: usize) {
        let mut used = self.used();
        used.bytes -= bytes;
        let left = used.bytes;
        // Less than before always fits.
        used.charge.set(left);
    }

    pub(super) fn is_spent(&self) -> bool {
        self.bytes() > self.0.limit
    }

    /// Takes these bytes, whether or not there is memory for them: they are few, or there already.
    pub(super) fn take_anyway(&self, bytes: usize) {
        let mut used = self.used();
        used.bytes += bytes;
        let sum = used.bytes;
        used.charge.set(sum);
    }

    /// Whether ended streams have to make room for a new one.
    pub(crate) fn is_half_spent(&self) -> bool {
        self.bytes() > self.0.limit / 2
    }

    pub(crate) fn bytes(&self) -> usize {
        self.used().bytes
    }
}
