//! Something that is kept in memory until its time is over.

use std::time::{Duration, Instant};

/// A value, and until when it is kept; for ever if that is further away than time goes.
#[derive(Debug)]
pub(crate) struct Expiring<T> {
    pub(crate) value: T,
    end: Option<Instant>,
}

impl<T> Expiring<T> {
    pub(crate) fn new(value: T, keep: Duration) -> Self {
        Expiring { value, end: Instant::now().checked_add(keep) }
    }

    /// Keeps it for so long from now on.
    #[cfg(feature = "http")]
    pub(crate) fn prolong(&mut self, keep: Duration) {
        self.end = Instant::now().checked_add(keep);
    }

    /// Whether its time is not over.
    pub(crate) fn is_there(&self) -> bool {
        self.end.is_none_or(|end| end > Instant::now())
    }
}
