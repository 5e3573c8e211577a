//! How long a call waits for answers, which its handler's timeout does not include.

use std::time::{Duration, Instant};

/// How long a call waits for answers. Asks that wait at the same time count once.
#[derive(Debug, Default)]
pub(super) struct AnswerClock {
    pub(super) waiting: usize,
    /// Since when at least one ask waits.
    since: Option<Instant>,
    /// The sum of the earlier waits.
    total: Duration,
}

impl AnswerClock {
    pub(super) fn start(&mut self, now: Instant) {
        self.waiting += 1;
        self.since.get_or_insert(now);
    }

    pub(super) fn stop(&mut self, now: Instant) {
        self.waiting -= 1;
        if self.waiting == 0 {
            self.total = self.waited(now);
            self.since = None;
        }
    }

    pub(super) fn waited(&self, now: Instant) -> Duration {
        self.total + self.since.map(|since| now.saturating_duration_since(since)).unwrap_or_default()
    }
}
