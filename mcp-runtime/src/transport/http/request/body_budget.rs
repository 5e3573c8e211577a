//! The budget for long request bodies: the bytes of them in memory, of all clients together.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::limits::Limits;

/// Messages up to this length are not charged, and so never rejected because of other clients. The limit of
/// concurrent requests bounds them.
const SHORT: usize = 64 * 1024;

/// The bytes that are left.
#[derive(Debug)]
pub(crate) struct BodyBudget(AtomicUsize);

/// The bytes charged for one message, until it is dropped.
#[derive(Debug)]
pub(crate) struct BodyPermit<'a> {
    budget: &'a BodyBudget,
    bytes: usize,
}

impl BodyBudget {
    pub(crate) fn new(limits: &Limits) -> Self {
        // The longest message allowed must fit, if only alone.
        BodyBudget(AtomicUsize::new(limits.body_bytes.max(limits.message_bytes)))
    }

    /// A permit for a message of which nothing has been read yet.
    pub(crate) fn charge(&self) -> BodyPermit<'_> {
        BodyPermit { budget: self, bytes: 0 }
    }
}

impl BodyPermit<'_> {
    /// Raises the charge to the bytes read so far; false if the budget does not allow it. `Content-Length` is
    /// not charged: a client that announces much and sends nothing would starve the others.
    pub(crate) fn grow(&mut self, read: usize) -> bool {
        if read <= SHORT {
            return true;
        }
        let more = read.saturating_sub(self.bytes);
        let taken = self.budget.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(more));
        if taken.is_ok() {
            self.bytes += more;
        }
        taken.is_ok()
    }
}

impl Drop for BodyPermit<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budget.0.fetch_add(self.bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_permit_returns_its_bytes() {
        let limits = Limits { body_bytes: 3 * SHORT, message_bytes: SHORT, ..Limits::default() };
        let budget = BodyBudget::new(&limits);
        let (mut one, mut other) = (budget.charge(), budget.charge());
        assert!(one.grow(SHORT) && one.bytes == 0, "short messages are not charged");
        assert!(one.grow(2 * SHORT) && one.grow(2 * SHORT) && one.bytes == 2 * SHORT);
        assert!(!other.grow(SHORT + 1) && other.bytes == 0);
        assert!(other.grow(SHORT), "nor rejected");
        drop(one);
        assert!(other.grow(3 * SHORT) && !other.grow(3 * SHORT + 1));
        drop(other);
        assert_eq!(budget.0.into_inner(), 3 * SHORT);
    }
}
