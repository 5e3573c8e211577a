//! Events of streams a client may come back to, kept where every replica can find them.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery>

use std::time::Duration;
use std::{fmt, io};

use super::StoreFuture;

/// Keeps the events of streams, so that a client which was cut off from one replica can go on at
/// another: with what it missed, and with what comes while the call still runs where it began.
///
/// A stream has one writer at a time. Its name is made of letters, digits and `-_.`, and holds the id
/// of its session, which is a secret.
pub trait EventStore: fmt::Debug + Send + Sync + 'static {
    /// Makes a stream known, if it is not, and keeps it and its events for at least `ttl` from now
    /// on. After that, if this was not said again, it is forgotten.
    fn touch(&self, stream: &str, ttl: Duration) -> impl Future<Output = io::Result<()>> + Send;

    /// Adds an event, as it is written to the client, under its number, which is higher than those
    /// before. From now on nothing below `oldest` counts: what is there is to be forgotten, which is what
    /// bounds a stream, and some of it may never have come. If the stream is not known, nothing happens.
    fn append(
        &self,
        stream: &str,
        number: u64,
        event: &[u8],
        oldest: u64,
    ) -> impl Future<Output = io::Result<()>> + Send;

    /// Says that no event comes any more.
    fn close(&self, stream: &str) -> impl Future<Output = io::Result<()>> + Send;

    /// What came after the event with this number; 0 is before the first. None if the stream is not
    /// known, or if an event after that one is missing: the next would be below the last `oldest`. A number
    /// that is yet to come is no mistake: nothing came after it.
    fn read_after(&self, stream: &str, number: u64) -> impl Future<Output = io::Result<Option<EventTail>>> + Send;

    /// Forgets a stream and its events.
    fn remove(&self, stream: &str) -> impl Future<Output = io::Result<()>> + Send;
}

/// The end of a stream, as far as there is one yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventTail {
    /// The events, each with its number, in order.
    pub events: Vec<(u64, Vec<u8>)>,
    /// Whether no more will come.
    pub closed: bool,
}

impl EventTail {
    /// These events, each with its number, in order; `closed` if no more will come.
    pub fn new(events: Vec<(u64, Vec<u8>)>, closed: bool) -> Self {
        EventTail { events, closed }
    }
}

/// An [`EventStore`], whichever it is.
pub(crate) trait DynEventStore: fmt::Debug + Send + Sync {
    fn touch<'a>(&'a self, stream: &'a str, ttl: Duration) -> StoreFuture<'a, ()>;
    fn append<'a>(&'a self, stream: &'a str, number: u64, event: &'a [u8], oldest: u64) -> StoreFuture<'a, ()>;
    fn close<'a>(&'a self, stream: &'a str) -> StoreFuture<'a, ()>;
    fn read_after<'a>(&'a self, stream: &'a str, number: u64) -> StoreFuture<'a, Option<EventTail>>;
    fn remove<'a>(&'a self, stream: &'a str) -> StoreFuture<'a, ()>;
}

impl<T: EventStore> DynEventStore for T {
    fn touch<'a>(&'a self, stream: &'a str, ttl: Duration) -> StoreFuture<'a, ()> {
        Box::pin(EventStore::touch(self, stream, ttl))
    }

    fn append<'a>(&'a self, stream: &'a str, number: u64, event: &'a [u8], oldest: u64) -> StoreFuture<'a, ()> {
        Box::pin(EventStore::append(self, stream, number, event, oldest))
    }

    fn close<'a>(&'a self, stream: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(EventStore::close(self, stream))
    }

    fn read_after<'a>(&'a self, stream: &'a str, number: u64) -> StoreFuture<'a, Option<EventTail>> {
        Box::pin(EventStore::read_after(self, stream, number))
    }

    fn remove<'a>(&'a self, stream: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(EventStore::remove(self, stream))
    }
}
