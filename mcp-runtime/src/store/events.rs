//! The event store: SSE events kept for replay, shared by all replicas.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery>

use std::time::Duration;
use std::{fmt, io};

use super::StoreFuture;
use super::event_hints::EventWatch;
use crate::panic::catch;

/// Stores the events of SSE streams, so that a client that lost its connection to one replica can
/// resume the stream at another: it replays the events it missed, then follows the call, which keeps
/// running where it began.
///
/// A stream has one writer at a time. Its name consists of letters, digits and `-_.`; it contains the
/// session id, which is a secret.
///
/// [`testing::contract::events`](crate::testing::contract::events()) checks an implementation:
///
/// ```
/// use std::collections::{BTreeMap, HashMap};
/// use std::io::Result;
/// use std::sync::Mutex;
/// use std::time::Duration;
/// use mcp_runtime::store::{EventHints, EventStore, EventTail, EventWatch};
/// use tokio::time::Instant;
///
/// /// Streams in a table, and hints for those who wait for their events.
/// #[derive(Debug, Default)]
/// struct TableOfStreams(Mutex<HashMap<String, Row>>, EventHints);
///
/// #[derive(Debug)]
/// struct Row {
///     head: Option<String>,
///     events: BTreeMap<u64, Vec<u8>>,
///     /// The number of the oldest event that is kept.
///     oldest: u64,
///     closed: bool,
///     expires: Instant,
/// }
///
/// impl TableOfStreams {
///     /// Changes a stream, if it is known, and tells its readers.
///     fn change(&self, stream: &str, change: impl FnOnce(&mut Row)) {
///         self.0.lock().unwrap().get_mut(stream).filter(|row| row.expires > Instant::now()).map(change);
///         self.1.tell(stream);
///     }
/// }
///
/// impl EventStore for TableOfStreams {
///     async fn open(&self, stream: &str, head: &str, ttl: Duration) -> Result<()> {
///         self.touch(stream, ttl).await?;
///         self.change(stream, |row| row.head = Some(head.into()));
///         Ok(())
///     }
///
///     async fn touch(&self, stream: &str, ttl: Duration) -> Result<()> {
///         let mut all = self.0.lock().unwrap();
///         let expires = Instant::now() + ttl;
///         all.retain(|_, row| row.expires > Instant::now());
///         let new = || Row { head: None, events: BTreeMap::new(), oldest: 0, closed: false, expires };
///         all.entry(stream.into()).or_insert_with(new).expires = expires;
///         Ok(())
///     }
///
///     async fn append(&self, stream: &str, number: u64, event: &[u8], oldest: u64) -> Result<()> {
///         self.change(stream, |row| {
///             // An older writer may not know yet that another has taken its place.
///             if row.events.last_key_value().is_none_or(|(last, _)| *last < number) {
///                 row.events.insert(number, event.into());
///                 row.oldest = row.oldest.max(oldest);
///                 row.events = row.events.split_off(&row.oldest);
///             }
///         });
///         Ok(())
///     }
///
///     async fn close(&self, stream: &str) -> Result<()> {
///         self.change(stream, |row| row.closed = true);
///         Ok(())
///     }
///
///     async fn read_after(&self, stream: &str, number: u64) -> Result<Option<EventTail>> {
///         let all = self.0.lock().unwrap();
///         let Some(row) = all.get(stream).filter(|row| row.expires > Instant::now()) else { return Ok(None) };
///         let next = number.saturating_add(1);
///         if next < row.oldest {
///             return Ok(None); // a gap
///         }
///         let events = row.events.range(next..).map(|(number, event)| (*number, event.clone()));
///         Ok(Some(EventTail::new(events.collect(), row.closed).with_head(row.head.clone())))
///     }
///
///     async fn remove(&self, stream: &str) -> Result<()> {
///         self.0.lock().unwrap().remove(stream);
///         self.1.tell(stream);
///         Ok(())
///     }
///
///     fn watch(&self, stream: &str) -> EventWatch {
///         self.1.watch(stream)
///     }
///
///     async fn wake(&self, stream: &str) -> Result<()> {
///         self.1.tell(stream);
///         Ok(())
///     }
/// }
///
/// # // In paused time nothing expires too early on a busy machine.
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// mcp_runtime::testing::contract::events(TableOfStreams::default).await;
/// # }
/// ```
pub trait EventStore: fmt::Debug + Send + Sync + 'static {
    /// Creates the stream with this head, which [`read_after`](Self::read_after) returns, and sets its expiry to `ttl` from
    /// now. The head says who writes the stream.
    fn open(&self, stream: &str, head: &str, ttl: Duration) -> impl Future<Output = io::Result<()>> + Send;

    /// Creates the stream if it is unknown, without a head, and sets its expiry to `ttl` from now. An expired stream
    /// is removed with its events.
    fn touch(&self, stream: &str, ttl: Duration) -> impl Future<Output = io::Result<()>> + Send;

    /// Appends an event, the bytes as written to the client. Numbers increase within a stream.
    /// Discards all events numbered below `oldest`, which bounds the stream; some of them may never
    /// have been appended. Does nothing if the stream is unknown.
    fn append(
        &self,
        stream: &str,
        number: u64,
        event: &[u8],
        oldest: u64,
    ) -> impl Future<Output = io::Result<()>> + Send;

    /// Marks the stream as complete: no more events follow.
    fn close(&self, stream: &str) -> impl Future<Output = io::Result<()>> + Send;

    /// The events numbered above `number`; 0 reads from the start. A number ahead of the newest event
    /// is valid and reads none. Returns `None` if the stream is unknown, or if an event after `number`
    /// was discarded: a client must not resume across a gap.
    fn read_after(&self, stream: &str, number: u64) -> impl Future<Output = io::Result<Option<EventTail>>> + Send;

    /// Removes the stream and its events. Removing an unknown stream succeeds.
    fn remove(&self, stream: &str) -> impl Future<Output = io::Result<()>> + Send;

    /// Removes expired streams, and returns how long it is until the next one expires, if there is one. The server
    /// calls it then, and every half a minute; a store that expires records itself need not implement it.
    fn sweep(&self) -> impl Future<Output = io::Result<Option<Duration>>> + Send {
        async { Ok(None) }
    }

    /// Watches the stream from now on: the watch is told of what is appended or closed, at any replica, by
    /// [`EventHints`](super::EventHints) for example. A hint may come without a reason, or get lost now and then: readers
    /// look for themselves every five seconds. The default gives no hints, and readers look four times a second.
    fn watch(&self, stream: &str) -> EventWatch {
        let _ = stream;
        EventWatch::polling()
    }

    /// Tells those who [watch](Self::watch) this name, at any replica. There need not be such a stream. The default tells
    /// nobody; a store that gives hints implements it.
    fn wake(&self, stream: &str) -> impl Future<Output = io::Result<()>> + Send {
        let _ = stream;
        async { Ok(()) }
    }
}

