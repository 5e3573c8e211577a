//! The streams of a session, in this process and in the store: opened, and resumed at any replica.

use std::sync::Arc;

use super::Session;
use super::fleet::claim::FleetClaim;
use super::fleet::remote_tail::RemoteTail;
use super::stream::head::StreamHead;
use super::stream::id::{EventId, StreamId, StreamKind};
use super::stream::log::EventLog;
use super::stream::{EventStream, Reader};
use crate::store::Unavailable;

/// Opens a stream: the session's own, or that of requests with these ids.
pub(crate) async fn open(session: &Arc<Session>, kind: StreamKind, requests: &[Box<str>]) -> Arc<EventStream> {
    // A session without a store needs no random id.
    let id = if session.stored.is_some() { random_id(kind) } else { None };
    match id.and_then(|id| Some((id, EventLog::of(session, id)?))) {
        None => session.streams.open(kind, || session.replay_budget()),
        Some((id, log)) => Box::pin(open_logged(session, id, log, requests)).await,
    }
}

/// Opens a stream that is in the store before its client learns its id.
async fn open_logged(session: &Arc<Session>, id: StreamId, log: EventLog, requests: &[Box<str>]) -> Arc<EventStream> {
    let (stream, dropped) = session.streams.open_as(id, || session.replay_budget());
    // If the store fails, the stream can still be resumed at this replica.
    if announce(session, &log, requests).await.is_ok() {
        start_writing(session, &stream, log, 0);
    }
    for log in dropped.into_iter().filter_map(|id| EventLog::of(session, id)) {
        tokio::spawn(async move { log.remove().await });
    }
    stream
}

/// Puts a stream into the store. The one of a request says which replica runs the call; that replica lives, from then on,
/// as far as others know.
async fn announce(session: &Session, log: &EventLog, requests: &[Box<str>]) -> Result<(), Unavailable> {
    match session.replica() {
        Some(replica) if log.id.kind == StreamKind::Request => {
            replica.live(&session.core.limits).await?;
            log.open(&StreamHead::new(&replica.id, requests)).await
        }
        _ => log.touch().await,
    }
}

/// Starts the task that copies a stream to the store.
fn start_writing(session: &Session, stream: &Arc<EventStream>, log: EventLog, at: u64) {
    let (stream, control) = (Arc::clone(stream), Arc::clone(&session.control));
    // A call runs until its answer is in the store. A session's own stream has no answer to wait for.
    let running = (stream.id.kind == StreamKind::Request).then(|| control.in_flight.running());
    tokio::spawn(async move {
        let _running = running;
        log.write(&stream, at, &control).await;
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
    /// This replica writes the stream of a request, or has.
    Local(Reader),
    /// This replica writes the session's own stream from now on, and has claimed it among replicas.
    Own(Reader, Option<FleetClaim>),
    /// Another replica writes the stream, or has.
    Remote(RemoteTail),
}

/// Replays what came after an event, and follows the stream from there. `None` if the id is unknown or events
/// after it are missing.
pub(crate) async fn resume(session: &Arc<Session>, last_event: &str) -> Result<Option<Resumed>, Unavailable> {
    let Ok(id) = last_event.parse::<EventId>() else { return Ok(None) };
    let EventId { stream, event } = id;
    let local = || session.streams.resume(id);
    let Some(log) = EventLog::of(session, stream) else {
        let kind = |reader| {
            if stream.kind == StreamKind::Session { Resumed::Own(reader, None) } else { Resumed::Local(reader) }
        };
        return Ok(local().map(kind));
    };
    // If the one writer of a request's stream is here, the store has nothing that is not here, too.
    if stream.kind == StreamKind::Request
        && let Some(reader) = local()
    {
        return Ok(Some(Resumed::Local(reader)));
    }
    let Some(tail) = log.read_after(event).await? else { return Ok(None) };
    if stream.kind == StreamKind::Request || tail.closed {
        return Ok(Some(Resumed::Remote(RemoteTail::new(session, log, event, tail))));
    }
    // The session's own stream is written by the replica its client has reconnected to: now this one.
    let claim = FleetClaim::take_over(session).await?;
    let tail = match &claim {
        // The replica that had it may have written something meanwhile.
        Some(_) => log.read_after(event).await?,
        None => Some(tail),
    };
    let Some(tail) = tail else { return Ok(None) };
    let last = tail.events.last().map_or(event, |(last, _)| *last);
    if session.streams.last(stream).is_some_and(|known| known >= last)
        && let Some(reader) = local()
    {
        return Ok(Some(Resumed::Own(reader, claim)));
    }
    let reader = session.streams.adopt(id, tail, || session.replay_budget());
    start_writing(session, &reader.stream, log, last);
    Ok(Some(Resumed::Own(reader, claim)))
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
