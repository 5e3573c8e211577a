//! The legacy era over HTTP (2025-03-26 to 2025-11-25): sessions, answers in responses or on their
//! streams, and one stream for the rest.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http>

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::HeaderValue;
use http::request::Parts;
use http::{Response, StatusCode};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::event_log::{self, Resumed};
use super::stored::{self, Stores};
use super::stream::Reader;
use super::{Full, Session, Sessions, StreamGuard};
use crate::call::outbox::{LET_GO, Outbox};
use crate::dispatch::connection::Connection;
use crate::era::{self, RequestParams};
use crate::jsonrpc::Request;
use crate::jsonrpc::error::RpcError;
use crate::protocol::Revision;
use crate::server::core::Core;
use crate::store::Unavailable;
use crate::transport::http::request::accept::ResponseFormat;
use crate::transport::http::request::headers::SESSION;
use crate::transport::http::response::body::{Body, Events, LineEvents, events};
use crate::transport::http::{Responding, response};

/// Opens a session: takes an `initialize`, and if it succeeds keeps what it settled.
pub(crate) async fn open(
    core: &Arc<Core>,
    sessions: &Arc<Sessions>,
    stores: Option<&Arc<Stores>>,
    principal: Option<&str>,
    (parts, form): (&Arc<Parts>, ResponseFormat),
    frame: &[u8],
) -> Response<Body> {
    match sessions.room(principal, &core.limits) {
        Ok(()) => {}
        Err(Full::Everybody) => return response::later(StatusCode::SERVICE_UNAVAILABLE, "too many sessions"),
        Err(Full::Principal) => {
            return response::later(StatusCode::TOO_MANY_REQUESTS, "too many sessions of yours; end one");
        }
    }
    let mut connection = Connection::new(Arc::clone(core), Handle::current());
    let mut out = Vec::new();
    connection.receive(frame, &Outbox::own(Arc::clone(parts), false).of(principal.map(Arc::from)), &mut out);
    let mut response = response::answer(form, out);
    if connection.session.client().is_none() {
        return response;
    }
    let id = match stores {
        None => sessions.enter(connection, principal),
        Some(stores) => Box::pin(stored::open(stores, sessions, connection, principal)).await,
    };
    match id.map(HeaderValue::try_from) {
        Ok(Ok(id)) => {
            response.headers_mut().insert(SESSION, id);
            response
        }
        _ => response::later(StatusCode::SERVICE_UNAVAILABLE, "no session can be made now"),
    }
}

/// Serves a request of a server that keeps no sessions; by the rules of the revision its header names,
/// or of the oldest that can come this way.
pub(crate) async fn alone(
    core: &Arc<Core>,
    revision: Option<Revision>,
    principal: Option<&str>,
    (parts, form): (&Arc<Parts>, ResponseFormat),
    request: &Request<'_>,
    frame: &[u8],
) -> Response<Body> {
    let mut connection = Connection::new(Arc::clone(core), Handle::current());
    if request.method != "initialize" {
        connection.session = era::LegacySession::assumed(revision.unwrap_or(Revision::WITHOUT_HEADER));
    }
    let outbox = Outbox::own(Arc::clone(parts), false).of(principal.map(Arc::from));
    let mut out = Vec::new();
    connection.receive(frame, &outbox, &mut out);
    let Some(lines) = outbox.into_lines() else { return at_once(out, form) };
    if ends_with_answer(&out) {
        return at_once(out, form);
    }
    // Nobody else has the connection: with it, the call is dropped when the client is gone.
    let mut alone = LineEvents { first: None, lines, form: events, _source: connection };
    if out.is_empty() || !form.streams() {
        match first(&mut alone.lines, form).await {
            None => return response::empty(StatusCode::ACCEPTED),
            Some(line) if is_answer(&line) => return response::answer(form, line),
            Some(line) => out = line,
        }
    }
    alone.first = Some(events(&out).into());
    response::events(Body::events(alone))
}

