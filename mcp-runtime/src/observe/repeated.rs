//! [`Repeated`]: lines of a log of which a flood of requests must not make a flood.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::sync::lock;

/// Each kind is logged once in this time; the others are counted.
const INTERVAL: Duration = Duration::from_secs(1);

/// What was logged of late, by kind. Whoever uses it has few kinds, so the table is small.
#[derive(Debug)]
pub(crate) struct Repeated<K>(Mutex<HashMap<K, Kind>>);

#[derive(Debug)]
struct Kind {
    logged: Instant,
    /// How many were not logged since.
    more: u64,
}

impl<K> Default for Repeated<K> {
    fn default() -> Self {
        Repeated(Mutex::default())
    }
}

impl<K: Eq + Hash> Repeated<K> {
    /// Whether one of this kind is to be logged now, with how many that were not.
    pub(crate) fn is_due(&self, kind: K) -> Option<u64> {
        let mut kinds = lock(&self.0);
        let now = Instant::now();
        match kinds.get_mut(&kind) {
            Some(kind) if now - kind.logged < INTERVAL => {
                kind.more += 1;
                None
            }
            Some(kind) => {
                kind.logged = now;
                Some(std::mem::take(&mut kind.more))
            }
            None => {
                kinds.insert(kind, Kind { logged: now, more: 0 });
                Some(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flood_is_counted() {
        let repeated = Repeated::default();
        let due = || repeated.is_due((503, -32603));
        assert_eq!(due(), Some(0));
        assert_eq!((due(), due()), (None, None));
        assert_eq!(repeated.is_due((403, -32600)), Some(0), "another kind");
        let begun = Instant::now();
        while begun.elapsed() < INTERVAL {
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(due(), Some(2));
    }
}
