//! The listener's clock: one timer for the idle timeouts of all connections.
//!
//! A timer per request would cost more than anything else the listener does for it. Instead, a connection
//! stores when it became idle, by a clock that the listener advances now and then. After each advance the
//! listener closes the connections whose time is up.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::{Interval, MissedTickBehavior};

use crate::transport::http::atomic_duration::AtomicDuration;
use crate::transport::http::idle_clock::IdleClock;

/// Ticks per timeout: a connection closes at most this part of its timeout late.
const TICKS: u32 = 8;
const SHORTEST_TICK: Duration = Duration::from_millis(20);
const LONGEST_TICK: Duration = Duration::from_secs(60);

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
        Arc::new(IdleClock::new(Arc::clone(&self.now)))
    }
}
