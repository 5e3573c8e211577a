//! The session store in memory.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;
use std::{fmt, io};

use super::expiry::{WithExpiry, sweep};
use crate::store::{SessionRecord, SessionStore};
use crate::sync::lock;

/// The number of sessions the store holds at most.
const CAPACITY: usize = 100_000;

/// A [`SessionStore`] in memory, for several services in one process and for tests. It holds up to
/// 100 000 sessions and rejects more.
#[derive(Default)]
pub struct MemorySessions(Mutex<SessionTable>);

type SessionTable = HashMap<Box<str>, WithExpiry<SessionRecord>>;

impl MemorySessions {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn all(&self) -> MutexGuard<'_, SessionTable> {
        lock(&self.0)
    }
}

impl SessionStore for MemorySessions {
    async fn create(&self, id: &str, record: &SessionRecord, ttl: Duration) -> io::Result<()> {
        let mut all = self.all();
        if all.len() >= CAPACITY {
            all.retain(|_, entry| entry.is_live());
        }
        if all.len() >= CAPACITY {
            return Err(io::Error::other("MemorySessions is full; use a session store outside the process"));
        }
        all.insert(id.into(), WithExpiry::new(record.clone(), ttl));
        Ok(())
    }

    async fn load(&self, id: &str) -> io::Result<Option<SessionRecord>> {
        Ok(self.all().get(id).filter(|entry| entry.is_live()).map(|entry| entry.value.clone()))
    }

    async fn update(&self, id: &str, record: &SessionRecord, ttl: Duration) -> io::Result<bool> {
        let mut all = self.all();
        let before = all.get_mut(id).filter(|entry| entry.is_live() && entry.value.version + 1 == record.version);
        Ok(before.map(|before| *before = WithExpiry::new(record.clone(), ttl)).is_some())
    }

    async fn touch(&self, id: &str, ttl: Duration) -> io::Result<bool> {
        let mut all = self.all();
        let live = all.get_mut(id).filter(|entry| entry.is_live());
        Ok(live.map(|entry| entry.touch(ttl)).is_some())
    }

    async fn remove(&self, id: &str) -> io::Result<()> {
        self.all().remove(id);
        Ok(())
    }

    async fn sweep(&self) -> io::Result<Option<Duration>> {
        Ok(sweep(&mut self.all()))
    }
}

/// Omits the session ids, which are secrets.
impl fmt::Debug for MemorySessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemorySessions").field("sessions", &self.all().len()).finish_non_exhaustive()
    }
}
