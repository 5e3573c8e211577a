//! Values with an expiry, the entries of the stores in memory.

use std::time::Duration;

use tokio::time::Instant;

/// A value and its expiry. A `ttl` beyond the range of the clock never expires.
#[derive(Debug)]
pub(crate) struct WithExpiry<T> {
    pub(crate) value: T,
    expires: Option<Instant>,
}

impl<T> WithExpiry<T> {
    pub(crate) fn new(value: T, ttl: Duration) -> Self {
        WithExpiry { value, expires: Instant::now().checked_add(ttl) }
    }

    /// Resets the expiry to `ttl` from now.
    pub(crate) fn touch(&mut self, ttl: Duration) {
        self.expires = Instant::now().checked_add(ttl);
    }

    /// Whether the value has not expired.
    pub(crate) fn is_live(&self) -> bool {
        self.expires.is_none_or(|expires| expires > Instant::now())
    }
}
