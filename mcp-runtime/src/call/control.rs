//! The end of a connection, decided from outside: its reader may be blocked on input that never comes.
//!
//! A handle or a signal closes the [`ConnectionControl`], then waits for the messages the reader has taken and for
//! their calls; calls that take too long are dropped. A task of the transport does this, because the user may have
//! stopped polling the future that serves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use super::in_flight::InFlight;
use crate::ask::PendingRequests;
use crate::sync::until;

/// What a connection and whoever ends it share.
#[derive(Debug, Default)]
pub(crate) struct ConnectionControl {
    pub(crate) in_flight: Arc<InFlight>,
    /// What the client was asked and has not answered.
    pub(crate) asks: PendingRequests,
    closing: AtomicBool,
    /// Nothing is taken or written any more.
    ended: AtomicBool,
    /// Whether messages have been read that are not answered and written yet, or given to a task.
    at_work: AtomicBool,
    told: Notify,
}

/// The reader is taking messages. Dropped when it waits for more.
#[derive(Debug)]
pub(crate) struct ReadingGuard<'a>(&'a ConnectionControl);

impl Drop for ReadingGuard<'_> {
    fn drop(&mut self) {
        self.0.at_work.store(false, Ordering::SeqCst);
        // Whoever began to wait before that line has said so before this one.
        if self.0.is_closing() {
            self.0.told.notify_waiters();
        }
    }
}

impl ConnectionControl {
    /// Lets nothing new begin and ends what would go on for ever.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.told.notify_waiters();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// Waits until the connection is to end.
    pub(crate) async fn closing(&self) {
        until(&self.told, || self.is_closing()).await;
    }

    /// Says that messages have been read and are being taken.
    pub(crate) fn at_work(&self) -> ReadingGuard<'_> {
        self.at_work.store(true, Ordering::SeqCst);
        ReadingGuard(self)
    }

    /// Ends the connection: waits for calls in flight as long as they may take, and drops the rest,
    /// whose ids it returns.
    pub(crate) async fn drain(&self, limit: Duration) -> Vec<Box<str>> {
        self.close();
        let done = async {
            // What the reader has taken may be a call yet; from then on it takes nothing.
            until(&self.told, || !self.at_work.load(Ordering::SeqCst)).await;
            self.in_flight.at_most(0).await;
        };
        if tokio::time::timeout(limit, done).await.is_err() {
            tracing::warn!(?limit, "calls were still running when the connection ended; they are dropped");
        }
        self.abort()
    }

    /// Ends the connection without waiting; the ids of the calls that had not been answered.
    pub(crate) fn abort(&self) -> Vec<Box<str>> {
        // In this order: what is entered among the calls after they were cancelled sees that it has ended.
        self.ended.store(true, Ordering::SeqCst);
        self.close();
        // Who asks on a thread, or in a task of their own, is not among the calls.
        self.asks.close();
        self.in_flight.cancel_all()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// Waits until the connection has ended.
    pub(crate) async fn ended(&self) {
        until(&self.told, || self.has_ended()).await;
    }
}
