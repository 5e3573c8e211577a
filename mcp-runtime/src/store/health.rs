//! Which stores are away, for the log: one line when a kind of store goes away and one when it is back, not one per
//! operation. A store that fails now and then, or stays away, is logged again after a pause, with the number of failures.
//!
//! It is kept per process: the stores of one kind nearly always are in one database.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::sync::lock;

/// The shortest time between two lines that say that a kind of store went away.
const PAUSE: Duration = Duration::from_secs(10);
/// How often a store that stays away is logged.
const REMINDER: Duration = Duration::from_secs(60);

/// The kinds of stores, as the names of their operations tell them.
const KINDS: [&str; 5] = ["session", "stream", "event", "task", "inbox"];

/// The stores of this process.
pub(super) static STORES: Health = Health::new();

pub(super) struct Health {
    /// Whether any is away: all that an operation that succeeds has to ask.
    any_away: AtomicBool,
    /// One per kind, and one for all others.
    kinds: Mutex<[Kind; KINDS.len() + 1]>,
}

#[derive(Clone, Copy)]
struct Kind {
    /// Since when it is away, and whether the log says so.
    away: Option<(Instant, bool)>,
    last_line: Option<Instant>,
    /// The failures since the last line.
    failures: u64,
}

impl Health {
    const fn new() -> Self {
        let well = Kind { away: None, last_line: None, failures: 0 };
        Health { any_away: AtomicBool::new(false), kinds: Mutex::new([well; KINDS.len() + 1]) }
    }

    /// Notes that an operation failed. Returns the number of failures since the last line, if it is time for one.
    pub(super) fn failed(&self, operation: &str, now: Instant) -> Option<u64> {
        let mut kinds = lock(&self.kinds);
        let kind = &mut kinds[index(operation)];
        self.any_away.store(true, Ordering::Release);
        let (since, logged) = kind.away.unwrap_or((now, false));
        kind.failures += 1;
        let pause = if logged { REMINDER } else { PAUSE };
        let due = kind.last_line.is_none_or(|last| now.saturating_duration_since(last) >= pause);
        kind.away = Some((since, logged || due));
        if !due {
            return None;
        }
        kind.last_line = Some(now);
        Some(std::mem::take(&mut kind.failures))
    }

    /// Notes that an operation succeeded. Returns how long its store was away, if the log said that it is.
    #[inline]
    pub(super) fn succeeded(&self, operation: &str) -> Option<Duration> {
        if !self.any_away.load(Ordering::Acquire) {
            return None;
        }
        self.back(operation, Instant::now())
    }

    #[cold]
    fn back(&self, operation: &str, now: Instant) -> Option<Duration> {
        let mut kinds = lock(&self.kinds);
        let away = kinds[index(operation)].away.take();
        self.any_away.store(kinds.iter().any(|kind| kind.away.is_some()), Ordering::Release);
        away.filter(|(_, logged)| *logged).map(|(since, _)| now.saturating_duration_since(since))
    }
}

/// The place of the kind that an operation is of.
fn index(operation: &str) -> usize {
    KINDS.iter().position(|kind| operation.contains(kind)).unwrap_or(KINDS.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_that_goes_away_and_comes_back_is_two_lines() {
        let (health, begun) = (Health::new(), Instant::now());
        let at = |ms| begun + Duration::from_millis(ms);
        assert_eq!(health.succeeded("load session"), None);
        assert_eq!(health.failed("load session", at(0)), Some(1));
        for ms in 1..1000 {
            assert_eq!(health.failed("refresh session", at(ms)), None);
        }
        assert_eq!(health.failed("push to inbox", at(1000)), Some(1), "another kind");
        assert_eq!(health.back("tasks", at(1500)), None);
        assert_eq!(health.back("touch session", at(2000)), Some(Duration::from_secs(2)));
        assert_eq!(health.back("touch session", at(2000)), None);
        assert!(health.any_away.load(Ordering::SeqCst), "the inbox is");
        assert_eq!(health.back("read inbox", at(3000)), Some(Duration::from_secs(2)));
        assert_eq!(health.succeeded("load session"), None);
        assert!(!health.any_away.load(Ordering::SeqCst));
    }

    #[test]
    fn unsteady_store_is_logged_now_and_then() {
        let (health, begun) = (Health::new(), Instant::now());
        let (mut away, mut back) = (Vec::new(), 0);
        for second in 0..60 {
            let now = begun + Duration::from_secs(second);
            away.extend(health.failed("tasks", now));
            back += usize::from(health.back("tasks", now).is_some());
        }
        assert_eq!((away, back), (vec![1, 10, 10, 10, 10, 10], 6));
    }

    #[test]
    fn store_that_stays_away_is_logged_every_minute() {
        let (health, begun) = (Health::new(), Instant::now());
        let lines = (0..=130).filter_map(|second| health.failed("tasks", begun + Duration::from_secs(second)));
        assert_eq!(lines.collect::<Vec<_>>(), [1, 60, 60]);
    }
}
