//! Events that are kept in a store: copied there as they come, and read there for a client that was cut
//! off from another replica.
//!
//! A call never waits for the store. What it says goes to the stream in this process, which is bounded,
//! and a task copies it from there. If the store is so slow that the stream forgets what was not copied
//! yet, the store is told what is missing, and a client that would need it is refused.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, sleep};

use super::Session;
use super::stream::{EventStream, Reader};
use super::streams::place;
use crate::call::control::ConnectionControl;
use crate::store::{DynEventStore, EventTail, Unavailable, with_timeout};
use crate::transport::http::response::body::Events;

/// How long a stream is known whose writer gives no sign of life, and how often it gives one.
const ALIVE: Duration = Duration::from_mins(2);
const SIGN: Duration = Duration::from_secs(30);
/// How often it is looked whether another replica has written something.
const LOOK: Duration = Duration::from_millis(250);

/// A stream in the store.
#[derive(Debug, Clone)]
struct EventLog {
    events: Arc<dyn DynEventStore>,
    name: String,
    limit: Duration,
}

impl EventLog {
    /// A stream of a session, where its events are kept.
    fn of(session: &Session, number: u64) -> Option<Self> {
        let kept = session.kept.as_ref()?;
        let events = Arc::clone(kept.stores.events.as_ref()?);
        Some(EventLog { events, name: format!("{}.{number}", kept.id), limit: session.core.limits.store_timeout })
    }

    async fn keep(&self, time: Duration) -> Result<(), Unavailable> {
        with_timeout(self.limit, "a stream is kept", self.events.touch(&self.name, time)).await
    }

    async fn append(&self, number: u64, event: &[u8], oldest: u64) -> Result<(), Unavailable> {
        with_timeout(self.limit, "an event is kept", self.events.append(&self.name, number, event, oldest)).await
    }

    async fn end(&self) -> Result<(), Unavailable> {
        with_timeout(self.limit, "a stream is ended", self.events.close(&self.name)).await
    }

    async fn after(&self, number: u64) -> Result<Option<EventTail>, Unavailable> {
        with_timeout(self.limit, "events are looked up", self.events.read_after(&self.name, number)).await
    }

    async fn forget(&self) -> Result<(), Unavailable> {
        with_timeout(self.limit, "a stream is forgotten", self.events.remove(&self.name)).await
    }

    /// Copies a stream from behind the event `at` until it is over; `time` is how long it is kept then.
    async fn write(self, stream: &EventStream, mut at: u64, control: &ConnectionControl, time: Duration) {
        // From where on nothing is missing.
        let mut whole = 0;
        let mut sign = tokio::time::interval_at(Instant::now() + SIGN, SIGN);
        sign.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let news = tokio::select! {
                // In this order: signs of life are given however much there is to write, and what was said
                // is written, whatever ends now.
                biased;
                _ = sign.tick() => {
                    let _ = self.keep(ALIVE).await;
                    continue;
                }
                news = stream.news(at) => news,
                () = control.closing() => return,
            };
            for (number, event) in news.events {
                if self.append(number, &event, whole.max(news.oldest)).await.is_err() {
                    whole = number + 1;
                }
                at = number;
            }
            if news.over {
                let _ = self.end().await;
                let _ = self.keep(time).await;
                return;
            }
        }
    }
}

/// Opens a stream.
pub(crate) async fn open(session: &Arc<Session>, of_session: bool) -> Arc<EventStream> {
    let numbered = || random_number(of_session).and_then(|number| Some((number, EventLog::of(session, number)?)));
    match session.kept.as_ref().and_then(|_| numbered()) {
        None => session.streams.open(of_session, session.core.limits.event_bytes),
        Some((number, copy)) => Box::pin(open_copied(session, number, of_session, copy)).await,
    }
}

/// Opens a stream that is in the store before its client knows of it.
async fn open_copied(session: &Arc<Session>, number: u64, of_session: bool, copy: EventLog) -> Arc<EventStream> {
    let (stream, forgotten) = session.streams.open_as(number, of_session, session.core.limits.event_bytes);
    // If not, it can be resumed here, and nowhere else.
    if copy.keep(ALIVE).await.is_ok() {
        write(session, &stream, copy, 0);
    }
    for copy in forgotten.into_iter().filter_map(|number| EventLog::of(session, number)) {
        tokio::spawn(async move { copy.forget().await });
    }
    stream
}