/// Takes a notification that belongs to no session: the server's own, or one that means nothing here.
pub(crate) fn told_alone(core: &Arc<Core>, parts: &Arc<Parts>, frame: &[u8]) {
    let mut connection = Connection::new(Arc::clone(core), Handle::current());
    connection.receive(frame, &Outbox::own(Arc::clone(parts), false), &mut Vec::new());
    if connection.control().in_flight.is_busy() {
        // Its handler runs for as long as the connection is there.
        tokio::spawn(async move { connection.control().in_flight.at_most(0).await });
    }
}

/// Takes a request in a session.
pub(crate) fn request<'a>(
    session: &Arc<Session>,
    (parts, form): (&Arc<Parts>, ResponseFormat),
    request: &Request<'a>,
    read: Result<RequestParams<'a>, RpcError>,
) -> Responding<'static> {
    let outbox = Outbox::own(Arc::clone(parts), form.streams()).of(session.principal());
    let mut out = Vec::with_capacity(response::ANSWER);
    session.connection().receive_request(request, read, &outbox, &mut out);
    conclude(session, outbox, out, form)
}

/// Takes a message, or several, in a session.
pub(crate) async fn message(
    session: &Arc<Session>,
    (parts, form): (&Arc<Parts>, ResponseFormat),
    frame: &[u8],
) -> Response<Body> {
    let outbox = Outbox::own(Arc::clone(parts), form.streams()).of(session.principal());
    let mut out = Vec::new();
    session.connection().receive(frame, &outbox, &mut out);
    // The answers to a batch are a list; this is about the batch.
    if frame.trim_ascii_start().starts_with(b"[") && is_answer(&out) && !out.starts_with(b"[") {
        return response::json(StatusCode::BAD_REQUEST, out);
    }
    conclude(session, outbox, out, form).finish().await
}

fn conclude(session: &Arc<Session>, outbox: Outbox, out: Vec<u8>, form: ResponseFormat) -> Responding<'static> {
    match outbox.into_lines() {
        // Something is to come. A call that could have told something, and is done, leaves a stream, too.
        Some(lines) if !ends_with_answer(&out) => {
            // Whatever becomes of this connection, somebody takes what the call says.
            let waiting = WaitingRequest { session: Arc::clone(session), lines: Some(lines) };
            Responding::later(later(waiting, out, form))
        }
        _ if out.is_empty() => Responding::Done(response::empty(StatusCode::ACCEPTED)),
        _ => Responding::Done(at_once(out, form)),
    }
}

/// Takes what is owed no answer. What its handler says, nobody hears.
pub(crate) fn told(session: &Session, parts: &Arc<Parts>, frame: &[u8]) -> Response<Body> {
    let outbox = Outbox::own(Arc::clone(parts), false).of(session.principal());
    session.connection().receive(frame, &outbox, &mut Vec::new());
    response::empty(StatusCode::ACCEPTED)
}

fn ends_with_answer(lines: &[u8]) -> bool {
    lines.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().is_some_and(is_answer)
}

/// An answer; behind what was told before it, where something was and the client takes it.
fn at_once(mut lines: Vec<u8>, form: ResponseFormat) -> Response<Body> {
    match memchr::memrchr(b'\n', lines.trim_ascii_end()) {
        None => response::answer(form, lines),
        Some(_) if form.streams() => response::answer(ResponseFormat::Events, lines),
        Some(end) => response::answer(form, lines.split_off(end + 1)),
    }
}

/// The next line of a call: its answer, or what it tells before, if the client takes that.
async fn first(lines: &mut mpsc::Receiver<Vec<u8>>, form: ResponseFormat) -> Option<Vec<u8>> {
    loop {
        let line = lines.recv().await?;
        if form.streams() || is_answer(&line) {
            return Some(line);
        }
    }
}

/// The head of the response is held until it is known what it is the head of. The call goes on
/// whether or not somebody waits: only the client's `notifications/cancelled` cancels it.
async fn later(mut waiting: WaitingRequest, told: Vec<u8>, form: ResponseFormat) -> Response<Body> {
    if told.is_empty() || !form.streams() {
        match waiting.first(form).await {
            // Cancelled: it is owed no answer, but HTTP wants one.
            None => return response::empty(StatusCode::ACCEPTED),
            Some(line) if is_answer(&line) => return response::answer(form, line),
            Some(line) => return waiting.stream(&line).await,
        }
    }
    waiting.stream(&told).await
}

