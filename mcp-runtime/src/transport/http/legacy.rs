//! The legacy era over HTTP (2025-03-26 to 2025-11-25): sessions, answers in responses or on their
//! streams, and one stream for the rest.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http>

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::{Response, StatusCode};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::body::{Body, Events, events};
use super::respond;
use super::sessions::{Full, Session, Sessions, Streaming};
use crate::connection::Connection;
use crate::era::Read;
use crate::error::RpcError;
use crate::jsonrpc::Request;
use crate::outlet::Outlet;
use crate::server::Core;

/// Room for the answer of most calls.
pub(super) const ANSWER: usize = 256;

/// What the header is called that names a session.
pub(super) static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Opens a session: takes an `initialize`, and if it succeeds keeps what it settled.
pub(super) fn open(core: &Arc<Core>, sessions: &Sessions, principal: Option<&str>, frame: &[u8]) -> Response<Body> {
    match sessions.room(principal, &core.limits) {
        Ok(()) => {}
        Err(Full::Everybody) => return respond::later(StatusCode::SERVICE_UNAVAILABLE, "too many sessions"),
        Err(Full::Principal) => {
            return respond::later(StatusCode::TOO_MANY_REQUESTS, "too many sessions of yours; end one");
        }
    }
    let mut connection = Connection::new(Arc::clone(core), Handle::current());
    let mut out = Vec::new();
    connection.receive(frame, &Outlet::own(), &mut out);
    if connection.session.client().is_none() {
        return respond::json(StatusCode::OK, out);
    }
    let mut response = respond::json(StatusCode::OK, out);
    match sessions.enter(connection, principal).map(|id| HeaderValue::try_from(id)) {
        Ok(Ok(id)) => {
            response.headers_mut().insert(&SESSION, id);
            response
        }
        _ => respond::later(StatusCode::SERVICE_UNAVAILABLE, "no session can be made now"),
    }
}

/// Takes a message, or several, in a session.
pub(super) async fn message(session: &Session, frame: &[u8]) -> Response<Body> {
    let (outlet, mut out) = (Outlet::own(), Vec::new());
    session.connection().receive(frame, &outlet, &mut out);
    conclude(outlet, out).await
}

/// Takes a request in a session.
pub(super) async fn request<'a>(
    session: &Session,
    request: &Request<'a>,
    read: Result<Read<'a>, RpcError>,
) -> Response<Body> {
    let (outlet, mut out) = (Outlet::own(), Vec::with_capacity(ANSWER));
    session.connection().receive_request(request, read, &outlet, &mut out);
    conclude(outlet, out).await
}

async fn conclude(outlet: Outlet, out: Vec<u8>) -> Response<Body> {
    match outlet.into_lines() {
        // Something is to come.
        Some(lines) => later(out, lines).await,
        None if out.is_empty() => respond::empty(StatusCode::ACCEPTED),
        None => at_once(out),
    }
}

/// An answer; behind what was told before it, where something was.
fn at_once(lines: Vec<u8>) -> Response<Body> {
    match memchr::memchr(b'\n', &lines) {
        Some(end) if end + 1 < lines.len() => respond::events(Body::full(events(&lines))),
        _ => respond::json(StatusCode::OK, lines),
    }
}

/// The head of the response is held until it is known what it is the head of. The call goes on
/// whether or not somebody waits: only the client's `notifications/cancelled` cancels it.
async fn later(told: Vec<u8>, mut lines: mpsc::Receiver<Vec<u8>>) -> Response<Body> {
    if !told.is_empty() {
        return respond::events(Body::events(Lines { first: Some(events(&told).into()), lines }));
    }
    match lines.recv().await {
        // Cancelled: it is owed no answer, but HTTP wants one.
        None => respond::empty(StatusCode::ACCEPTED),
        Some(line) if is_answer(&line) => respond::json(StatusCode::OK, line),
        Some(line) => respond::events(Body::events(Lines { first: Some(events(&line).into()), lines })),
    }
}

/// Whether a line is what a request waits for, rather than something told before.
fn is_answer(line: &[u8]) -> bool {
    line.starts_with(br#"{"jsonrpc":"2.0","id":"#) || line.starts_with(b"[")
}

/// The lines of a request as events, until there can be none any more.
struct Lines {
    first: Option<Bytes>,
    lines: mpsc::Receiver<Vec<u8>>,
}

impl Events for Lines {
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        self.lines.poll_recv(cx).map(|line| line.map(|line| events(&line).into()))
    }
}

/// The session's stream for what belongs to no request.
pub(super) fn stream(session: &Arc<Session>) -> Response<Body> {
    let Some(streaming) = session.stream() else {
        return respond::refuse(StatusCode::CONFLICT, RpcError::INVALID_REQUEST, "this session has its stream already");
    };
    let (outbox, lines) = mpsc::channel(1);
    let telling = {
        let session = Arc::clone(session);
        Box::pin(async move {
            match &session.interest {
                Some(interest) => interest.tell(&outbox, None, session.control.closing()).await,
                None => session.control.closing().await,
            }
        })
    };
    respond::events(Body::events(Telling { _streaming: streaming, telling: Some(telling), lines }))
}

/// What changes, as events, for as long as somebody listens.
struct Telling {
    _streaming: Streaming,
    telling: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    lines: mpsc::Receiver<Vec<u8>>,
}

impl Events for Telling {
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(telling) = &mut self.telling
            && telling.as_mut().poll(cx).is_ready()
        {
            self.telling = None;
        }
        match self.lines.poll_recv(cx) {
            Poll::Ready(line) => Poll::Ready(line.map(|line| events(&line).into())),
            Poll::Pending if self.telling.is_none() => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }
}