/// The events read by [`EventStore::read_after`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventTail {
    /// The events with their numbers, in order.
    pub events: Vec<(u64, Vec<u8>)>,
    /// Whether the stream is complete.
    pub closed: bool,
    /// What the stream was [opened](EventStore::open) with.
    pub head: Option<String>,
}

impl EventTail {
    /// Events with their numbers, in order; `closed` if the stream is complete.
    pub fn new(events: Vec<(u64, Vec<u8>)>, closed: bool) -> Self {
        EventTail { events, closed, head: None }
    }

    /// The same, of a stream that was opened with a head.
    pub fn with_head(mut self, head: Option<String>) -> Self {
        self.head = head;
        self
    }
}

/// The object-safe form of [`EventStore`].
pub(crate) trait DynEventStore: fmt::Debug + Send + Sync {
    fn open<'a>(&'a self, stream: &'a str, head: &'a str, ttl: Duration) -> StoreFuture<'a, ()>;
    fn touch<'a>(&'a self, stream: &'a str, ttl: Duration) -> StoreFuture<'a, ()>;
    fn append<'a>(&'a self, stream: &'a str, number: u64, event: &'a [u8], oldest: u64) -> StoreFuture<'a, ()>;
    fn close<'a>(&'a self, stream: &'a str) -> StoreFuture<'a, ()>;
    fn read_after<'a>(&'a self, stream: &'a str, number: u64) -> StoreFuture<'a, Option<EventTail>>;
    fn remove<'a>(&'a self, stream: &'a str) -> StoreFuture<'a, ()>;
    fn sweep(&self) -> StoreFuture<'_, Option<Duration>>;
    fn watch(&self, stream: &str) -> EventWatch;
    fn wake<'a>(&'a self, stream: &'a str) -> StoreFuture<'a, ()>;
}

impl<T: EventStore> DynEventStore for T {
    fn open<'a>(&'a self, stream: &'a str, head: &'a str, ttl: Duration) -> StoreFuture<'a, ()> {
        Box::pin(async move { EventStore::open(self, stream, head, ttl).await })
    }

    fn touch<'a>(&'a self, stream: &'a str, ttl: Duration) -> StoreFuture<'a, ()> {
        Box::pin(async move { EventStore::touch(self, stream, ttl).await })
    }

    fn append<'a>(&'a self, stream: &'a str, number: u64, event: &'a [u8], oldest: u64) -> StoreFuture<'a, ()> {
        Box::pin(async move { EventStore::append(self, stream, number, event, oldest).await })
    }

    fn close<'a>(&'a self, stream: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move { EventStore::close(self, stream).await })
    }

    fn read_after<'a>(&'a self, stream: &'a str, number: u64) -> StoreFuture<'a, Option<EventTail>> {
        Box::pin(async move { EventStore::read_after(self, stream, number).await })
    }

    fn remove<'a>(&'a self, stream: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move { EventStore::remove(self, stream).await })
    }

    fn sweep(&self) -> StoreFuture<'_, Option<Duration>> {
        Box::pin(async move { EventStore::sweep(self).await })
    }

    fn watch(&self, stream: &str) -> EventWatch {
        // A store of the user's that panics gives no hints.
        catch(|| EventStore::watch(self, stream)).unwrap_or_default()
    }

    fn wake<'a>(&'a self, stream: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move { EventStore::wake(self, stream).await })
    }
}
