//! When keys are fetched: as long as the issuer says, within bounds; earlier for a key that is not known; again after
//! a failure.

use std::time::Duration;

use tokio::time::Instant;

/// How long keys are fresh if the issuer does not say.
const DEFAULT_TTL: Duration = Duration::from_secs(60 * 60);
const MIN_TTL: Duration = Duration::from_secs(5 * 60);
const MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);
/// How long keys are used after that while the issuer cannot be reached.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);
/// Between two fetches for keys that are not known, and between a failed fetch and the next.
pub(crate) const COOLDOWN: Duration = Duration::from_secs(30);

/// The times of a key set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lifetime {
    /// From when on it is fetched again, in the background.
    pub(crate) refresh_at: Instant,
    /// Until when it is used.
    pub(crate) usable_until: Instant,
}

impl Lifetime {
    /// Of keys that were fetched `now`.
    pub(crate) fn new(now: Instant, max_age: Option<Duration>) -> Self {
        let ttl = max_age.unwrap_or(DEFAULT_TTL).clamp(MIN_TTL, MAX_TTL);
        Lifetime { refresh_at: now + ttl * 4 / 5, usable_until: now + ttl + STALE }
    }

    /// The same keys, after a fetch that failed `now`.
    pub(crate) fn retried(self, now: Instant) -> Self {
        Lifetime { refresh_at: (now + COOLDOWN).min(self.usable_until), ..self }
    }
}

/// How long to wait after this many failures in a row while there are no keys at all: an issuer that is just starting is
/// found soon.
pub(crate) fn backoff(failures: u32) -> Duration {
    Duration::from_secs(1 << failures.saturating_sub(1).min(5)).min(COOLDOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ttl_is_clamped_and_refreshed_early() {
        let now = Instant::now();
        for (max_age, seconds) in [(None, 3600), (Some(0), 300), (Some(600), 600), (Some(10_000_000), 86_400)] {
            let lifetime = Lifetime::new(now, max_age.map(Duration::from_secs));
            assert_eq!(lifetime.refresh_at - now, Duration::from_secs(seconds) * 4 / 5);
            assert_eq!(lifetime.usable_until - now, Duration::from_secs(seconds + 86_400));
        }
    }

    #[test]
    fn retries_wait_longer_and_longer() {
        assert_eq!([1, 2, 3, 4, 5, 6, 99].map(|failures| backoff(failures).as_secs()), [1, 2, 4, 8, 16, 30, 30]);
    }
}
