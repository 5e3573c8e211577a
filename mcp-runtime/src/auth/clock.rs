//! The time that tokens are compared with.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Seconds since 1970. A clock before that counts as 1970: every token is then one of the future.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The time of so many seconds since 1970, if there is such a time.
pub(crate) fn at(seconds: u64) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}
