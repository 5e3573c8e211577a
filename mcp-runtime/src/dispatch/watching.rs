//! The part of a [`Connection`] that has its requests watched, if anybody does.

use std::time::Instant;

use super::connection::{Connection, Handled};
use crate::call::outbox::Outbox;
use crate::call::telemetry::watch::{Arrival, Arrived, Network, NotifiedRequest, Watch, Watcher};
#[cfg(feature = "http")]
use crate::observe::SessionHash;
use crate::observe::Transport;
use crate::protocol::Revision;

impl Connection {
    /// Begins to watch a request of this method, if anybody does.
    #[inline]
    pub(super) fn watch(&self, method: &str, bytes: usize) -> Watch {
        self.watch_since(method, Arrival::now(bytes))
    }

    /// The same, for a request that has arrived before.
    #[inline]
    pub(super) fn watch_since(&self, method: &str, Arrival { bytes, at }: Arrival) -> Watch {
        Watch::begin(self.core.watcher.as_ref(), || Arrived {
            method,
            names: Some(&**self.view.catalog()),
            bytes,
            started: at.unwrap_or_else(Instant::now),
            place: self.control.place(),
            in_batch: self.in_batch,
            network: Network::default(),
        })
    }

    /// Tells of a notification that has been handled, if anybody is told.
    #[cold]
    pub(super) fn notified(
        &self,
        watcher: &dyn Watcher,
        method: &str,
        bytes: usize,
        outbox: &Outbox,
        started: Instant,
    ) {
        watcher.notified(&NotifiedRequest {
            method,
            names: &**self.view.catalog(),
            revision: self.session.client().map(|_| self.session.revision()),
            bytes,
            started,
            place: self.control.place(),
            network: outbox.network(),
        });
    }

    /// Begins to watch a session whose `initialize` is being answered, if anybody does. Over HTTP it may yet fail, and
    /// has no id.
    pub(super) fn watch_session(&mut self, revision: Revision) {
        if let Some(watcher) = &self.core.watcher
            && matches!(self.control.place().transport, Transport::Stdio | Transport::Sse)
        {
            self.control.watch_session(watcher.session(revision, self.control.place()));
        }
    }

    /// The connection is an HTTP session with this id, which has just been opened.
    #[cfg(feature = "http")]
    pub(crate) fn opened_session(&mut self, id: &str) {
        self.belongs_to(Transport::HttpSession, id);
        if let Some(watcher) = &self.core.watcher {
            self.control.watch_session(watcher.session(self.session.revision(), self.control.place()));
        }
    }

    /// The connection belongs to the session with this id.
    #[cfg(feature = "http")]
    pub(crate) fn belongs_to(&mut self, transport: Transport, id: &str) {
        self.control.set_transport(transport);
        if self.core.watcher.is_some() {
            self.control.set_session(SessionHash::of(id));
        }
    }
}

impl Handled {
    /// What is there instead of a call: a pending answer, whose end is watched, or the refusal of the request.
    pub(super) fn watched(mut self, watch: Watch, out: &[u8]) -> Self {
        match &mut self {
            Handled::Waiting(call) => call.to.watch = watch,
            Handled::Answered { at } | Handled::Rejected { at } => watch.refuse(&out[*at..]),
            Handled::Nothing => {}
        }
        self
    }
}
