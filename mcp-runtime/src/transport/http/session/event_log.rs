//! The events of a stream in the store: written there as they come, and replayed from there for a client
//! that reconnects to another replica.
//!
//! A call never waits for the store. It writes to the stream in this process, which is bounded, and a task
//! copies that to the store. When the store is so slow that the stream drops events before they are copied,
//! the store learns which ones are missing, and a client that needs them gets an error. The writer alone decides
//! which events are kept, so a store needs no limits.
//!
//! A replica that follows another's stream polls the store for as long as a client waits: a store with
//! notifications of its own would be much harder to implement. The writer sends heartbeats; without them its
//! streams expire, and their readers are disconnected.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, sleep};

use super::Session;
use super::stream::id::{EventId, StreamId, StreamKind};
use super::stream::{EventStream, Reader};
use crate::call::control::ConnectionControl;
use crate::store::{DynEventStore, EventTail, Unavailable, with_timeout};
use crate::transport::http::response::body::Events;

/// The time to live of a stream whose writer has stopped sending heartbeats.
const HEARTBEAT_TTL: Duration = Duration::from_mins(2);
const HEARTBEAT: Duration = Duration::from_secs(30);
/// How often the store is asked for new events of another replica.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// A stream in the store.
#[derive(Debug, Clone)]
struct EventLog {
    events: Arc<dyn DynEventStore>,
    name: String,
    timeout: Duration,
}

impl EventLog {
    /// The log of a session's stream, if there is an event store.
    fn of(session: &Session, stream: StreamId) -> Option<Self> {
        let stored = session.stored.as_ref()?;
        let events = Arc::clone(stored.stores.events.as_ref()?);
        Some(EventLog { events, name: format!("{}.{stream}", stored.id), timeout: session.core.limits.store_timeout })
    }

    async fn touch(&self, ttl: Duration) -> Result<(), Unavailable> {
        with_timeout(self.timeout, "touch stream", self.events.touch(&self.name, ttl)).await
    }

    async fn append(&self, number: u64, event: &[u8], oldest: u64) -> Result<(), Unavailable> {
        with_timeout(self.timeout, "append event", self.events.append(&self.name, number, event, oldest)).await
    }

    async fn close(&self) -> Result<(), Unavailable> {
        with_timeout(self.timeout, "close stream", self.events.close(&self.name)).await
    }

    async fn read_after(&self, number: u64) -> Result<Option<EventTail>, Unavailable> {
        with_timeout(self.timeout, "read events", self.events.read_after(&self.name, number)).await
    }

    async fn remove(&self) -> Result<(), Unavailable> {
        with_timeout(self.timeout, "remove stream", self.events.remove(&self.name)).await
    }

