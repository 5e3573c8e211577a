//! [`Pace`]: how often a task is polled.
//!
//! A server says how often: `pollInterval` in 2025-11-25, `pollIntervalMs` in the extension of 2026-07-28. Without that, the
//! pauses grow. Tests in memory do not wait for anybody, so they poll as fast as they can.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>

use std::time::Duration;

use serde_json::Value;

/// The shortest pause, and the longest without a word of the server.
const IN_MEMORY: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(20));
const REMOTE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// The longest pause a server can ask for.
const LONGEST: Duration = Duration::from_secs(60);

/// How often a task is polled.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    shortest: Duration,
    longest: Duration,
    next: Duration,
    /// What the server asks for; `None` in memory, where nobody is to be spared.
    interval: Option<Duration>,
    is_remote: bool,
}

impl Pace {
    pub(super) fn in_memory() -> Self {
        let (shortest, longest) = IN_MEMORY;
        Pace { shortest, longest, next: shortest, interval: None, is_remote: false }
    }

    pub(super) fn remote() -> Self {
        let (shortest, longest) = REMOTE;
        Pace { shortest, longest, next: shortest, interval: None, is_remote: true }
    }

    /// Takes the interval from what the server says of a task.
    pub(super) fn told(mut self, task: &Value) -> Self {
        let interval = task["pollIntervalMs"].as_u64().or_else(|| task["pollInterval"].as_u64());
        if let Some(interval) = interval.filter(|_| self.is_remote) {
            self.interval = Some(Duration::from_millis(interval).clamp(self.shortest, LONGEST));
        }
        self
    }

    /// The pause before the next poll.
    pub(super) fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.longest);
        self.interval.unwrap_or(pause)
    }

    /// Something has happened: more may happen soon.
    pub(super) fn restart(&mut self) {
        self.next = self.shortest;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn millis(mut pace: Pace, count: usize) -> Vec<u128> {
        (0..count).map(|_| pace.pause().as_millis()).collect()
    }

    #[test]
    fn server_says_how_often_it_is_polled() {
        for told in [json!({"pollInterval": 700}), json!({"pollIntervalMs": 700})] {
            assert_eq!(millis(Pace::remote().told(&told), 3), [700, 700, 700]);
            assert_eq!(millis(Pace::in_memory().told(&told), 3), [1, 2, 4], "in memory nobody is to be spared");
        }
        assert_eq!(millis(Pace::remote().told(&json!({"pollInterval": 0})), 2), [50, 50]);
        assert_eq!(millis(Pace::remote().told(&json!({"pollInterval": u64::MAX})), 1), [60_000]);
    }

    #[test]
    fn pauses_grow_to_a_second_without_a_word_of_the_server() {
        assert_eq!(millis(Pace::remote().told(&json!({})), 7), [50, 100, 200, 400, 800, 1000, 1000]);
        assert_eq!(millis(Pace::in_memory(), 7), [1, 2, 4, 8, 16, 20, 20]);
        let mut pace = Pace::remote();
        pace.pause();
        pace.restart();
        assert_eq!(pace.pause().as_millis(), 50);
    }
}
