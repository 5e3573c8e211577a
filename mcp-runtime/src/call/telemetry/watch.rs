//! One request, watched from its message to its end, if somebody watches. Without an observer a [`Watch`] is empty.
//!
//! Traits, so that what observers, logs and spans need is linked only into servers that have one: `Server::observe` is
//! the only way to an implementation. A watched request reports when it is dropped: nothing that becomes of it can be
//! missed, or told twice.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use tracing::Span;

use crate::era::encode::ResponseTo;
use crate::era::{Accepted, Names};
use crate::observe::{SessionHash, Transport};
use crate::outcome::Outcome;
use crate::protocol::Revision;
use crate::server::peer::Peer;

/// Who watches the requests of a server.
pub(crate) trait Watcher: fmt::Debug + Send + Sync {
    /// A request has arrived.
    fn request(&self, arrived: Arrived<'_>) -> Box<dyn Watched>;
    /// A session has been opened. It is over when this is dropped.
    fn session(&self, revision: Revision, place: Place) -> Box<dyn WatchedSession>;
    /// The server asks a client.
    fn question(&self, method: &str, revision: Revision, transport: Transport) -> Box<dyn WatchedQuestion>;
    /// A notification of a client's has been handled.
    fn notified(&self, notification: &NotifiedRequest<'_>);
    /// The span of a task that goes on after the call that is current, if spans are wanted.
    fn task_span(&self) -> Option<Span>;
}

/// A notification as it arrives.
pub(crate) struct NotifiedRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) names: &'a dyn Names,
    pub(crate) revision: Option<Revision>,
    pub(crate) bytes: usize,
    pub(crate) started: Instant,
    pub(crate) place: Place,
    pub(crate) network: Network,
}

/// Where a message belongs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) transport: Transport,
    pub(crate) session: Option<SessionHash>,
}

/// The length of a message, and when it was there; now, if nobody has noted it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) bytes: usize,
    pub(crate) at: Option<Instant>,
}

impl Arrival {
    #[inline]
    pub(crate) fn now(bytes: usize) -> Self {
        Arrival { bytes, at: None }
    }
}

/// A request as it arrives, before it is known whether it is valid.
pub(crate) struct Arrived<'a> {
    /// As the client sent it; nothing if its message could not be read.
    pub(crate) method: &'a str,
    pub(crate) names: Option<&'a dyn Names>,
    pub(crate) bytes: usize,
    pub(crate) started: Instant,
    pub(crate) place: Place,
    /// Whether it is one of a batch: its answer is one of a list.
    pub(crate) in_batch: bool,
    pub(crate) network: Network,
}

/// What is known of the connection a message came by.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Network {
    /// The version of HTTP.
    pub(crate) http: Option<&'static str>,
    /// Whether it is a Unix socket.
    pub(crate) is_unix: bool,
}

/// The connection is a Unix socket: an extension of its requests, if they are watched.
#[cfg(feature = "http")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct OverUnixSocket;

#[cfg(feature = "http")]
impl Network {
    pub(crate) fn of(parts: &http::request::Parts) -> Self {
        let http = match parts.version {
            http::Version::HTTP_10 => Some("1.0"),
            http::Version::HTTP_11 => Some("1.1"),
            http::Version::HTTP_2 => Some("2"),
            http::Version::HTTP_3 => Some("3"),
            _ => None,
        };
        Network { http, is_unix: parts.extensions.get::<OverUnixSocket>().is_some() }
    }
}

/// Who sent a request, as far as that is known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sender<'a> {
    pub(crate) user: Option<&'a Arc<str>>,
    pub(crate) peer: Option<Peer>,
    pub(crate) network: Network,
    /// The id of the HTTP request, if it has one.
    pub(crate) http_id: Option<&'a Arc<str>>,
}

/// A [`Sender`], to be kept.
#[derive(Debug, Default)]
pub(crate) struct KnownSender {
    pub(crate) user: Option<Arc<str>>,
    pub(crate) peer: Option<Peer>,
    pub(crate) network: Network,
    pub(crate) http_id: Option<Arc<str>>,
}

impl From<Sender<'_>> for KnownSender {
    fn from(sender: Sender<'_>) -> Self {
        let Sender { user, peer, network, http_id } = sender;
        KnownSender { user: user.cloned(), peer, network, http_id: http_id.cloned() }
    }
}

/// A request that has been accepted.
pub(crate) struct AcceptedRequest<'a> {
    pub(crate) id: &'a str,
    pub(crate) call: &'a Accepted<'a>,
    pub(crate) names: &'a dyn Names,
    pub(crate) sender: Sender<'a>,
}

/// What a call that is dropped was dropped for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LifelineState {
    /// Its connection goes on: it was cancelled.
    Alive,
    /// Its connection has ended.
    Gone,
    /// The server has given it up in a shutdown, and has answered so.
    GivenUp,
    /// The server has ended it, without an answer.
    Aborted,
}

/// A connection, whose end is the end of its calls. Not `Debug`: every server would link that of a connection and of all it
/// has.
pub(crate) trait Lifeline: Send + Sync {
    fn state(&self) -> LifelineState;
}

