//! Sessions in memory: for several services of one process, and to see what a store does.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use super::expiring::Expiring;
use crate::store::{SessionRecord, SessionStore};

/// How many sessions there may be.
const MOST: usize = 100_000;

/// A [`SessionStore`] in memory. It holds up to 100 000 sessions, and refuses more.
#[derive(Default)]
pub struct MemorySessions(Mutex<SessionTable>);

type SessionTable = HashMap<Box<str>, Expiring<SessionRecord>>;

impl MemorySessions {
    /// A store without sessions.
    pub fn new() -> Self {
        Self::default()
    }

    fn all(&self) -> MutexGuard<'_, SessionTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionStore for MemorySessions {
    async fn create(&self, id: &str, record: &SessionRecord, ttl: Duration) -> io::Result<()> {
        let mut all = self.all();
        if all.len() >= MOST {
            all.retain(|_, entry| entry.is_there());
        }
        if all.len() >= MOST {
            return Err(io::Error::other("there are too many sessions; keep them somewhere else than in memory"));
        }
        all.insert(id.into(), Expiring::new(record.clone(), ttl));
        Ok(())
    }

    async fn load(&self, id: &str) -> io::Result<Option<SessionRecord>> {
        Ok(self.all().get(id).filter(|entry| entry.is_there()).map(|entry| entry.value.clone()))
    }

    async fn update(&self, id: &str, record: &SessionRecord, ttl: Duration) -> io::Result<bool> {
        let mut all = self.all();
        let before = all.get_mut(id).filter(|entry| entry.is_there() && entry.value.version + 1 == record.version);
        Ok(before.map(|before| *before = Expiring::new(record.clone(), ttl)).is_some())
    }

    async fn touch(&self, id: &str, ttl: Duration) -> io::Result<bool> {
        let mut all = self.all();
        let there = all.get_mut(id).filter(|entry| entry.is_there());
        Ok(there.map(|entry| entry.prolong(ttl)).is_some())
    }

    async fn remove(&self, id: &str) -> io::Result<()> {
        self.all().remove(id);
        Ok(())
    }
}

/// Without ids, which are secrets.
impl fmt::Debug for MemorySessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemorySessions").field("sessions", &self.all().len()).finish_non_exhaustive()
    }
}
