//! The streams of a session, in this process and in the store: opened, and resumed at any replica.

use std::sync::{Arc, Weak};

use super::Session;
use super::fleet::claim::FleetClaim;
use super::fleet::remote_tail::RemoteTail;
use super::stream::head::StreamHead;
use super::stream::id::{EventId, StreamId, StreamKind};
use super::stream::log::{EventLog, FIRST_RETRY, LONGEST_RETRY};
use super::stream::{EventStream, Reader};
use crate::call::control::ConnectionControl;
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
    // If the store fails, the stream can be resumed at this replica, and at others when the store is back.
    let head = head_of(session, id, requests);
    let is_stored = announce(session, &log, head.as_ref()).await.is_ok();
    let late = (!is_stored).then(|| Late { session: Arc::downgrade(session), head });
    start_writing(session, &stream, log, 0, late);
    for log in dropped.into_iter().filter_map(|id| EventLog::of(session, id)) {
        tokio::spawn(async move { log.remove().await });
    }
    stream
}

/// Puts a stream into the store. The one of a request says which replica runs the call; that replica lives, from then on,
/// as far as others know.
async fn announce(session: &Session, log: &EventLog, head: Option<&StreamHead>) -> Result<(), Unavailable> {
    match session.replica().zip(head) {
        Some((replica, head)) => {
            replica.live(&session.core.limits).await?;
            log.open(head).await
        }
        None => log.touch().await,
    }
}

/// What the store knows of the stream of a request, if other replicas share it.
fn head_of(session: &Session, id: StreamId, requests: &[Box<str>]) -> Option<StreamHead> {
    let replica = session.replica().filter(|_| id.kind == StreamKind::Request)?;
    Some(StreamHead::new(&replica.id, requests))
}

/// A stream that is not in the store yet, because that was away.
struct Late {
    session: Weak<Session>,
    head: Option<StreamHead>,
}

impl Late {
    /// Puts the stream into the store as soon as that is back. False if its session ends before, or nobody would look for
    /// the stream any more.
    async fn announce(self, log: &EventLog, control: &ConnectionControl) -> bool {
        let announced = async {
            let mut pause = FIRST_RETRY;
            loop {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_RETRY);
                let Some(session) = self.session.upgrade() else { return false };
                if announce(&session, log, self.head.as_ref()).await.is_ok() {
                    return true;
                }
            }
        };
        tokio::select! {
            announced = tokio::time::timeout(log.ttl, announced) => announced.unwrap_or(false),
            () = control.closing() => false,
        }
    }
}

/// Starts the task that copies a stream to the store.
fn start_writing(session: &Session, stream: &Arc<EventStream>, log: EventLog, at: u64, late: Option<Late>) {
    let (stream, control) = (Arc::clone(stream), Arc::clone(&session.control));
    // A call runs until its answer is in the store. A session's own stream has no answer to wait for.
    let running = (stream.id.kind == StreamKind::Request).then(|| control.in_flight.running());
    tokio::spawn(async move {
        let _running = running;
        let is_stored = match late {
            Some(late) => late.announce(&log, &control).await,
            None => true,
        };
        if is_stored {
            log.write(&stream, at, &control).await;
        }
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
    start_writing(session, &reader.stream, log, last, None);
    Ok(Some(Resumed::Own(reader, claim)))
}

/// Removes the streams of a session that has ended from the store, those that were written here.
pub(crate) fn remove_all(session: &Session) {
    let logs: Vec<_> = session.streams.forget().into_iter().filter_map(|id| EventLog::of(session, id)).collect();
    tokio::spawn(async move {
        for log in logs {
            let _ = log.remove().await;
        }
    });
}
