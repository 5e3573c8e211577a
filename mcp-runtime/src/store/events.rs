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
    /// Makes a stream known, if it is not, and keeps it and its events for at least `keep` from now
    /// on. After that, if this was not said again, it is forgotten.
    fn keep(&self, stream: &str, keep: Duration) -> impl Future<Output = io::Result<()>> + Send;

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
    fn end(&self, stream: &str) -> impl Future<Output = io::Result<()>> + Send;

    /// What came after the event with this number; 0 is before the first. None if the stream is not
    /// known, or if an event after that one is missing: the next would be below the last `oldest`. A number
    /// that is yet to come is no mistake: nothing came after it.
    fn after(&self, stream: &str, number: u64) -> impl Future<Output = io::Result<Option<Tail>>> + Send;

    /// Forgets a stream and its events.
    fn forget(&self, stream: &str) -> impl Future<Output = io::Result<()>> + Send;
}

/// The end of a stream, as far as there is one yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tail {
    /// The events, each with its number, in order.
    pub events: Vec<(u64, Vec<u8>)>,
    /// Whether no more will come.
    pub over: bool,
}

/// An [`EventStore`], whichever it is.
pub(crate) trait DynEventStore: fmt::Debug + Send + Sync {
    fn keep<'a>(&'a self, stream: &'a str, keep: Duration) -> StoreFuture<'a, ()>;
    fn append<'a>(&'a self, stream: &'a str, number: u64, event: &'a [u8], oldest: u64) -> StoreFuture<'a, ()>;
    fn end<'a>(&'a self, stream: &'a str) -> StoreFuture<'a, ()>;
    fn after<'a>(&'a self, stream: &'a str, number: u64) -> StoreFuture<'a, Option<Tail>>;
    fn forget<'a>(&'a self, stream: &'a str) -> StoreFuture<'a, ()>;
}

impl<T: EventStore> DynEventStore for T {
    fn keep<'a>(&'a self, stream: &'a str, keep: Duration) -> StoreFuture<'a, ()> {
        Box::pin(EventStore::keep(self, stream, keep))
    }

    fn append<'a>(&'a self, stream: &'a str, number: u64, event: &'a [u8], oldest: u64) -> StoreFuture<'a, ()> {
        Box::pin(EventStore::append(self, stream, number, event, oldest))
    }

    fn end<'a>(&'a self, stream: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(EventStore::end(self, stream))
    }

    fn after<'a>(&'a self, stream: &'a str, number: u64) -> StoreFuture<'a, Option<Tail>> {
        Box::pin(EventStore::after(self, stream, number))
    }

    fn forget<'a>(&'a self, stream: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(EventStore::forget(self, stream))
    }
}