/// Begins to copy a stream.
fn write(session: &Session, stream: &Arc<EventStream>, copy: EventLog, at: u64) {
    let (stream, control, time) =
        (Arc::clone(stream), Arc::clone(&session.control), session.core.limits.session_idle_timeout);
    // A call is not over before its answer is in the store. A session's own stream has no end to wait for.
    let running = (!stream.of_session).then(|| control.in_flight.running());
    tokio::spawn(async move {
        let _running = running;
        copy.write(&stream, at, &control, time).await;
    });
}

/// A number no other replica takes, which says what kind of stream it is: the session's own have odd ones.
fn random_number(of_session: bool) -> Option<u64> {
    let mut random = [0; 8];
    crate::random::fill(&mut random).ok()?;
    Some(u64::from_ne_bytes(random) & !1 | u64::from(of_session))
}

/// The rest of a stream.
#[derive(Debug)]
pub(crate) enum Resumed {
    /// It goes on in this process.
    Here(Reader),
    /// Another one writes it, or has.
    Elsewhere(RemoteTail),
}

/// What came after the event with this id, and what will.
pub(crate) async fn resume(session: &Arc<Session>, id: &str) -> Result<Option<Resumed>, Unavailable> {
    let Some((number, event)) = place(id) else { return Ok(None) };
    let here = || session.streams.resume((number, event)).map(Resumed::Here);
    let Some(copy) = EventLog::of(session, number) else { return Ok(here()) };
    // A request has one writer, and if that is here, nothing is anywhere else that is not here, too.
    let of_session = number % 2 == 1;
    if !of_session && let Some(reader) = here() {
        return Ok(Some(reader));
    }
    let Some(tail) = copy.after(event).await? else { return Ok(None) };
    if !of_session || tail.closed {
        return Ok(Some(Resumed::Elsewhere(RemoteTail::new(session, copy, event, tail))));
    }
    // The session's own stream is written by whoever the client comes to.
    let last = tail.events.last().map_or(event, |(last, _)| *last);
    if session.streams.last(number).is_some_and(|known| known >= last)
        && let Some(reader) = here()
    {
        return Ok(Some(reader));
    }
    let reader = session.streams.adopt(number, event, tail, session.core.limits.event_bytes);
    write(session, &reader.stream, copy, last);
    Ok(Some(Resumed::Here(reader)))
}

/// Forgets the streams of a session that is over.
pub(crate) fn forget(session: &Session) {
    let copies: Vec<_> =
        session.streams.numbers().into_iter().filter_map(|number| EventLog::of(session, number)).collect();
    tokio::spawn(async move {
        for copy in copies {
            let _ = copy.forget().await;
        }
    });
}

/// The rest of a stream another replica writes: what is in the store, and what comes there.
pub(crate) struct RemoteTail {
    work: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    events: mpsc::Receiver<Vec<u8>>,
}

impl RemoteTail {
    fn new(session: &Arc<Session>, copy: EventLog, at: u64, tail: EventTail) -> Self {
        let (outbox, events) = mpsc::channel(1);
        let session = Arc::clone(session);
        let work = Box::pin(async move {
            // Somebody uses the session.
            let _running = session.control.in_flight.running();
            tokio::select! {
                () = session.ends() => {}
                () = read(&copy, at, tail, &outbox) => {}
            }
        });
        RemoteTail { work: Some(work), events }
    }
}

/// Reads a stream to its end, or until it is forgotten, which is the end of a replica that gives no sign
/// of life.
async fn read(copy: &EventLog, mut at: u64, mut tail: EventTail, outbox: &mpsc::Sender<Vec<u8>>) {
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
        sleep(LOOK).await;
        match copy.after(at).await {
            Ok(Some(next)) => tail = next,
            // The client comes back, and is told what is the matter.
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
