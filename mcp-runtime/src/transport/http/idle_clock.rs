//! A connection's idle time, by the clock of its listener.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use super::atomic_duration::AtomicDuration;

/// How long a connection has been waiting for a request.
#[derive(Debug, Default)]
pub(crate) struct IdleClock {
    /// The listener's clock.
    now: Arc<AtomicDuration>,
    /// The start of the wait, by that clock.
    since: AtomicDuration,
    /// The guards there are: with any, the connection does not wait.
    busy: AtomicU32,
    /// Whether the connection has served a request.
    served: AtomicBool,
}

impl IdleClock {
    /// The idle time of a new connection, by this clock.
    pub(crate) fn new(now: Arc<AtomicDuration>) -> Self {
        let clock = IdleClock { now, ..IdleClock::default() };
        clock.restart();
        clock
    }

    /// Marks the connection as busy until all guards are dropped. Then it waits for the next request.
    pub(crate) fn busy(self: &Arc<Self>) -> BusyGuard {
        self.busy.fetch_add(1, Ordering::Relaxed);
        BusyGuard(Arc::clone(self))
    }

    /// Restarts the wait.
    pub(crate) fn restart(&self) {
        self.since.store(self.now.load());
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire) > 0
    }

    /// Whether the connection has served a request.
    pub(crate) fn has_served(&self) -> bool {
        self.served.load(Ordering::Relaxed)
    }

    /// How long the connection has waited for a request, at this time; `None` while it serves one.
    pub(crate) fn waited(&self, now: Duration) -> Option<Duration> {
        // In this order: the guard that was dropped last has restarted the wait.
        (!self.is_busy()).then(|| now.saturating_sub(self.since.load()))
    }
}

/// Marks a connection as busy until it is dropped.
#[derive(Debug)]
pub(crate) struct BusyGuard(Arc<IdleClock>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.restart();
        self.0.served.store(true, Ordering::Relaxed);
        self.0.busy.fetch_sub(1, Ordering::Release);
    }
}
