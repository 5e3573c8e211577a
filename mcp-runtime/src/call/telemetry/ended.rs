//! Sessions and questions that are watched: observers are told when they are over.

use std::sync::Arc;
use std::time::Instant;

use tracing::Span;

use super::span;
use super::told::Telemetry;
use super::watch::{Place, WatchedQuestion, WatchedSession};
use crate::observe::{self, Asked, SessionEnded, Transport};
use crate::protocol::Revision;

/// A session that has not ended.
#[derive(Debug)]
pub(super) struct OpenSession {
    pub(super) telemetry: Arc<Telemetry>,
    pub(super) revision: Revision,
    pub(super) place: Place,
    pub(super) opened: Instant,
    /// It goes on elsewhere.
    pub(super) is_forgotten: bool,
}

impl WatchedSession for OpenSession {
    fn forget(mut self: Box<Self>) {
        self.is_forgotten = true;
    }
}

impl Drop for OpenSession {
    fn drop(&mut self) {
        if self.is_forgotten {
            return;
        }
        let OpenSession { revision, place: Place { transport, session }, opened, .. } = *self;
        let ended = SessionEnded { revision, transport, duration: opened.elapsed(), session };
        self.telemetry.tell(|observer| observer.session_ended(&ended));
    }
}

/// A question that has no response yet.
pub(super) struct Question {
    pub(super) telemetry: Arc<Telemetry>,
    pub(super) method: String,
    pub(super) revision: Revision,
    pub(super) transport: Transport,
    pub(super) started: Instant,
    pub(super) span: Option<Span>,
    pub(super) outcome: observe::Outcome,
    pub(super) code: Option<i64>,
}

impl WatchedQuestion for Question {
    #[cfg(feature = "otel")]
    fn traceparent(&self) -> Option<String> {
        super::otel::traceparent(self.span.as_ref()?)
    }

    fn finish(mut self: Box<Self>, outcome: observe::Outcome, code: Option<i64>) {
        (self.outcome, self.code) = (outcome, code);
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        let Question { revision, transport, outcome, code, .. } = *self;
        let duration = self.started.elapsed();
        let asked = Asked { method: &self.method, revision, transport, duration, outcome, code };
        if let Some(span) = &self.span {
            span::close_question(span, &asked);
        }
        self.telemetry.tell(|observer| observer.asked(&asked));
    }
}
