//! A duration several threads share: the time of a clock, the age of a session.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A duration in microseconds, which fit into an atomic for half a million years. Nothing else is ordered by it.
#[derive(Debug, Default)]
pub(crate) struct AtomicDuration(AtomicU64);

impl AtomicDuration {
    pub(crate) fn new(duration: Duration) -> Self {
        AtomicDuration(AtomicU64::new(micros(duration)))
    }

    pub(crate) fn load(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }

    pub(crate) fn store(&self, duration: Duration) {
        self.0.store(micros(duration), Ordering::Relaxed);
    }

    /// Adds to the duration, and returns the sum.
    pub(crate) fn add(&self, duration: Duration) -> Duration {
        let more = micros(duration);
        Duration::from_micros(self.0.fetch_add(more, Ordering::Relaxed).saturating_add(more))
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
