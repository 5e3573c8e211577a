//! Values with an expiry, the entries of the stores in memory.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::store::sweeper::shrink;

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

    /// How long it is until the value expires, unless it never does.
    fn remaining(&self) -> Option<Duration> {
        Some(self.expires?.saturating_duration_since(Instant::now()))
    }

    /// Whether the value has not expired.
    pub(crate) fn is_live(&self) -> bool {
        self.expires.is_none_or(|expires| expires > Instant::now())
    }
}

/// Removes what has expired from a table, and returns how long it is until more has.
pub(super) fn sweep<T>(table: &mut HashMap<Box<str>, WithExpiry<T>>) -> Option<Duration> {
    table.retain(|_, entry| entry.is_live());
    shrink(table);
    table.values().filter_map(WithExpiry::remaining).min()
}
