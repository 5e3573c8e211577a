//! Messages in a session (2025-03-26 to 2025-11-25): answers in responses, or on streams that can be resumed.
//!
//! A call is a task of its session, because in these revisions a lost connection cancels nothing. What it
//! sends is kept for a client that reconnects.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http>

use std::sync::Arc;

use http::{Response, StatusCode};
use tokio::sync::mpsc;

use super::stream::id::StreamKind;
use super::{Session, event_log};
use crate::call::outbox::presence::Presence;
use crate::call::outbox::refused::RefusedCall;
use crate::call::outbox::{Outbox, Outgoing};
use crate::dispatch::connection::Received;
use crate::dispatch::shared;
use crate::era::{Era, RequestParams};
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::raw::Raw;
use crate::jsonrpc::{self, Message, Request};
use crate::transport::http::request::HttpRequest;
use crate::transport::http::request::accept::ResponseFormat;
use crate::transport::http::response::body::Body;
#[cfg(feature = "auth")]
use crate::transport::http::response::denied;
use crate::transport::http::response::refused;
use crate::transport::http::{Responding, response};

/// Serves a request.
pub(crate) fn request<'a>(
    session: &Arc<Session>,
    http: &HttpRequest<'_>,
    request: &Request<'a>,
    params: Result<RequestParams<'a>, RpcError>,
) -> Responding<'static> {
    let format = http.format();
    let outbox = http.outbox(format.streams(), session.principal());
    let mut out = Vec::with_capacity(response::ANSWER);
    let (shared, arrival) = (&session.connection, http.claim());
    let received = shared::receive_request(shared, Era::Session, request, params, arrival, &outbox, &mut out);
    conclude(session, outbox, received, out, format, || vec![request.id.as_str().into()])
}

/// Serves a batch.
pub(crate) async fn batch(session: &Arc<Session>, http: &HttpRequest<'_>, frame: &[u8]) -> Response<Body> {
    let format = http.format();
    let mut outbox = http.outbox(format.streams(), session.principal());
    let mut out = Vec::new();
    http.claim();
    let received = session.connection().receive(frame, &outbox, &mut out);
    if received.rejected {
        return response::json(StatusCode::BAD_REQUEST, out);
    }
    // What the scopes of a batch rule out was rejected before; one element may still be denied by its handler.
    #[cfg(feature = "auth")]
    drop(outbox.take_denied());
    // The errors of its elements say which of them are over a limit.
    drop(outbox.take_throttled());
    conclude(session, outbox, received, out, format, || requests_in(frame)).finish().await
}

/// Takes a notification or a response. What its handler sends is dropped: there is no stream for it.
pub(crate) fn message(session: &Session, http: &HttpRequest<'_>, frame: &[u8]) -> Response<Body> {
    let outbox = http.outbox(false, session.principal());
    session.connection().receive(frame, &outbox, &mut Vec::new());
    response::empty(StatusCode::ACCEPTED)
}

/// The ids of the requests in a batch.
fn requests_in(batch: &[u8]) -> Vec<Box<str>> {
    let messages: Vec<Raw<'_>> = serde_json::from_slice(batch).unwrap_or_default();
    let id_of = |message: &Raw<'_>| match jsonrpc::parse(message.get().as_bytes()) {
        Ok(Message::Request(request)) => Some(request.id.as_str().into()),
        _ => None,
    };
    messages.iter().filter_map(id_of).collect()
}

/// The response to what was received: at once, or when the call has something to say. `requests` are the ids of those
/// that are pending.
fn conclude(
    session: &Arc<Session>,
    mut outbox: Outbox,
    received: Received,
    out: Vec<u8>,
    format: ResponseFormat,
    requests: impl FnOnce() -> Vec<Box<str>>,
) -> Responding<'static> {
    #[cfg(feature = "auth")]
    if let (Some(denied), Some(at)) = (outbox.take_denied(), received.answer_at) {
        return Responding::Done(denied::denied(out[at..].to_vec(), &denied));
    }
    if let (Some(throttled), Some(at)) = (outbox.take_throttled(), received.answer_at) {
        return Responding::Done(response::throttled(out[at..].to_vec(), &throttled));
    }
    let presence = outbox.take_presence();
    // A call that could have sent something, and is over, leaves a queue, too.
    match (received.answer_at, outbox.into_receiver()) {
        (None, Some(messages)) => {
            // Only other replicas ask for the ids.
            let requests = if session.replica().is_some() { requests() } else { Vec::new() };
            let waiting = WaitingRequest { session: Arc::clone(session), requests, messages: Some(messages), presence };
            Responding::later(later(waiting, out, format))
        }
        _ => Responding::Done(at_once(received, out, format)),
    }
}

