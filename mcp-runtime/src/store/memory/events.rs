//! The event store in memory.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;
use std::{fmt, io};

use super::expiry::{WithExpiry, sweep};
use crate::store::{EventHints, EventStore, EventTail, EventWatch};
use crate::sync::lock;

/// The number of streams the store holds at most.
const CAPACITY: usize = 100_000;

/// An [`EventStore`] in memory, for several services in one process and for tests. It holds up to
/// 100 000 streams and rejects more.
#[derive(Default)]
pub struct MemoryEvents {
    streams: Mutex<EventTable>,
    hints: EventHints,
}

type EventTable = HashMap<Box<str>, WithExpiry<StoredStream>>;

#[derive(Debug, Default)]
struct StoredStream {
    events: VecDeque<(u64, Vec<u8>)>,
    /// No event above this number has been discarded.
    complete_after: u64,
    closed: bool,
    head: Option<Box<str>>,
}

impl MemoryEvents {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn all(&self) -> MutexGuard<'_, EventTable> {
        lock(&self.streams)
    }

    /// Runs `act` on a stream, unless it is unknown or expired.
    fn with<T>(&self, stream: &str, act: impl FnOnce(&mut StoredStream) -> T) -> Option<T> {
        self.all().get_mut(stream).filter(|stream| stream.is_live()).map(|stream| act(&mut stream.value))
    }
}

impl EventStore for MemoryEvents {
    async fn touch(&self, stream: &str, ttl: Duration) -> io::Result<()> {
        let mut all = self.all();
        if let Some(known) = all.get_mut(stream).filter(|known| known.is_live()) {
            known.touch(ttl);
            return Ok(());
        }
        if all.len() >= CAPACITY {
            all.retain(|_, stream| stream.is_live());
        }
        if all.len() >= CAPACITY {
            return Err(io::Error::other("MemoryEvents is full; use an event store outside the process"));
        }
        all.insert(stream.into(), WithExpiry::new(StoredStream::default(), ttl));
        Ok(())
    }

    async fn open(&self, stream: &str, head: &str, ttl: Duration) -> io::Result<()> {
        self.touch(stream, ttl).await?;
        self.with(stream, |known| known.head = Some(head.into()));
        Ok(())
    }

    async fn append(&self, stream: &str, number: u64, event: &[u8], oldest: u64) -> io::Result<()> {
        self.with(stream, |known| {
            // An older writer may not know yet that another has taken its place.
            if known.events.back().is_some_and(|(last, _)| *last >= number) {
                return;
            }
            known.events.push_back((number, event.to_vec()));
            known.complete_after = known.complete_after.max(oldest.saturating_sub(1));
            while known.events.front().is_some_and(|(number, _)| *number < oldest) {
                known.events.pop_front();
            }
        });
        self.hints.tell(stream);
        Ok(())
    }

    async fn close(&self, stream: &str) -> io::Result<()> {
        self.with(stream, |known| known.closed = true);
        self.hints.tell(stream);
        Ok(())
    }

    async fn read_after(&self, stream: &str, number: u64) -> io::Result<Option<EventTail>> {
        let tail = self.with(stream, |known| {
            let events = known.events.iter().filter(|(at, _)| *at > number).cloned().collect();
            let head = known.head.as_deref().map(str::to_owned);
            (number >= known.complete_after).then_some(EventTail { events, closed: known.closed, head })
        });
        Ok(tail.flatten())
    }

    async fn remove(&self, stream: &str) -> io::Result<()> {
        self.all().remove(stream);
        self.hints.tell(stream);
        Ok(())
    }

    fn watch(&self, stream: &str) -> EventWatch {
        self.hints.watch(stream)
    }

    async fn wake(&self, stream: &str) -> io::Result<()> {
        self.hints.tell(stream);
        Ok(())
    }

    async fn sweep(&self) -> io::Result<Option<Duration>> {
        Ok(sweep(&mut self.all()))
    }
}

/// Omits the stream names: they contain session ids, which are secrets.
impl fmt::Debug for MemoryEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryEvents").field("streams", &self.all().len()).finish_non_exhaustive()
    }
}
