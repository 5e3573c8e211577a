//! The answer to a request of 2026-07-28, and the events before it if its call notifies the client.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::StatusCode;
use tokio::sync::mpsc;

use crate::call::outbox::Outgoing;
use crate::call::outbox::refused::Refusal;
use crate::call::telemetry::watch::Watch;
use crate::server::memory::Charge;
use crate::transport::http::response::body::{Events, charged};
use crate::transport::http::response::sse::events;

/// An encoded answer, and its status if no notification came before it.
pub(super) struct StatelessAnswer {
    pub(super) status: StatusCode,
    /// Why the call was refused, if it was.
    pub(super) refusal: Option<Refusal>,
    pub(super) line: Vec<u8>,
    /// What a long answer takes of the memory budget, if it may end a stream.
    pub(super) charge: Option<Charge>,
    /// Who is told of it, when its status is settled.
    pub(super) watch: Watch,
}

impl StatelessAnswer {
    /// It is sent with this status.
    pub(super) fn tell(&mut self, status: StatusCode) {
        tell(&mut self.watch, status, &self.line);
    }
}

/// Tells who watches that this answer is sent with this status.
#[inline]
pub(super) fn tell(watch: &mut Watch, status: StatusCode, answer: &[u8]) {
    if let Some(watched) = watch.get() {
        watched.status(status.as_u16());
        std::mem::take(watch).finish(answer);
    }
}

pub(super) type AnswerFuture = Pin<Box<dyn Future<Output = StatelessAnswer> + Send>>;

/// The notifications that are in the queue, one line each.
pub(super) fn sent_notifications(messages: &mut mpsc::Receiver<Outgoing>) -> Vec<u8> {
    let mut lines = Vec::new();
    while let Ok(message) = messages.try_recv() {
        if let Outgoing::Notification(line) | Outgoing::Heartbeat(line) = message {
            lines.extend_from_slice(&line);
        }
    }
    lines
}

/// The events of one request: its notifications, then its answer. Dropped with the connection, and the call
/// with it.
pub(super) struct StatelessStream {
    pub(super) first: Option<Bytes>,
    pub(super) messages: mpsc::Receiver<Outgoing>,
    pub(super) answer: Option<AnswerFuture>,
}

impl Events for StatelessStream {
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        while let Poll::Ready(Some(message)) = self.messages.poll_recv(cx) {
            if let Outgoing::Notification(line) | Outgoing::Heartbeat(line) = message {
                return Poll::Ready(Some(events(&line).into()));
            }
        }
        let Some(answer) = &mut self.answer else { return Poll::Ready(None) };
        let Poll::Ready(mut answer) = answer.as_mut().poll(cx) else { return Poll::Pending };
        self.answer = None;
        answer.tell(StatusCode::OK);
        let StatelessAnswer { line, charge, .. } = answer;
        // What was sent during the last poll comes before the answer.
        let mut lines = sent_notifications(&mut self.messages);
        lines.extend_from_slice(&line);
        let events = events(&lines).into();
        Poll::Ready(Some(match charge {
            Some(charge) => charged(events, charge),
            None => events,
        }))
    }
}