/// The response to what was answered at once, behind its notifications where the client accepts a stream.
pub(crate) fn at_once(received: Received, mut lines: Vec<u8>, format: ResponseFormat) -> Response<Body> {
    match received.answer_at {
        None => response::empty(StatusCode::ACCEPTED),
        Some(0) => response::answer(format, lines),
        Some(_) if format.streams() => response::answer(ResponseFormat::Events, lines),
        Some(at) => response::answer(format, lines.split_off(at)),
    }
}

/// The first thing a client is to see of a pending call.
pub(crate) enum First {
    Answer(Vec<u8>),
    Refused(Box<RefusedCall>),
    Notification(Vec<u8>),
    Detach,
    /// The call was cancelled.
    Nothing,
}

/// Waits for the first message of a call that the client accepts: its answer, or on a stream whatever comes
/// before it.
pub(crate) async fn first(messages: &mut mpsc::Receiver<Outgoing>, format: ResponseFormat) -> First {
    loop {
        match messages.recv().await {
            None | Some(Outgoing::End) => return First::Nothing,
            Some(Outgoing::Answer(line)) => return First::Answer(line),
            Some(Outgoing::Refused(refused)) => return First::Refused(refused),
            Some(Outgoing::Notification(line) | Outgoing::Heartbeat(line)) if format.streams() => {
                return First::Notification(line);
            }
            Some(Outgoing::Detach) if format.streams() => return First::Detach,
            Some(Outgoing::Notification(_) | Outgoing::Heartbeat(_) | Outgoing::Detach) => {}
        }
    }
}

/// Holds the head of the response until it is known what it is the head of. The call goes on whether or not
/// the client waits: only `notifications/cancelled` cancels it.
async fn later(mut waiting: WaitingRequest, notifications: Vec<u8>, format: ResponseFormat) -> Response<Body> {
    if !notifications.is_empty() && format.streams() {
        return waiting.stream(Some(&notifications)).await;
    }
    match waiting.first(format).await {
        // It is owed no answer, but HTTP wants one.
        First::Nothing => response::empty(StatusCode::ACCEPTED),
        First::Answer(line) => response::answer(format, line),
        First::Refused(call) => refused::call(*call),
        First::Notification(line) => waiting.stream(Some(&line)).await,
        First::Detach => waiting.stream(None).await,
    }
}

/// A request whose answer is pending. If the client disconnects before anything came, the call goes on and
/// what it sends is dropped.
struct WaitingRequest {
    session: Arc<Session>,
    /// The ids of the requests, if the session is shared by replicas.
    requests: Vec<Box<str>>,
    messages: Option<mpsc::Receiver<Outgoing>>,
    /// Told whether the client reads, if the call needs to know.
    presence: Option<Presence>,
}

impl WaitingRequest {
    async fn first(&mut self, format: ResponseFormat) -> First {
        match &mut self.messages {
            Some(messages) => first(messages, format).await,
            None => First::Nothing,
        }
    }

    /// Responds with a stream, which the client may leave and resume. It begins with these notifications, or
    /// closes at once for the client to reconnect.
    async fn stream(mut self, notifications: Option<&[u8]>) -> Response<Body> {
        let stream = event_log::open(&self.session, StreamKind::Request, &self.requests).await;
        let reader = stream.read(self.session.revision().has_event_priming());
        match notifications {
            Some(lines) => stream.push(lines),
            None => stream.detach_readers(),
        }
        if let Some(presence) = self.presence.take() {
            stream.tell(presence);
        }
        if let Some(messages) = self.messages.take() {
            tokio::spawn(stream.consume(messages));
        }
        response::events(Body::events(reader))
    }
}

impl Drop for WaitingRequest {
    fn drop(&mut self) {
        if let Some(presence) = &self.presence {
            presence.set(false);
        }
        if let Some(mut messages) = self.messages.take() {
            // A call whose queue is full would wait forever.
            tokio::spawn(async move { while messages.recv().await.is_some() {} });
        }
    }
}
