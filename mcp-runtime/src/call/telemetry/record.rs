//! Watched requests: what observers are told of each, collected on its way and told when it is over.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use tracing::Span;

use super::ended::{OpenSession, Question};
use super::span;
use super::told::Telemetry;
use super::watch::{
    AcceptedRequest, Arrived, KnownSender, Lifeline, LifelineState, NotifiedRequest, Place, Sender, Watched,
    WatchedQuestion, WatchedSession, Watcher,
};
use crate::era::client_info::ClientInfo;
use crate::era::encode::{self, ResponseTo};
use crate::era::{Accepted, Method};
use crate::jsonrpc::error::{RpcError, beginning, shorten};
use crate::jsonrpc::raw::{Raw, from_bytes};
use crate::observe::{self, ClientField, Finished, Notified, OTHER, Spans, Transport};
use crate::outcome::{Failure, Outcome, Reply};
use crate::protocol::Revision;
use crate::server::peer::Peer;

/// Who is told of requests, and the code that tells them: only servers that have an observer link it.
#[derive(Debug)]
pub(crate) struct Observing {
    pub(crate) telemetry: Telemetry,
    start: fn(Telemetry) -> Arc<dyn Watcher>,
}

impl Observing {
    pub(crate) fn new() -> Self {
        Observing { telemetry: Telemetry::default(), start: |telemetry| Arc::new(Shared(Arc::new(telemetry))) }
    }

    pub(crate) fn start(self) -> Arc<dyn Watcher> {
        (self.start)(self.telemetry)
    }
}

#[derive(Debug)]
struct Shared(Arc<Telemetry>);

impl Watcher for Shared {
    fn request(&self, arrived: Arrived<'_>) -> Box<dyn Watched> {
        let Arrived { method, names, bytes, started, place, in_batch, network } = arrived;
        let method = match Method::known(method) {
            Some(known) => Cow::Borrowed(known),
            None => match names.and_then(|names| names.custom_method(method)) {
                Some(custom) => Cow::Owned(custom.to_owned()),
                None => Cow::Borrowed(OTHER),
            },
        };
        Box::new(Record {
            telemetry: Arc::clone(&self.0),
            started,
            method,
            place,
            in_batch,
            sender: KnownSender { network, ..KnownSender::default() },
            lifeline: None,
            bytes_in: bytes,
            bytes_out: 0,
            target: None,
            uri: None,
            revision: None,
            is_accepted: false,
            client: Client::Unknown,
            outcome: None,
            code: None,
            status: None,
            message: None,
            span: None,
        })
    }

    fn session(&self, revision: Revision, place: Place) -> Box<dyn WatchedSession> {
        let (telemetry, opened) = (Arc::clone(&self.0), Instant::now());
        Box::new(OpenSession { telemetry, revision, place, opened, is_forgotten: false })
    }

    fn question(&self, method: &str, revision: Revision, transport: Transport) -> Box<dyn WatchedQuestion> {
        Box::new(Question {
            telemetry: Arc::clone(&self.0),
            method: method.to_owned(),
            revision,
            transport,
            started: Instant::now(),
            span: self.0.spans.as_ref().and_then(|_| span::of_question(method, revision, transport)),
            outcome: observe::Outcome::Cancelled,
            code: None,
        })
    }

    fn notified(&self, notification: &NotifiedRequest<'_>) {
        let NotifiedRequest { method, names, revision, bytes, started, place, network } = *notification;
        let known = NOTIFICATIONS.into_iter().find(|known| *known == method);
        let notified = Notified {
            method: known.or_else(|| names.custom_notification(method)).unwrap_or(OTHER),
            revision,
            transport: place.transport,
            http_version: network.http,
            is_unix_socket: network.is_unix,
            duration: started.elapsed(),
            bytes_in: bytes,
            session: place.session,
        };
        self.0.tell(|observer| observer.notified(&notified));
    }

    fn task_span(&self) -> Option<Span> {
        self.0.spans.as_ref().and_then(|_| span::of_task())
    }
}

/// The notifications that clients of any revision send.
const NOTIFICATIONS: [&str; 4] = [
    "notifications/cancelled",
    "notifications/initialized",
    "notifications/progress",
    "notifications/roots/list_changed",
];