    /// Copies the events after `at` until the stream ends, and keeps them for `ttl` from then on.
    async fn write(self, stream: &EventStream, mut at: u64, control: &ConnectionControl, ttl: Duration) {
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

/// Opens a stream: the session's own, or that of a request.
pub(crate) async fn open(session: &Arc<Session>, kind: StreamKind) -> Arc<EventStream> {
    // A session without a store needs no random id.
    let id = if session.stored.is_some() { random_id(kind) } else { None };
    match id.and_then(|id| Some((id, EventLog::of(session, id)?))) {
        None => session.streams.open(kind, || session.replay_budget()),
        Some((id, log)) => Box::pin(open_logged(session, id, log)).await,
    }
}

/// Opens a stream that is in the store before its client learns its id.
async fn open_logged(session: &Arc<Session>, id: StreamId, log: EventLog) -> Arc<EventStream> {
    let (stream, dropped) = session.streams.open_as(id, || session.replay_budget());
    // If the store fails, the stream can still be resumed at this replica.
    if log.touch(HEARTBEAT_TTL).await.is_ok() {
        start_writing(session, &stream, log, 0);
    }
    for log in dropped.into_iter().filter_map(|id| EventLog::of(session, id)) {
        tokio::spawn(async move { log.remove().await });
    }
    stream
}

/// Starts the task that copies a stream to the store.
fn start_writing(session: &Session, stream: &Arc<EventStream>, log: EventLog, at: u64) {
    let (stream, control, ttl) =
        (Arc::clone(stream), Arc::clone(&session.control), session.core.limits.session_idle_timeout);
    // A call runs until its answer is in the store. A session's own stream has no answer to wait for.
    let running = (stream.id.kind == StreamKind::Request).then(|| control.in_flight.running());
    tokio::spawn(async move {
        let _running = running;
        log.write(&stream, at, &control, ttl).await;
    });
}

/// An id that no other replica uses. They do not agree on the next number, so it is random.
fn random_id(kind: StreamKind) -> Option<StreamId> {
    let mut random = [0; 8];
    crate::random::fill(&mut random).ok()?;
    Some(StreamId { kind, number: u64::from_ne_bytes(random) })
}

/// The rest of a stream.
#[derive(Debug)]
pub(crate) enum Resumed {
    /// This replica writes the stream, or has.
    Local(Reader),
    /// Another replica writes the stream, or has.
    Remote(RemoteTail),
}

/// Replays what came after an event, and follows the stream from there. `None` if the id is unknown or events
/// after it are missing.
pub(crate) async fn resume(session: &Arc<Session>, last_event: &str) -> Result<Option<Resumed>, Unavailable> {
    let Ok(id) = last_event.parse::<EventId>() else { return Ok(None) };
    let EventId { stream, event } = id;
    let local = || session.streams.resume(id).map(Resumed::Local);
    let Some(log) = EventLog::of(session, stream) else { return Ok(local()) };
    // If the one writer of a request's stream is here, the store has nothing that is not here, too.
    if stream.kind == StreamKind::Request
        && let Some(reader) = local()
    {
        return Ok(Some(reader));
    }
    let Some(tail) = log.read_after(event).await? else { return Ok(None) };
    if stream.kind == StreamKind::Request || tail.closed {
        return Ok(Some(Resumed::Remote(RemoteTail::new(session, log, event, tail))));
    }
    // The session's own stream is written by the replica its client has reconnected to: now this one.
    let last = tail.events.last().map_or(event, |(last, _)| *last);
    if session.streams.last(stream).is_some_and(|known| known >= last)
        && let Some(reader) = local()
    {
        return Ok(Some(reader));
    }
    let reader = session.streams.adopt(id, tail, || session.replay_budget());
    start_writing(session, &reader.stream, log, last);
    Ok(Some(Resumed::Local(reader)))
}

/// Removes the streams of a session that has ended from the store.
pub(crate) fn remove_all(session: &Session) {
    let logs: Vec<_> = session.streams.ids().into_iter().filter_map(|id| EventLog::of(session, id)).collect();
    tokio::spawn(async move {
        for log in logs {
            let _ = log.remove().await;
        }
    });
}

/// The rest of a stream that another replica writes, read from the store.
pub(crate) struct RemoteTail {
    work: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    events: mpsc::Receiver<Vec<u8>>,
}

impl RemoteTail {
    fn new(session: &Arc<Session>, log: EventLog, at: u64, tail: EventTail) -> Self {
        let (outbox, events) = mpsc::channel(1);
        let session = Arc::clone(session);
        let work = Box::pin(async move {
            // Keeps the session from expiring.
            let _running = session.control.in_flight.running();
            tokio::select! {
                () = session.closing() => {}
                () = follow(&log, at, tail, &outbox) => {}
            }
        });
        RemoteTail { work: Some(work), events }
    }
}

/// Follows a stream to its end, or until it has expired, as the stream of a crashed replica does.
async fn follow(log: &EventLog, mut at: u64, mut tail: EventTail, outbox: &mpsc::Sender<Vec<u8>>) {
    loop {
        for (number, event) in tail.events {
            at = number;
            if outbox.send(event).await.is_err() {
                return;
            }
        }
        if tail.closed {
            return;
        }
        sleep(POLL_INTERVAL).await;
        match log.read_after(at).await {
            Ok(Some(next)) => tail = next,
            // The client reconnects, and gets the error.
            Ok(None) | Err(Unavailable) => return,
        }
    }
}

impl Events for RemoteTail {
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(work) = &mut self.work
            && work.as_mut().poll(cx).is_ready()
        {
            self.work = None;
        }
        self.events.poll_recv(cx).map(|event| event.map(Into::into))
    }
}

impl std::fmt::Debug for RemoteTail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteTail").finish_non_exhaustive()
    }
}
