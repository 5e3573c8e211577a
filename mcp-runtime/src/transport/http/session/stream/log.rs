//! A stream in the event store: its writer copies events there as they come.
//!
//! A call never waits for the store. It writes to the stream in this process, which is bounded, and a task
//! copies that to the store, again and again while the store is away. When the store is away or slow for so long that the
//! stream drops events before they are copied, the store learns which ones are missing, and a client that needs them gets
//! an error. The writer alone decides
//! which events are kept, so a store needs no limits. It sends heartbeats; without them its streams expire.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior};

use super::head::StreamHead;
use super::id::StreamId;
use super::{EventStream, News};
use crate::call::control::ConnectionControl;
use crate::store::{DynEventStore, EventTail, EventWatch, Unavailable, with_timeout};
use crate::transport::http::session::Session;

/// The shortest time to live of a stream whose writer has stopped sending heartbeats.
const SHORTEST_TTL: Duration = Duration::from_secs(2 * 60);
/// A stream is touched whenever this part of its time to live has passed.
const HEARTBEAT_PART: u32 = 16;
/// The pauses between tries while the store is away.
pub(crate) const FIRST_RETRY: Duration = Duration::from_millis(50);
pub(crate) const LONGEST_RETRY: Duration = Duration::from_secs(1);

/// A stream in the store.
#[derive(Debug, Clone)]
pub(crate) struct EventLog {
    events: Arc<dyn DynEventStore>,
    name: String,
    pub(crate) id: StreamId,
    timeout: Duration,
    /// As long as its session: a client may take that long to reconnect after its replica has died.
    pub(crate) ttl: Duration,
}

impl EventLog {
    /// The log of a session's stream, if there is an event store.
    pub(crate) fn of(session: &Session, stream: StreamId) -> Option<Self> {
        let stored = session.stored.as_ref()?;
        let events = Arc::clone(stored.stores.events.as_ref()?);
        let (name, limits) = (format!("{}.{stream}", stored.id), &session.core.limits);
        let ttl = limits.session_idle_timeout.max(SHORTEST_TTL);
        Some(EventLog { events, name, id: stream, timeout: limits.store_timeout, ttl })
    }

    /// Puts the stream into the store, or extends its time to live there.
    pub(crate) async fn touch(&self) -> Result<(), Unavailable> {
        with_timeout(self.timeout, "touch stream", self.events.touch(&self.name, self.ttl)).await
    }

    /// Puts the stream into the store, with its head.
    pub(crate) async fn open(&self, head: &StreamHead) -> Result<(), Unavailable> {
        let head = head.to_text();
        with_timeout(self.timeout, "open stream", self.events.open(&self.name, &head, self.ttl)).await
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

    /// Copies the events after `at` until the stream ends, and keeps them for a while from then on.
    pub(crate) async fn write(self, stream: &EventStream, mut at: u64, control: &ConnectionControl) {
        let (mut pause, mut away_since) = (FIRST_RETRY, None);
        let period = self.ttl / HEARTBEAT_PART;
        let mut heartbeat = tokio::time::interval_at(Instant::now() + period, period);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let news = tokio::select! {
                // In this order: heartbeats go on however much there is to write, and events that are there
                // are written before a closing session ends the task.
                biased;
                _ = heartbeat.tick() => {
                    let _ = self.touch().await;
                    continue;
                }
                news = stream.news(at) => news,
                () = control.closing() => return,
            };
            let (is_last, abandoned) = (news.over, news.abandoned);
            let copied = self.copy(news, &mut at).await;
            if abandoned || (is_last && copied.is_ok()) {
                return;
            }
            if copied.is_ok() {
                (pause, away_since) = (FIRST_RETRY, None);
                continue;
            }
            // What was not copied is still here, or is missing from then on.
            if away_since.get_or_insert_with(Instant::now).elapsed() > self.ttl {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(LONGEST_RETRY),
                () = control.closing() => return,
            }
        }
    }

    /// Copies events, and the end of the stream. `at` is the last one that is in the store.
    async fn copy(&self, news: News, at: &mut u64) -> Result<(), Unavailable> {
        for (number, event) in news.events {
            self.append(number, &event, news.oldest).await?;
            *at = number;
        }
        if news.over && !news.abandoned {
            self.close().await?;
            let _ = self.touch().await;
        }
        Ok(())
    }
}