/// A request, as far as it is known.
struct Record {
    telemetry: Arc<Telemetry>,
    started: Instant,
    method: Cow<'static, str>,
    place: Place,
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP has a status"))]
    in_batch: bool,
    sender: KnownSender,
    /// Of a call that has to wait: what it is over with.
    lifeline: Option<Arc<dyn Lifeline>>,
    bytes_in: usize,
    bytes_out: usize,
    target: Option<NamedTarget>,
    uri: Option<Box<str>>,
    revision: Option<Revision>,
    /// Whether it is valid, and so has a span if one is wanted.
    is_accepted: bool,
    client: Client,
    outcome: Option<observe::Outcome>,
    code: Option<i32>,
    status: Option<u16>,
    /// The message of the error, for the span.
    message: Option<Box<str>>,
    span: Option<Span>,
}

/// What it is for.
enum NamedTarget {
    Known(Arc<str>),
    Other,
}

/// Who sent it.
enum Client {
    Unknown,
    Session(Arc<ClientInfo>),
    Json(Box<str>),
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record").field("method", &self.method).field("outcome", &self.outcome).finish_non_exhaustive()
    }
}

impl Watched for Record {
    fn waits(&mut self, lifeline: Arc<dyn Lifeline>) {
        self.lifeline = Some(lifeline);
    }

    fn accepted(&mut self, request: &AcceptedRequest<'_>) {
        let call = request.call;
        self.revision = Some(call.envelope.revision);
        self.uri = uri(call);
        let names_something =
            matches!(call.method, Method::ToolsCall | Method::PromptsGet | Method::Complete) || self.uri.is_some();
        self.target = names_something.then(|| match request.names.target(call.method, &call.params) {
            Some(name) => NamedTarget::Known(Arc::clone(name)),
            None => NamedTarget::Other,
        });
        self.is_accepted = true;
        self.sender = request.sender.into();
        self.client = match call.envelope.client_source() {
            Ok(client) => Client::Session(client),
            Err(Some(json)) => Client::Json(json.get().into()),
            Err(None) => Client::Unknown,
        };
        if let Some(spans) = &self.telemetry.spans {
            self.span = span::of_call(&self.finished(), spans, request);
        }
    }

    fn span(&self) -> Option<&Span> {
        self.span.as_ref()
    }

    fn settle(&mut self, outcome: &mut Outcome, to: ResponseTo<'_>) {
        let aborted = match outcome {
            Err(Failure::TimedOut(_)) => Some(observe::Outcome::TimedOut),
            Err(Failure::Panicked) => Some(observe::Outcome::Panicked),
            Err(Failure::ShutDown) => Some(observe::Outcome::Shutdown),
            // Of these, no handler has run, or a layer has called it with what does not fit.
            Err(Failure::Throttled(_) | Failure::Arguments(_)) => Some(observe::Outcome::Refused),
            #[cfg(feature = "auth")]
            Err(Failure::Forbidden(_)) => Some(observe::Outcome::Refused),
            Err(_) => self.outcome,
            _ => None,
        };
        #[cfg(feature = "http")]
        self.settled(outcome);
        encode::settle(outcome, to);
        let became = match outcome {
            Ok(Reply::Tool(result)) if result.is_error => observe::Outcome::ToolError,
            Ok(Reply::InputRequired { .. }) => observe::Outcome::InputRequired,
            Ok(Reply::TaskCreated(_)) => observe::Outcome::TaskCreated,
            Ok(_) => observe::Outcome::Answered,
            Err(failure) => {
                if let Failure::Protocol(error) = failure {
                    self.failed(Some(error.code), &error.message);
                }
                observe::Outcome::Error
            }
        };
        self.outcome = Some(aborted.unwrap_or(became));
    }

    fn unserved(&mut self) {
        self.outcome = Some(observe::Outcome::Refused);
    }

    fn status(&mut self, status: u16) {
        self.status = Some(status);
    }

    fn sent_by(&mut self, sender: Sender<'_>, revision: Option<Revision>) {
        if !self.is_accepted {
            self.sender = sender.into();
            self.revision = revision;
        }
    }

    fn replaced(&mut self, code: i32, message: &str) {
        self.outcome = Some(observe::Outcome::Error);
        self.failed(Some(code), message);
    }

    fn sent(&mut self, bytes: usize) {
        self.bytes_out = bytes;
    }

    fn refused(&mut self, code: Option<i32>, message: &str) {
        self.outcome = Some(observe::Outcome::Refused);
        self.failed(code, message);
    }

    fn refused_with(&mut self, line: &[u8]) {
        #[derive(serde::Deserialize)]
        struct Line {
            error: RpcError,
        }
        #[cfg(feature = "http")]
        if self.status.is_none() {
            self.status = answered_with(self.place.transport);
        }
        match from_bytes::<Line>(line) {
            Some(Line { error }) => self.refused(Some(error.code), &error.message),
            None => self.refused(None, ""),
        }
    }

