//! [`Presence`]: whether the client of a call reads its response.

#[cfg(feature = "http")]
use std::sync::Arc;

#[cfg(feature = "http")]
use tokio::sync::watch;

/// Whether a client reads the response to its request now. It may leave a stream and come back.
#[cfg(feature = "http")]
#[derive(Debug, Clone)]
pub(crate) struct Presence(Arc<watch::Sender<bool>>);

#[cfg(feature = "http")]
impl Presence {
    pub(crate) fn set(&self, present: bool) {
        self.0.send_replace(present);
    }

    pub(crate) fn is_present(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the client has left.
    pub(crate) async fn left(&self) {
        // The channel cannot be closed: `self` owns a sender.
        let _ = self.0.subscribe().wait_for(|present| !present).await;
    }
}

/// Present until it leaves.
#[cfg(feature = "http")]
impl Default for Presence {
    fn default() -> Self {
        Presence(Arc::new(watch::Sender::new(true)))
    }
}

/// Without HTTP, a client that leaves ends its connection.
#[cfg(not(feature = "http"))]
#[derive(Debug, Clone)]
pub(crate) enum Presence {}

#[cfg(not(feature = "http"))]
impl Presence {
    pub(crate) fn is_present(&self) -> bool {
        match *self {}
    }

    #[expect(clippy::unused_async, reason = "as with HTTP")]
    pub(crate) async fn left(&self) {
        match *self {}
    }
}
