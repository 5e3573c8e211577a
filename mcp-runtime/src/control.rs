//! The end of a connection, decided from outside: what serves it may be waiting for the next message.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use crate::in_flight::InFlight;

/// What a connection and whoever ends it share.
#[derive(Debug, Default)]
pub(crate) struct Control {
    pub(crate) in_flight: Arc<InFlight>,
    closing: AtomicBool,
    /// Nothing is taken or written any more.
    ended: AtomicBool,
    told: Notify,
}

impl Control {
    /// Lets nothing new begin and ends what would go on for ever.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.told.notify_waiters();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Waits until the connection is to end.
    pub(crate) async fn closing(&self) {
        loop {
            let told = self.told.notified();
            if self.is_closing() {
                return;
            }
            told.await;
        }
    }

    /// Ends the connection: waits for calls in flight as long as they may take, and drops the rest.
    pub(crate) async fn drain(&self, limit: Duration) {
        self.close();
        if tokio::time::timeout(limit, self.in_flight.at_most(0)).await.is_err() {
            tracing::warn!(?limit, "calls were still running when the connection ended; they are dropped");
        }
        self.abort();
    }

    /// Ends the connection without waiting.
    pub(crate) fn abort(&self) {
        self.close();
        self.in_flight.cancel_all();
        self.ended.store(true, Ordering::Release);
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }
}