/// A request whose answer is to come. If its client goes before anything came, what comes is kept for
/// nobody, but the call goes on.
struct WaitingRequest {
    session: Arc<Session>,
    lines: Option<mpsc::Receiver<Vec<u8>>>,
}

impl WaitingRequest {
    async fn first(&mut self, form: ResponseFormat) -> Option<Vec<u8>> {
        match &mut self.lines {
            Some(lines) => first(lines, form).await,
            None => None,
        }
    }

    /// The response is a stream, which the client may leave and come back to.
    async fn stream(mut self, told: &[u8]) -> Response<Body> {
        let stream = event_log::open(&self.session, false).await;
        // Clients before that do not know events without data.
        let reader = stream.read(self.session.revision().has_event_priming());
        if told == LET_GO {
            stream.let_go();
        } else {
            stream.push(told);
        }
        if let Some(lines) = self.lines.take() {
            tokio::spawn(stream.take(lines));
        }
        response::events(Body::events(reader))
    }
}

impl Drop for WaitingRequest {
    fn drop(&mut self) {
        if let Some(mut lines) = self.lines.take() {
            // A call that cannot say anything would wait for ever.
            tokio::spawn(async move { while lines.recv().await.is_some() {} });
        }
    }
}

/// Whether a line is what a request waits for, rather than something told before.
fn is_answer(line: &[u8]) -> bool {
    line.starts_with(br#"{"jsonrpc":"2.0","id":"#) || line.starts_with(b"[")
}

/// The session's stream for what belongs to no request; or the rest of another, for a client that was
/// cut off.
pub(crate) async fn stream(session: &Arc<Session>, last_event: Option<&str>) -> Response<Body> {
    if let Some(id) = last_event {
        return match Box::pin(event_log::resume(session, id)).await {
            // Whoever had it before has been left.
            Ok(Some(Resumed::Here(reader))) if reader.stream.of_session => follow(session, session.stream(), reader),
            Ok(Some(Resumed::Here(reader))) => response::events(Body::events(reader)),
            Ok(Some(Resumed::Elsewhere(rest))) => response::events(Body::events(rest)),
            Err(Unavailable) => {
                response::later(StatusCode::SERVICE_UNAVAILABLE, "events are out of reach now; try again")
            }
            Ok(None) => {
                let text = "there is no such event any more; open a new stream without `Last-Event-ID`";
                response::refuse(StatusCode::BAD_REQUEST, RpcError::INVALID_REQUEST, text)
            }
        };
    }
    let Some(streaming) = session.stream() else {
        return response::refuse(
            StatusCode::CONFLICT,
            RpcError::INVALID_REQUEST,
            "this session has its stream already",
        );
    };
    let reader = event_log::open(session, true).await.read(session.revision().has_event_priming());
    follow(session, Some(streaming), reader)
}

fn follow(session: &Arc<Session>, streaming: Option<StreamGuard>, reader: Reader) -> Response<Body> {
    let (outbox, lines) = mpsc::channel(1);
    let following = Arc::clone(session);
    let telling = Box::pin(async move {
        match &following.subscription {
            Some(subscription) => subscription.deliver(&outbox, None, following.ends()).await,
            None => following.ends().await,
        }
    });
    response::events(Body::events(Telling { _streaming: streaming, work: Some(telling), lines, reader }))
}

/// What changes, as events, for as long as somebody listens. Nothing is taken for a stream nobody
/// reads: it waits where it is, each change once.
struct Telling {
    _streaming: Option<StreamGuard>,
    work: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    lines: mpsc::Receiver<Vec<u8>>,
    reader: Reader,
}

impl Events for Telling {
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(work) = &mut self.work
            && work.as_mut().poll(cx).is_ready()
        {
            self.work = None;
        }
        while let Poll::Ready(Some(line)) = self.lines.poll_recv(cx) {
            self.reader.stream.push(&line);
        }
        if self.work.is_none() {
            self.reader.stream.end();
        }
        Pin::new(&mut self.reader).poll_next(cx)
    }
}
