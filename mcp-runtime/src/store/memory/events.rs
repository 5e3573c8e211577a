//! Events in memory: for several services of one process, and to see what a store does.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use super::expiring::Expiring;
use crate::store::{EventStore, EventTail};

/// How many streams there may be.
const MOST: usize = 100_000;

/// An [`EventStore`] in memory. It knows up to 100 000 streams, and refuses more.
#[derive(Default)]
pub struct MemoryEvents(Mutex<EventTable>);

type EventTable = HashMap<Box<str>, Expiring<StoredStream>>;

#[derive(Debug, Default)]
struct StoredStream {
    events: VecDeque<(u64, Vec<u8>)>,
    /// Everything after this event is there, or yet to come.
    whole_after: u64,
    over: bool,
}

impl MemoryEvents {
    /// A store without streams.
    pub fn new() -> Self {
        Self::default()
    }

    fn all(&self) -> MutexGuard<'_, EventTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with a stream, if it is known.
    fn with<T>(&self, stream: &str, act: impl FnOnce(&mut StoredStream) -> T) -> Option<T> {
        self.all().get_mut(stream).filter(|stream| stream.is_there()).map(|stream| act(&mut stream.value))
    }
}

impl EventStore for MemoryEvents {
    async fn touch(&self, stream: &str, ttl: Duration) -> io::Result<()> {
        let mut all = self.all();
        if let Some(known) = all.get_mut(stream).filter(|known| known.is_there()) {
            known.prolong(ttl);
            return Ok(());
        }
        if all.len() >= MOST {
            all.retain(|_, stream| stream.is_there());
        }
        if all.len() >= MOST {
            return Err(io::Error::other("there are too many streams; keep them somewhere else than in memory"));
        }
        all.insert(stream.into(), Expiring::new(StoredStream::default(), ttl));
        Ok(())
    }

    async fn append(&self, stream: &str, number: u64, event: &[u8], oldest: u64) -> io::Result<()> {
        self.with(stream, |known| {
            known.events.push_back((number, event.to_vec()));
            known.whole_after = known.whole_after.max(oldest.saturating_sub(1));
            while known.events.front().is_some_and(|(number, _)| *number < oldest) {
                known.events.pop_front();
            }
        });
        Ok(())
    }

    async fn close(&self, stream: &str) -> io::Result<()> {
        self.with(stream, |known| known.over = true);
        Ok(())
    }

    async fn read_after(&self, stream: &str, number: u64) -> io::Result<Option<EventTail>> {
        let tail = self.with(stream, |known| {
            let events = known.events.iter().filter(|(at, _)| *at > number).cloned().collect();
            (number >= known.whole_after).then_some(EventTail { events, closed: known.over })
        });
        Ok(tail.flatten())
    }

    async fn remove(&self, stream: &str) -> io::Result<()> {
        self.all().remove(stream);
        Ok(())
    }
}

/// Without ids, which are secrets.
impl fmt::Debug for MemoryEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryEvents").field("streams", &self.all().len()).finish_non_exhaustive()
    }
}