/// A request that is watched. Dropped before it is finished, it was cancelled.
#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP has responses and peers"))]
pub(crate) trait Watched: fmt::Debug + Send {
    /// It has to wait, and is over with this connection at the latest.
    fn waits(&mut self, lifeline: Arc<dyn Lifeline>);
    /// It is valid, and will be served.
    fn accepted(&mut self, request: &AcceptedRequest<'_>);
    /// The span of its call.
    fn span(&self) -> Option<&Span>;
    /// It has this outcome, which is brought into the form of its revision.
    fn settle(&mut self, outcome: &mut Outcome, to: ResponseTo<'_>);
    /// It is refused before its handler runs. Its outcome follows.
    fn unserved(&mut self);
    /// The response to it has this status.
    fn status(&mut self, status: u16);
    /// It was sent by them, in this revision. For one that is not accepted.
    fn sent_by(&mut self, sender: Sender<'_>, revision: Option<Revision>);
    /// Its answer could not be sent, and this error is sent instead.
    fn replaced(&mut self, code: i32, message: &str);
    /// The response to it has so many bytes.
    fn sent(&mut self, bytes: usize);
    /// It was refused, with this error.
    fn refused(&mut self, code: Option<i32>, message: &str);
    /// It was refused, with this line.
    fn refused_with(&mut self, line: &[u8]);
    /// It is over.
    fn finish(self: Box<Self>, answer: &[u8]);
}

/// A session that is watched. It is over when this is dropped.
#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only sessions over HTTP are in stores"))]
pub(crate) trait WatchedSession: fmt::Debug + Send + Sync {
    /// It is not over, but no longer watched here.
    fn forget(self: Box<Self>);
}

/// A question to a client that is watched. Dropped before it is finished, it was cancelled.
pub(crate) trait WatchedQuestion: Send {
    /// What the client needs to continue the trace: a `traceparent`.
    #[cfg(feature = "otel")]
    fn traceparent(&self) -> Option<String>;
    fn finish(self: Box<Self>, outcome: crate::observe::Outcome, code: Option<i64>);
}

/// A span that is entered. Not the guard of `tracing`, which costs a call without a span more than a comparison.
#[derive(Debug)]
pub(crate) struct Entered<'a>(Option<&'a Span>);

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(span) = self.0 {
            leave(span);
        }
    }
}

#[cold]
fn enter(watched: &dyn Watched) -> Option<&Span> {
    let span = watched.span()?;
    span.with_subscriber(|(id, subscriber)| subscriber.enter(id));
    Some(span)
}

#[cold]
fn leave(span: &Span) {
    span.with_subscriber(|(id, subscriber)| subscriber.exit(id));
}

/// A request that may be watched.
#[derive(Debug, Default)]
pub(crate) struct Watch(Option<Box<dyn Watched>>);

impl Watch {
    /// A request has arrived; nobody is told if there is no watcher.
    #[inline]
    pub(crate) fn begin<'a>(watcher: Option<&Arc<dyn Watcher>>, arrived: impl FnOnce() -> Arrived<'a>) -> Self {
        Watch(watcher.map(|watcher| watcher.request(arrived())))
    }

    /// What watches the request, if anything does.
    #[cfg(feature = "http")]
    #[inline]
    pub(crate) fn get(&mut self) -> Option<&mut (dyn Watched + 'static)> {
        self.0.as_deref_mut()
    }

    /// Whether anything watches it.
    #[cfg(feature = "http")]
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// The request has to wait.
    #[inline]
    pub(crate) fn waits(&mut self, lifeline: impl FnOnce() -> Arc<dyn Lifeline>) {
        if let Some(watched) = &mut self.0 {
            watched.waits(lifeline());
        }
    }

    /// The request is valid, and will be served.
    #[inline]
    pub(crate) fn accepted<'a>(&mut self, request: impl FnOnce() -> AcceptedRequest<'a>) {
        if let Some(watched) = &mut self.0 {
            watched.accepted(&request());
        }
    }

    /// The request is not valid: who sent it, and the revision it names.
    #[cold]
    pub(crate) fn sent_by<'a>(&mut self, sender: impl FnOnce() -> (Sender<'a>, Option<Revision>)) {
        if let Some(watched) = &mut self.0 {
            let (sender, revision) = sender();
            watched.sent_by(sender, revision);
        }
    }

    /// Enters the span of the call, if it has one, until the guard is dropped.
    #[inline]
    pub(crate) fn enter(&self) -> Entered<'_> {
        Entered(match &self.0 {
            None => None,
            Some(watched) => enter(&**watched),
        })
    }

    /// The span of the call.
    pub(crate) fn span(&self) -> Option<Span> {
        self.0.as_ref()?.span().cloned()
    }

    /// Takes the outcome, before it is encoded.
    #[inline]
    pub(crate) fn settle(&mut self, outcome: &mut Outcome, to: ResponseTo<'_>) {
        if let Some(watched) = &mut self.0 {
            watched.settle(outcome, to);
        }
    }

    /// The request is refused before its handler runs; its outcome is taken next.
    #[inline]
    pub(crate) fn unserved(&mut self) {
        if let Some(watched) = &mut self.0 {
            watched.unserved();
        }
    }

    /// The request is over, with this answer.
    #[inline]
    pub(crate) fn finish(self, answer: &[u8]) {
        if let Some(watched) = self.0 {
            watched.finish(answer);
        }
    }

    /// The request was refused, with this answer.
    #[inline]
    pub(crate) fn refuse(self, answer: &[u8]) {
        if let Some(mut watched) = self.0 {
            watched.refused_with(answer);
            watched.finish(answer);
        }
    }
}
