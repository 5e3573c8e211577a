//! The stores, and what those of one `Redis` share: its connection, names and keys.

pub(crate) mod bus;
pub(crate) mod events;
pub(crate) mod inbox;
pub(crate) mod leases;
pub(crate) mod sessions;
pub(crate) mod tasks;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcp_runtime::store::EventHints;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::changes::Changes;
use crate::cluster::router::Router;
use crate::names::Names;
use crate::seal::{Sealer, corrupt};

/// The longest time to live: three thousand years. Redis adds it to the time, which must not overflow.
const LONGEST_MS: u128 = 100_000_000_000_000;

/// What the stores of one `Redis` share.
pub(crate) struct Inner {
    pub(crate) link: Router,
    pub(crate) names: Names,
    pub(crate) sealer: Arc<Sealer>,
    pub(crate) changes: Arc<Changes>,
    /// Readers of streams, by the channel of the stream.
    pub(crate) hints: EventHints,
    /// Whether the log says that tasks cannot be read. Replicas look for tasks every second.
    pub(crate) has_left_out: AtomicBool,
}

impl Inner {
    /// A record as it is stored under this key.
    pub(crate) fn encode<T: Serialize>(&self, record: &T, key: &str) -> io::Result<Vec<u8>> {
        self.sealer.seal(serde_json::to_vec(record)?, key.as_bytes())
    }

    /// A task cannot be read, and is left out.
    fn left_out(&self, error: &io::Error) {
        if !self.has_left_out.swap(true, Ordering::Relaxed) {
            tracing::error!(%error, "a task cannot be read, and is left out; do all replicas have its seal key?");
        }
    }

    /// The record that is stored under this key.
    pub(crate) fn decode<T: DeserializeOwned>(&self, stored: Vec<u8>, key: &str) -> io::Result<T> {
        let text = self.sealer.open(stored, key.as_bytes())?;
        serde_json::from_slice(&text).map_err(|error| corrupt(&format!("it is not what this version writes: {error}")))
    }
}

/// A time to live in milliseconds. 0 would remove the key.
pub(crate) fn millis(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis().clamp(1, LONGEST_MS)).unwrap_or(1)
}
