//! The event stream of a session (GET): changes and other messages that belong to no request, and the rest of
//! a request's stream for a client that reconnects.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server>

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Response, StatusCode};
use tokio::sync::mpsc;

use super::event_log::{self, Resumed};
use super::fleet::claim::{FleetClaim, Refused};
use super::stream::Reader;
use super::stream::id::StreamKind;
use super::{Session, StreamGuard};
use crate::call::outbox::Outgoing;
use crate::jsonrpc::error::RpcError;
use crate::store::Unavailable;
use crate::transport::http::response;
use crate::transport::http::response::body::{Body, Events};

/// Opens the session's own stream, or resumes the one the client names by its last event.
pub(crate) async fn stream(session: &Arc<Session>, last_event: Option<&str>) -> Response<Body> {
    if let Some(id) = last_event {
        return match Box::pin(event_log::resume(session, id)).await {
            Ok(Some(Resumed::Own(reader, claim))) => follow(session, session.take_over_stream(), claim, reader),
            Ok(Some(Resumed::Local(reader))) => response::events(Body::events(reader)),
            Ok(Some(Resumed::Remote(tail))) => response::events(Body::events(tail)),
            Err(Unavailable) => {
                response::later(StatusCode::SERVICE_UNAVAILABLE, "event store unavailable; retry later")
            }
            Ok(None) => {
                let text = "unknown or expired event; open a new stream without `Last-Event-ID`";
                response::refuse(StatusCode::BAD_REQUEST, RpcError::INVALID_REQUEST, text)
            }
        };
    }
    let Some(guard) = session.claim_stream() else { return held() };
    let claim = match Box::pin(FleetClaim::take(session)).await {
        Ok(claim) => claim,
        Err(Refused::Held) => return held(),
        Err(Refused::Unavailable) => {
            return response::later(StatusCode::SERVICE_UNAVAILABLE, "session store unavailable; retry later");
        }
    };
    let reader = event_log::open(session, StreamKind::Session, &[]).await.read(session.revision().has_event_priming());
    follow(session, guard, claim, reader)
}

/// A session has one stream, of all replicas.
fn held() -> Response<Body> {
    let text = "this session already has an event stream; close it first";
    response::refuse(StatusCode::CONFLICT, RpcError::INVALID_REQUEST, text)
}

/// Responds with the events of the session's stream, and delivers changes to it.
fn follow(session: &Arc<Session>, guard: StreamGuard, claim: Option<FleetClaim>, reader: Reader) -> Response<Body> {
    let (outbox, messages) = mpsc::channel(1);
    session.control.task_streams.set_own(outbox.clone());
    let following = Arc::clone(session);
    let notifying = Box::pin(async move {
        match &following.subscription {
            Some(subscription) => subscription.deliver(&outbox, None, Box::pin(following.closing())).await,
            None => following.closing().await,
        }
    });
    let lost = claim.map(|claim| -> Lost {
        let taken_over = claim.lost();
        Box::pin(async move {
            taken_over.await;
            drop(claim);
        })
    });
    response::events(Body::events(ChangeEvents {
        _guard: guard,
        lost,
        session: Arc::clone(session),
        work: Some(notifying),
        messages,
        reader,
    }))
}

type Lost = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Change notifications as events, for as long as the client reads. While it does not, changes stay in the
/// subscription, each once.
struct ChangeEvents {
    _guard: StreamGuard,
    /// Done when another replica has taken the stream over. Holds the claim to it among replicas.
    lost: Option<Lost>,
    session: Arc<Session>,
    work: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    messages: mpsc::Receiver<Outgoing>,
    reader: Reader,
}

impl Events for ChangeEvents {
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(lost) = &mut self.lost
            && lost.as_mut().poll(cx).is_ready()
        {
            self.lost = None;
            self.session.streams.abandon(self.reader.stream.id);
            return Poll::Ready(None);
        }
        if let Some(work) = &mut self.work
            && work.as_mut().poll(cx).is_ready()
        {
            self.work = None;
        }
        while let Poll::Ready(Some(message)) = self.messages.poll_recv(cx) {
            if let Outgoing::Notification(line) | Outgoing::Heartbeat(line) = message {
                self.reader.stream.push(&line);
            }
        }
        if self.work.is_none() {
            if self.session.goes_on_elsewhere() {
                self.session.streams.abandon(self.reader.stream.id);
            } else {
                self.reader.stream.end();
            }
        }
        Pin::new(&mut self.reader).poll_next(cx)
    }
}
