//! The rest of a stream that another replica writes, read from the store for a client that has reconnected here.
//!
//! The store tells of new events (`EventStore::watch`). Hints may get lost, so the store is asked every few seconds, too.
//! While the store is away the client stays connected, and gets what it missed when the store is back.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::Session;
use super::stream::log::EventLog;
use crate::store::{EventTail, Unavailable};
use crate::transport::http::response::body::Events;

/// How often the store is asked for events without a hint.
const FALLBACK_POLL: Duration = Duration::from_secs(5);

/// The rest of a stream that another replica writes.
pub(crate) struct RemoteTail {
    work: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    events: mpsc::Receiver<Vec<u8>>,
}

impl RemoteTail {
    /// What came after `at`, which is `tail` so far.
    pub(super) fn new(session: &Arc<Session>, log: EventLog, at: u64, tail: EventTail) -> Self {
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

/// Follows a stream to its end, or until it has expired.
async fn follow(log: &EventLog, mut at: u64, mut tail: EventTail, outbox: &mpsc::Sender<Vec<u8>>) {
    let mut watch = None;
    loop {
        for (number, event) in std::mem::take(&mut tail.events) {
            at = number;
            if outbox.send(event).await.is_err() {
                return;
            }
        }
        if tail.closed {
            return;
        }
        match &watch {
            // What came before the watch is read once more.
            None => watch = Some(log.watch()),
            Some(watch) => drop(timeout(FALLBACK_POLL, watch.changed()).await),
        }
        match log.read_after(at).await {
            Ok(Some(next)) => tail = next,
            // The client reconnects, and gets the error.
            Ok(None) => return,
            Err(Unavailable) => {}
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
