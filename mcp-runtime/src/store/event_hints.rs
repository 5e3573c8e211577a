//! Hints for readers of streams: something may have been appended. Only those who read a stream are told.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;

use crate::sync::lock;

/// How often a reader looks for itself, when its store gives no hints.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The readers that wait for events, by the name of their stream: for an [`EventStore`](super::EventStore) that tells
/// them. Clones share it. A name that nobody watches takes no memory.
///
/// A store in another process is told of an append at one replica, and calls [`tell`](Self::tell) at the others. To
/// listen only for streams that are watched here, it follows [`watched`](Self::watched).
#[derive(Clone, Default)]
pub struct EventHints(Arc<Hints>);

#[derive(Default)]
struct Hints {
    readers: Mutex<HashMap<Box<str>, Watched>>,
    /// Notified when a name was added or removed.
    changed: Notify,
}

/// The readers of one stream, each with a number and a signal of its own.
#[derive(Default)]
struct Watched(Vec<(u64, Arc<Notify>)>);

impl EventHints {
    /// Hints without readers.
    pub fn new() -> Self {
        Self::default()
    }

    fn readers(&self) -> MutexGuard<'_, HashMap<Box<str>, Watched>> {
        lock(&self.0.readers)
    }

    /// Watches a stream from now on, until the watch is dropped.
    pub fn watch(&self, stream: &str) -> EventWatch {
        let told = Arc::new(Notify::new());
        let mut readers = self.readers();
        let is_new = !readers.contains_key(stream);
        let watched = readers.entry(stream.into()).or_default();
        let number = watched.0.last().map_or(0, |(last, _)| last + 1);
        watched.0.push((number, Arc::clone(&told)));
        drop(readers);
        if is_new {
            self.0.changed.notify_one();
        }
        EventWatch(Some(Watching { hints: self.clone(), stream: stream.into(), number, told }))
    }

    /// Tells those who watch a stream that it may have changed.
    pub fn tell(&self, stream: &str) {
        if let Some(watched) = self.readers().get(stream) {
            watched.tell();
        }
    }

    /// Tells everybody, because hints may have been lost.
    pub fn tell_all(&self) {
        self.readers().values().for_each(Watched::tell);
    }

    /// The names of the streams that are watched.
    pub fn watched(&self) -> Vec<String> {
        self.readers().keys().map(|stream| stream.as_ref().to_owned()).collect()
    }

    /// Waits until [`watched`](Self::watched) has changed since this last returned. For one task.
    pub async fn watched_changed(&self) {
        self.0.changed.notified().await;
    }

    fn forget(&self, stream: &str, number: u64) {
        let mut readers = self.readers();
        let Some(watched) = readers.get_mut(stream) else { return };
        watched.0.retain(|(other, _)| *other != number);
        if watched.0.is_empty() {
            readers.remove(stream);
            drop(readers);
            self.0.changed.notify_one();
        }
    }
}

impl Watched {
    fn tell(&self) {
        // The permit stays if the reader is not waiting right now.
        self.0.iter().for_each(|(_, told)| told.notify_one());
    }
}

/// A reader that waits for events of one stream, made by [`EventStore::watch`](super::EventStore::watch).
#[derive(Default)]
pub struct EventWatch(Option<Watching>);

struct Watching {
    hints: EventHints,
    stream: Box<str>,
    number: u64,
    told: Arc<Notify>,
}

impl EventWatch {
    /// A watch without hints: [`changed`](Self::changed) returns four times a second.
    pub fn polling() -> Self {
        Self::default()
    }

    /// Waits until the stream may have changed since the watch began or this last returned.
    pub async fn changed(&self) {
        match &self.0 {
            Some(watching) => watching.told.notified().await,
            None => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.hints.forget(&self.stream, self.number);
    }
}

/// Without the names of streams, which are secrets.
impl fmt::Debug for EventHints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventHints").field("watched", &self.readers().len()).finish_non_exhaustive()
    }
}

/// Without the name of the stream, which is a secret.
impl fmt::Debug for EventWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventWatch").field("polling", &self.0.is_none()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    async fn is_told(watch: &EventWatch) -> bool {
        timeout(Duration::from_millis(20), watch.changed()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn every_reader_of_a_stream_is_told_and_no_other() {
        let hints = EventHints::new();
        let (one, two, other) = (hints.watch("a"), hints.watch("a"), hints.watch("b"));
        hints.tell("a");
        hints.tell("a");
        hints.tell("unknown");
        assert!(is_told(&one).await && is_told(&two).await && !is_told(&other).await);
        assert!(!is_told(&one).await, "equal hints are one");
        drop(one);
        hints.tell_all();
        assert!(is_told(&two).await && is_told(&other).await);
    }

    #[tokio::test(start_paused = true)]
    async fn names_are_watched_while_there_are_readers() {
        let hints = EventHints::new();
        let (one, two) = (hints.watch("a"), hints.watch("a"));
        timeout(Duration::from_millis(20), hints.watched_changed()).await.unwrap();
        drop(one);
        assert_eq!(hints.watched(), ["a"]);
        drop(two);
        timeout(Duration::from_millis(20), hints.watched_changed()).await.unwrap();
        assert!(hints.watched().is_empty());
    }
}