    fn finish(mut self: Box<Self>, answer: &[u8]) {
        self.bytes_out = answer.len();
        if let (Some(Spans { payloads: true }), Some(span), "tools/call") =
            (&self.telemetry.spans, &self.span, &*self.method)
        {
            span::record_result(span, answer);
        }
    }
}

/// The status of a response in a session, or to a request without one of the older revisions, that has an answer.
#[cfg(feature = "http")]
fn answered_with(transport: Transport) -> Option<u16> {
    match transport {
        Transport::Stdio => None,
        Transport::Http | Transport::HttpSession => Some(200),
        // The answer is on the stream.
        Transport::Sse => Some(202),
    }
}

impl Record {
    /// The status of the response to it, as its outcome has it. Stateless requests have others, and say so themselves; so
    /// do calls that had to wait, when it is known whether anything was sent before. A batch has one, whatever its answers.
    #[cfg(feature = "http")]
    fn settled(&mut self, outcome: &Outcome) {
        let answered = answered_with(self.place.transport);
        self.status = match outcome {
            _ if self.in_batch || self.lifeline.is_some() => answered,
            #[cfg(feature = "auth")]
            Err(Failure::Forbidden(denied)) => answered.map(|_| if denied.is_anonymous { 401 } else { 403 }),
            Err(Failure::ShutDown) if self.place.transport != Transport::Sse => answered.map(|_| 503),
            Err(Failure::Throttled(throttled)) if self.place.transport != Transport::Sse => {
                answered.map(|_| if throttled.is_busy { 503 } else { 429 })
            }
            _ => answered,
        };
    }

    fn failed(&mut self, code: Option<i32>, message: &str) {
        self.code = code;
        if self.telemetry.spans.is_some() {
            self.message = Some(shorten(message).into());
        }
    }

    /// What became of a request that was dropped, and the code it was answered with.
    fn dropped(&self) -> (observe::Outcome, Option<i32>) {
        let state = match &self.lifeline {
            // Nothing else ends these: their connection has.
            _ if self.place.transport == Transport::Http => LifelineState::Gone,
            Some(lifeline) => lifeline.state(),
            None => LifelineState::Gone,
        };
        match state {
            LifelineState::Alive => (observe::Outcome::Cancelled, None),
            LifelineState::Gone => (observe::Outcome::ClientGone, None),
            LifelineState::GivenUp => (observe::Outcome::Shutdown, Some(RpcError::INTERNAL)),
            LifelineState::Aborted => (observe::Outcome::Shutdown, None),
        }
    }

    /// What is known. A request without an outcome is over because nobody waits for it.
    fn finished(&self) -> Finished<'_> {
        let (outcome, code) = match self.outcome {
            Some(outcome) => (outcome, self.code),
            None => self.dropped(),
        };
        Finished {
            method: &self.method,
            target: self.target.as_ref().map(|target| match target {
                NamedTarget::Known(name) => &**name,
                NamedTarget::Other => OTHER,
            }),
            uri: self.uri.as_deref(),
            revision: self.revision,
            transport: self.place.transport,
            http_version: self.sender.network.http,
            is_unix_socket: self.sender.network.is_unix,
            duration: self.started.elapsed(),
            outcome,
            code,
            status: self.status,
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            user: self.sender.user.as_deref(),
            peer: self.sender.peer.map(Peer::ip),
            session: self.place.session,
            http_request_id: self.sender.http_id.as_deref(),
            client: match &self.client {
                Client::Unknown => ClientField::Unknown,
                Client::Session(client) => match (client.name(), client.version()) {
                    (Some(name), Some(version)) => ClientField::Known(name, version),
                    _ => ClientField::Unknown,
                },
                Client::Json(json) => ClientField::Json(json),
            },
        }
    }
}

/// The one place where a request is reported.
impl Drop for Record {
    fn drop(&mut self) {
        let finished = self.finished();
        if self.telemetry.spans.is_some() {
            // One that was refused has no span yet. That of a call is not wanted if it has none.
            let is_late = self.span.is_none() && !self.is_accepted;
            let late = if is_late { span::of_refused(&finished) } else { None };
            if let Some(span) = self.span.as_ref().or(late.as_ref()) {
                span::close(span, &finished, self.message.as_deref());
            }
        }
        self.telemetry.tell(|observer| observer.finished(&finished));
    }
}

/// The URI a call names.
fn uri(call: &Accepted<'_>) -> Option<Box<str>> {
    let named = matches!(call.method, Method::ResourcesRead | Method::Subscribe | Method::Unsubscribe);
    let uri = named.then(|| call.params.get("uri").and_then(Raw::text)).flatten()?;
    Some(beginning(&uri, 300).into())
}
