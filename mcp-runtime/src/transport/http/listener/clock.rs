//! The listener's clock: one timer for the idle timeouts of all connections.
//!
//! A timer per request would cost more than anything else the listener does for it. Instead, a connection
//! stores when it became idle, by a clock that the listener advances now and then. After each advance the
//! listener closes the connections whose time is up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::time::{Interval, MissedTickBehavior};

use crate::transport::http::atomic_duration::AtomicDuration;

/// Ticks per timeout: a connection closes at most this part of its timeout late.
const TICKS: u32 = 8;
const SHORTEST_TICK: Duration = Duration::from_millis(20);
const LONGEST_TICK: Duration = Duration::from_mins(1);

/// The time since the listener started, as of its last advance.
#[derive(Debug)]
pub(crate) struct ListenerClock {
    now: Arc<AtomicDuration>,
    advanced: Instant,
    ticks: Interval,
}

impl ListenerClock {
    /// A clock precise enough for this timeout.
    pub(crate) fn new(timeout: Duration) -> Self {
        let mut ticks = tokio::time::interval((timeout / TICKS).clamp(SHORTEST_TICK, LONGEST_TICK));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ListenerClock { now: Arc::default(), advanced: Instant::now(), ticks }
    }

    /// Waits for the next tick, which is the time to [`advance`](Self::advance).
    pub(crate) async fn tick(&mut self) {
        self.ticks.tick().await;
    }

    /// How far the clock may be behind.
    pub(crate) fn precision(&self) -> Duration {
        self.ticks.period()
    }

    /// Advances the clock, by one tick at most: when the listener was held up for longer, so were the
    /// connections, and that time must not count against them.
    pub(crate) fn advance(&mut self) -> Duration {
        let now = Instant::now();
        let passed = (now - self.advanced).min(self.precision());
        self.advanced = now;
        self.now.add(passed)
    }

    /// A new connection's idle time by this clock.
    pub(crate) fn idle_clock(&self) -> Arc<IdleClock> {
        let clock = IdleClock { now: Arc::clone(&self.now), ..IdleClock::default() };
        clock.restart();
        Arc::new(clock)
    }
}

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

    /// Whether the connection is an unused keep-alive connection. A new one is not: its first request may
    /// be on its way.
    pub(crate) fn is_idle(&self) -> bool {
        self.served.load(Ordering::Relaxed) && !self.is_busy()
    }

    /// Whether the connection, at this time, has waited longer than the timeout.
    pub(crate) fn is_overdue(&self, now: Duration, timeout: Duration) -> bool {
        // In this order: the guard that was dropped last has restarted the wait.
        !self.is_busy() && now.saturating_sub(self.since.load()) > timeout
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
