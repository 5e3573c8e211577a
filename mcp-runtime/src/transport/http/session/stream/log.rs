//! A stream in the event store: its writer copies events there as they come.
//!
//! A call never waits for the store. It writes to the stream in this process, which is bounded, and a task
//! copies that to the store. When the store is so slow that the stream drops events before they are copied,
//! the store learns which ones are missing, and a client that needs them gets an error. The writer alone decides
//! which events are kept, so a store needs no limits. It sends heartbeats; without them its streams expire.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior};

use super::EventStream;
use super::id::StreamId;
use crate::call::control::ConnectionControl;
use crate::store::{DynEventStore, EventTail, EventWatch, Unavailable, with_timeout};
use crate::transport::http::session::Session;

/// The time to live of a stream whose writer has stopped sending heartbeats.
pub(crate) const HEARTBEAT_TTL: Duration = Duration::from_mins(2);
const HEARTBEAT: Duration = Duration::from_secs(30);

/// A stream in the store.
#[derive(Debug, Clone)]
pub(crate) struct EventLog {
    events: Arc<dyn DynEventStore>,
    name: String,
    timeout: Duration,
}

impl EventLog {
    /// The log of a session's stream, if there is an event store.
    pub(crate) fn of(session: &Session, stream: StreamId) -> Option<Self> {
        let stored = session.stored.as_ref()?;
        let events = Arc::clone(stored.stores.events.as_ref()?);
        Some(EventLog { events, name: format!("{}.{stream}", stored.id), timeout: session.core.limits.store_timeout })
    }

    pub(crate) async fn touch(&self, ttl: Duration) -> Result<(), Unavailable> {
        with_timeout(self.timeout, "touch stream", self.events.touch(&self.name, ttl)).await
    }

    async fn append(&self, number: u64, event: &[u8], oldest: u64) -> Result<(), Unavailable> {
        with_timeout(self.timeout, "append event", self.events.append(&self.name, number, event, oldest)).await
    }

    async fn close(&self) -> Result<(), Unavailable> {
        with_timeout(self.timeout, "close stream", self.events.close(&self.name)).await
    }

    pub(crate) async fn read_after(&self, number: u64) -> Result<Option<EventTail>, Unavailable> {
        with_timeout(self.timeout, "read events", self.events.read_after(&self.name, number)).await
    }

    pub(crate) fn watch(&self) -> EventWatch {
        self.events.watch(&self.name)
    }

    pub(crate) async fn remove(&self) -> Result<(), Unavailable> {
        with_timeout(self.timeout, "remove stream", self.events.remove(&self.name)).await
    }

    /// Copies the events after `at` until the stream ends, and keeps them for `ttl` from then on.
    pub(crate) async fn write(self, stream: &EventStream, mut at: u64, control: &ConnectionControl, ttl: Duration) {
        // No event from here on is missing in the store.
        let mut complete_from = 0;
        let mut heartbeat = tokio::time::interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let news = tokio::select! {
                // In this order: heartbeats go on however much there is to write, and events that are there
                // are written before a closing session ends the task.
                biased;
                _ = heartbeat.tick() => {
                    let _ = self.touch(HEARTBEAT_TTL).await;
                    continue;
                }
                news = stream.news(at) => news,
                () = control.closing() => return,
            };
            for (number, event) in news.events {
                if self.append(number, &event, complete_from.max(news.oldest)).await.is_err() {
                    complete_from = number + 1;
                }
                at = number;
            }
            if news.over {
                let _ = self.close().await;
                let _ = self.touch(ttl).await;
                return;
            }
        }
    }
}
