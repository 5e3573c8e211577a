//! Closing a connection from outside: its reader may be blocked on input that never comes.
//!
//! A handle or a signal closes the [`ConnectionControl`], then waits for the messages the reader has taken and for
//! their calls; calls that take too long are dropped. A task of the transport does this, because the user may have
//! stopped polling the future that serves.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tokio::sync::Notify;

use super::in_flight::InFlight;
use super::task_streams::TaskStreams;
use super::telemetry::watch::{Lifeline, LifelineState, Place, WatchedSession};
use crate::ask::PendingRequests;
use crate::error::PAGE;
use crate::observe::{SessionHash, Transport};
use crate::sync::{lock, until};

/// How long dropped calls have to tell observers of their end.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// State shared by a connection and the transport that can close it.
#[derive(Debug, Default)]
pub(crate) struct ConnectionControl {
    pub(crate) in_flight: Arc<InFlight>,
    /// Requests to the client that it has not answered.
    pub(crate) pending_requests: PendingRequests,
    /// Where tasks send notifications, if the connection has no queue of its own.
    pub(crate) task_streams: Arc<TaskStreams>,
    /// How the client is connected, unless on stdio; and its HTTP session. For who watches.
    transport: OnceLock<Transport>,
    session: OnceLock<SessionHash>,
    /// No new requests are accepted.
    closing: AtomicBool,
    /// Nothing is received or written any more.
    ended: AtomicBool,
    /// The server has ended it before its calls were over, and answers them.
    gave_up: AtomicBool,
    /// The server has ended it at once, and answers nothing.
    aborted: AtomicBool,
    /// Told when the session is over, if anybody is told.
    watched_session: Mutex<Option<Box<dyn WatchedSession>>>,
    /// Whether the reader has messages that are neither answered and written, nor handed to a task.
    reading: AtomicBool,
    /// Notified when one of the flags has changed.
    changed: Notify,
}

/// The reader is handling messages. Dropped when it waits for more.
#[derive(Debug)]
pub(crate) struct ReadingGuard<'a>(&'a ConnectionControl);

impl Drop for ReadingGuard<'_> {
    fn drop(&mut self) {
        self.0.reading.store(false, Ordering::SeqCst);
        // `drain` sets `closing` before it reads `reading`. If it read true, this sees `closing` and wakes it.
        if self.0.is_closing() {
            self.0.changed.notify_waiters();
        }
    }
}

impl ConnectionControl {
    /// Says how the client is connected, once.
    #[cfg(feature = "http")]
    pub(crate) fn set_transport(&self, transport: Transport) {
        let _ = self.transport.set(transport);
    }

    /// Says which session it is, once.
    #[cfg(feature = "http")]
    pub(crate) fn set_session(&self, session: SessionHash) {
        let _ = self.session.set(session);
    }

    /// Where its messages belong.
    pub(crate) fn place(&self) -> Place {
        let transport = self.transport.get().copied().unwrap_or(Transport::Stdio);
        Place { transport, session: self.session.get().copied() }
    }

    /// Rejects new requests, and ends subscription streams, which would not end by themselves.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.changed.notify_waiters();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// Waits until the connection is closing.
    pub(crate) async fn closing(&self) {
        until(&self.changed, || self.is_closing()).await;
    }

    /// Marks the connection as reading: messages have been read and are being handled.
    pub(crate) fn start_reading(&self) -> ReadingGuard<'_> {
        self.reading.store(true, Ordering::SeqCst);
        ReadingGuard(self)
    }

    /// Ends the connection gracefully: waits up to `limit` for calls in flight, and cancels the rest. Returns the ids
    /// of the cancelled calls. `has_left`: the client has ended the connection, not the server.
    pub(crate) async fn drain(&self, limit: Duration, has_left: bool) -> Vec<Box<str>> {
        self.close();
        let done = async {
            // A message that the reader has may still become a call. Afterwards it receives no more.
            until(&self.changed, || !self.reading.load(Ordering::SeqCst)).await;
            self.in_flight.at_most(0).await;
        };
        if tokio::time::timeout(limit, done).await.is_ok() {
            return self.abort();
        }
        self.gave_up.store(!has_left, Ordering::SeqCst);
        let dropped = self.abort();
        if !dropped.is_empty() {
            tracing::warn!(
                calls = dropped.len(),
                ?limit,
                "calls exceeded the drain timeout and were dropped; see {PAGE}#calls-cut-off-at-the-end"
            );
        }
        self.told().await;
        dropped
    }

    /// Ends the connection at once, by the server: its calls are dropped without an answer.
    pub(crate) async fn drop_calls(&self) {
        self.aborted.store(true, Ordering::SeqCst);
        self.abort();
        self.told().await;
    }

    /// Waits until the calls that were cancelled are dropped, and observers know of them. One that never yields is not
    /// waited for.
    async fn told(&self) {
        let _ = tokio::time::timeout(LAST_WORDS, self.in_flight.at_most(0)).await;
    }

    /// Ends the connection at once. Returns the ids of the calls that were not answered.
    pub(crate) fn abort(&self) -> Vec<Box<str>> {
        // In this order: a call that is entered after `cancel_all` sees that the connection has ended.
        self.ended.store(true, Ordering::SeqCst);
        self.close();
        // A handler may ask from its own thread or task, which no call tracks.
        self.pending_requests.close();
        let calls = self.in_flight.cancel_all();
        let session = lock(&self.watched_session).take();
        // Not under the lock: it tells observers.
        drop(session);
        calls
    }

    /// Its session has been opened, and is watched until the connection ends.
    pub(crate) fn watch_session(&self, session: Box<dyn WatchedSession>) {
        let before = lock(&self.watched_session).replace(session);
        drop(before);
    }

    /// Its session goes on elsewhere: nobody is told of an end.
    #[cfg(feature = "http")]
    pub(crate) fn forget_session(&self) {
        let session = lock(&self.watched_session).take();
        if let Some(session) = session {
            session.forget();
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// Waits until the connection has ended.
    pub(crate) async fn ended(&self) {
        until(&self.changed, || self.has_ended()).await;
    }
}

impl Lifeline for ConnectionControl {
    fn state(&self) -> LifelineState {
        match () {
            () if self.gave_up.load(Ordering::SeqCst) => LifelineState::GivenUp,
            () if self.aborted.load(Ordering::SeqCst) => LifelineState::Aborted,
            () if self.has_ended() => LifelineState::Gone,
            () => LifelineState::Alive,
        }
    }
}
