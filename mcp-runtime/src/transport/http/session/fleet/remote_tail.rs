//! The rest of a stream that another replica writes, read from the store for a client that has reconnected here.
//!
//! The store tells of new events (`EventStore::watch`). Hints may get lost, so the store is asked every few seconds, too.
//! While the store is away the client stays connected, and gets what it missed when the store is back. When the replica
//! that ran the call has died, its client is told to call again.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::store::{EventTail, EventWatch, Unavailable};
use crate::transport::http::response::body::Events;
use crate::transport::http::session::Session;
use crate::transport::http::session::stream::head::StreamHead;
use crate::transport::http::session::stream::log::EventLog;

/// How often the store is asked for events without a hint.
const FALLBACK_POLL: Duration = Duration::from_secs(5);

/// The rest of a stream that another replica writes.
pub(crate) struct RemoteTail {
    work: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    events: mpsc::Receiver<Vec<u8>>,
}

impl RemoteTail {
    /// What came after `at`, which is `tail` so far.
    pub(crate) fn new(session: &Arc<Session>, log: EventLog, at: u64, tail: EventTail) -> Self {
        let (outbox, events) = mpsc::channel(1);
        let session = Arc::clone(session);
        let work = Box::pin(async move {
            // Keeps the session from expiring.
            let _running = session.control.in_flight.running();
            tokio::select! {
                () = session.closing() => {}
                () = Follower { session: &session, log: &log, head: StreamHead::of(&tail), outbox: &outbox }.run(at, tail) => {}
            }
        });
        RemoteTail { work: Some(work), events }
    }
}

/// A client that follows the stream of another replica.
struct Follower<'a> {
    session: &'a Session,
    log: &'a EventLog,
    /// Who writes the stream, if that is known.
    head: Option<StreamHead>,
    outbox: &'a mpsc::Sender<Vec<u8>>,
}

impl Follower<'_> {
    /// Follows the stream to its end, or until it has expired or its replica has died.
    async fn run(self, mut at: u64, mut tail: EventTail) {
        let (mut watch, mut died) = (None, false);
        loop {
            let is_idle = tail.events.is_empty();
            for (number, event) in std::mem::take(&mut tail.events) {
                at = number;
                if self.outbox.send(event).await.is_err() {
                    return;
                }
            }
            if tail.closed {
                return;
            }
            if died && is_idle {
                return self.tell_of_death(at).await;
            }
            match &watch {
                // What came before the watch is read once more.
                None => watch = Some(self.log.watch()),
                Some(watch) => died = self.wait(watch).await,
            }
            match self.log.read_after(at).await {
                Ok(Some(next)) => tail = next,
                // The client reconnects, and gets the error.
                Ok(None) => return,
                // Nobody is dead as long as nobody can be asked.
                Err(Unavailable) => died = false,
            }
        }
    }

    /// Waits for news, or until it is time to look for them; true if the replica that writes the stream has died.
    async fn wait(&self, watch: &EventWatch) -> bool {
        let death = async {
            match (&self.head, self.session.replica()) {
                (Some(head), Some(replica)) => replica.death_of(&head.replica, &self.session.core.limits).await,
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = timeout(FALLBACK_POLL, watch.changed()) => false,
            () = death => true,
        }
    }

    /// Answers the requests that nobody else will answer.
    async fn tell_of_death(&self, at: u64) {
        let Some(head) = &self.head else { return };
        // From the beginning, to see what was answered; if the first events were discarded, the client has the rest.
        let written = match self.log.read_after(0).await {
            Ok(Some(tail)) => tail.events,
            Ok(None) => vec![(at, Vec::new())],
            // The client reconnects.
            Err(Unavailable) => return,
        };
        for event in head.errors(self.log.id, &written, at) {
            if self.outbox.send(event).await.is_err() {
                return;
            }
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
