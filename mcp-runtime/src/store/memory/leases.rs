//! The lease store in memory.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;
use std::{fmt, io};

use super::expiry::WithExpiry;
use crate::store::LeaseStore;
use crate::sync::lock;

/// The number of leases the store holds at most.
const CAPACITY: usize = 100_000;

/// A [`LeaseStore`] in memory, for several services in one process and for tests. It holds up to
/// 100 000 leases and rejects more.
#[derive(Default)]
pub struct MemoryLeases(Mutex<LeaseTable>);

type LeaseTable = HashMap<Box<str>, WithExpiry<Box<str>>>;

impl MemoryLeases {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn all(&self) -> MutexGuard<'_, LeaseTable> {
        lock(&self.0)
    }
}

impl LeaseStore for MemoryLeases {
    async fn acquire(&self, name: &str, holder: &str, take_from: Option<&str>, ttl: Duration) -> io::Result<String> {
        let mut all = self.all();
        if let Some(lease) = all.get(name).filter(|lease| lease.is_live())
            && *lease.value != *holder
            && Some(&*lease.value) != take_from
        {
            return Ok(lease.value.as_ref().to_owned());
        }
        if all.len() >= CAPACITY {
            all.retain(|_, lease| lease.is_live());
        }
        if all.len() >= CAPACITY {
            return Err(io::Error::other("MemoryLeases is full; use a lease store outside the process"));
        }
        all.insert(name.into(), WithExpiry::new(holder.into(), ttl));
        Ok(holder.to_owned())
    }

    async fn release(&self, name: &str, holder: &str) -> io::Result<()> {
        let mut all = self.all();
        if all.get(name).is_some_and(|lease| *lease.value == *holder) {
            all.remove(name);
        }
        Ok(())
    }

    async fn holder(&self, name: &str) -> io::Result<Option<String>> {
        Ok(self.all().get(name).filter(|lease| lease.is_live()).map(|lease| lease.value.as_ref().to_owned()))
    }
}

/// Omits the names: they may contain session ids, which are secrets.
impl fmt::Debug for MemoryLeases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryLeases").field("leases", &self.all().len()).finish_non_exhaustive()
    }
}
