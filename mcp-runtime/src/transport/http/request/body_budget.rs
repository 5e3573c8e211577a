//! The bytes of long messages that are in memory, of all clients together.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::limits::Limits;

/// A message up to this is never refused for what others send: there are as many as requests, and
/// that is bound enough.
const SHORT: usize = 64 * 1024;

/// What is left to be taken.
#[derive(Debug)]
pub(crate) struct BodyBudget(AtomicUsize);

/// What one message takes of it, until it is dropped.
#[derive(Debug)]
pub(crate) struct BodyPermit<'a> {
    budget: &'a BodyBudget,
    bytes: usize,
}

impl BodyBudget {
    pub(crate) fn new(limits: &Limits) -> Self {
        // The longest message there may be must fit, if only alone.
        BodyBudget(AtomicUsize::new(limits.body_bytes.max(limits.message_bytes)))
    }

    /// For a message of which nothing has been read.
    pub(crate) fn charge(&self) -> BodyPermit<'_> {
        BodyPermit { budget: self, bytes: 0 }
    }
}

impl BodyPermit<'_> {
    /// Makes it as much as has been read; false if there is not so much left. What was only announced
    /// takes nothing, or whoever announces much and sends nothing would keep others out.
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
    fn what_is_taken_is_given_back() {
        let limits = Limits { body_bytes: 3 * SHORT, message_bytes: SHORT, ..Limits::default() };
        let budget = BodyBudget::new(&limits);
        let (mut one, mut other) = (budget.charge(), budget.charge());
        assert!(one.grow(SHORT) && one.bytes == 0, "what is short is not counted");
        assert!(one.grow(2 * SHORT) && one.grow(2 * SHORT) && one.bytes == 2 * SHORT);
        assert!(!other.grow(SHORT + 1) && other.bytes == 0);
        assert!(other.grow(SHORT), "nor is it ever refused");
        drop(one);
        assert!(other.grow(3 * SHORT) && !other.grow(3 * SHORT + 1));
        drop(other);
        assert_eq!(budget.0.into_inner(), 3 * SHORT);
    }
}
