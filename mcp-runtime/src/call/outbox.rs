//! Where the messages of calls go: the queue of a connection, or of one HTTP request.

pub(crate) mod presence;
#[cfg(feature = "http")]
pub(crate) mod refused;
#[cfg(feature = "http")]
pub(crate) mod seen_request;

use std::sync::Arc;
#[cfg(any(feature = "auth", feature = "http"))]
use std::sync::OnceLock;

use tokio::sync::mpsc;

use self::presence::Presence;
#[cfg(feature = "http")]
use self::refused::{Refusal, RefusedCall};
#[cfg(feature = "auth")]
use crate::auth::access::{Access, Denied};
#[cfg(feature = "http")]
use crate::call::telemetry::request_id::RequestId;
use crate::call::telemetry::watch::{Network, Sender, Watch};
use crate::outcome::Outcome;
use crate::server::memory::{Charge, Owner};
use crate::server::peer::Peer;
#[cfg(feature = "http")]
use crate::throttle::refusal::Throttled;
#[cfg(feature = "http")]
use http::request::Parts;

/// How many messages may wait for the client to read. A call that sends more waits, too.
const CAPACITY: usize = 64;

/// What leaves a connection after the frame it belongs to has been handled.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// The response to a request, or the list of responses to a batch: one line.
    Answer(Vec<u8>),
    /// Notifications and requests of the server's: one line each.
    Notification(Vec<u8>),
    /// A notification that is only worth something to a client that reads now: one line.
    Heartbeat(Vec<u8>),
    /// The HTTP stream closes while its call continues; the client reconnects for the rest.
    Detach,
    /// The response to a request that was refused, whose status over HTTP may be its own.
    #[cfg(feature = "http")]
    Refused(Box<RefusedCall>),
    /// Nothing follows: the writer flushes and stops.
    End,
}

impl Outgoing {
    /// The response to a request, from its outcome. Who watches it is told now, or when its status is known.
    pub(crate) fn answer(
        outcome: Outcome,
        mut watch: Watch,
        encode: impl FnOnce(Outcome, &mut Watch) -> Vec<u8>,
    ) -> Self {
        #[cfg(feature = "http")]
        if let Some(refusal) = Refusal::of(&outcome) {
            let line = encode(outcome, &mut watch);
            return Outgoing::Refused(Box::new(RefusedCall::new(refusal, line, watch)));
        }
        let line = encode(outcome, &mut watch);
        watch.finish(&line);
        Outgoing::Answer(line)
    }
}

/// The sending half of a queue, and for whom it is.
#[derive(Debug)]
pub(crate) struct Outbox {
    queue: Queue,
    /// What the caller may do, if there are rules.
    #[cfg(feature = "auth")]
    access: Option<Access>,
    /// Whether the caller is elsewhere. Without rules, such a caller has no scope; one on stdio has all.
    #[cfg(feature = "auth")]
    is_remote: bool,
    /// Why a request was denied at once.
    #[cfg(feature = "auth")]
    denied: OnceLock<Box<Denied>>,
    /// Why a request was not served at once.
    #[cfg(feature = "http")]
    throttled: OnceLock<Box<Throttled>>,
    /// The authenticated caller, if there is one.
    #[cfg(feature = "http")]
    principal: Option<Arc<str>>,
    /// The address the caller has, if that is known.
    #[cfg(feature = "http")]
    peer: Option<Peer>,
    /// What the request takes of the memory budget, if it is long.
    #[cfg(feature = "http")]
    held: Option<Arc<Charge>>,
    /// Whether the response to an HTTP request is a stream in a session, which the client can resume and
    /// respond on.
    #[cfg(feature = "http")]
    resumable: bool,
    /// The HTTP request without its body.
    #[cfg(feature = "http")]
    parts: Option<Arc<Parts>>,
    /// Whether the client reads the response; made for the calls that need to know.
    #[cfg(feature = "http")]
    presence: OnceLock<Presence>,
}

#[derive(Debug)]
enum Queue {
    /// Shared by all calls of a connection.
    Connection(mpsc::Sender<Outgoing>),
    /// Of one request; made when a call needs it, since most never do.
    #[cfg(feature = "http")]
    Request(OnceLock<(mpsc::Sender<Outgoing>, mpsc::Receiver<Outgoing>)>),
}

impl Outbox {
    /// The outbox of a connection, and the receiving half.
    pub(crate) fn connection() -> (Self, mpsc::Receiver<Outgoing>) {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        let outbox = Outbox {
            queue: Queue::Connection(sender),
            #[cfg(feature = "auth")]
            access: None,
            #[cfg(feature = "auth")]
            is_remote: false,
            #[cfg(feature = "auth")]
            denied: OnceLock::new(),
            #[cfg(feature = "http")]
            throttled: OnceLock::new(),
            #[cfg(feature = "http")]
            principal: None,
            #[cfg(feature = "http")]
            peer: None,
            #[cfg(feature = "http")]
            held: None,
            #[cfg(feature = "http")]
            resumable: false,
            #[cfg(feature = "http")]
            parts: None,
            #[cfg(feature = "http")]
            presence: OnceLock::new(),
        };
        (outbox, receiver)
    }

    /// The outbox of one HTTP request.
    #[cfg(feature = "http")]
    pub(crate) fn request(parts: &Arc<Parts>, resumable: bool) -> Self {
        let queue = Queue::Request(OnceLock::new());
        let (parts, presence) = (Some(Arc::clone(parts)), OnceLock::new());
        Outbox {
            queue,
            #[cfg(feature = "auth")]
            access: None,
            #[cfg(feature = "auth")]
            is_remote: true,
            #[cfg(feature = "auth")]
            denied: OnceLock::new(),
            throttled: OnceLock::new(),
            principal: None,
            peer: None,
            held: None,
            resumable,
            parts,
            presence,
        }
    }

    /// Sets the caller.
    #[cfg(feature = "http")]
    pub(crate) fn of_caller(self, principal: Option<Arc<str>>, peer: Option<Peer>) -> Self {
        Outbox {
            principal,
            peer,
            #[cfg(feature = "auth")]
            is_remote: true,
            ..self
        }
    }

    /// Sets what the request takes of the memory budget.
    #[cfg(feature = "http")]
    pub(crate) fn holding(self, held: Option<Arc<Charge>>) -> Self {
        Outbox { held, ..self }
    }

    /// Who the memory is kept for that the caller leaves behind.
    pub(crate) fn owner(&self) -> Owner {
        Owner::of(self.principal(), self.peer())
    }

    /// The HTTP request, where there is one.
    #[cfg(feature = "http")]
    pub(crate) fn parts(&self) -> Option<&Arc<Parts>> {
        self.parts.as_ref()
    }

    /// Whether the client can reconnect to the stream of this request.
    #[cfg(feature = "http")]
    pub(crate) fn is_resumable(&self) -> bool {
        self.resumable
    }

    /// What is to be told whether the client reads the response, if a call needs to know.
    #[cfg(feature = "http")]
    pub(crate) fn take_presence(&mut self) -> Option<Presence> {
        self.presence.take()
    }

    /// The queue that outlives the request, if there is one.
    #[cfg_attr(
        not(feature = "http"),
        expect(clippy::unnecessary_wraps, reason = "only HTTP requests have queues of their own")
    )]
    pub(crate) fn connection_sender(&self) -> Option<&mpsc::Sender<Outgoing>> {
        match &self.queue {
            Queue::Connection(sender) => Some(sender),
            #[cfg(feature = "http")]
            Queue::Request(_) => None,
        }
    }

    pub(crate) fn sender(&self) -> &mpsc::Sender<Outgoing> {
        match &self.queue {
            Queue::Connection(sender) => sender,
            #[cfg(feature = "http")]
            Queue::Request(queue) => &queue.get_or_init(|| mpsc::channel(CAPACITY)).0,
        }
    }

    /// The receiving half of a request's own queue, if a call needed one. It ends when all senders are gone.
    #[cfg(feature = "http")]
    pub(crate) fn into_receiver(self) -> Option<mpsc::Receiver<Outgoing>> {
        match self.queue {
            Queue::Connection(_) => None,
            Queue::Request(queue) => queue.into_inner().map(|(_, receiver)| receiver),
        }
    }
}

/// The caller, where there are several.
#[cfg(feature = "http")]
impl Outbox {
    /// What the request takes of the memory budget. Whoever keeps the arguments keeps this.
    pub(crate) fn held(&self) -> Option<&Arc<Charge>> {
        self.held.as_ref()
    }

    pub(crate) fn principal(&self) -> Option<&Arc<str>> {
        #[cfg(feature = "auth")]
        if let Some(user) = self.access.as_ref().and_then(|access| access.user.as_ref()) {
            return Some(user.principal());
        }
        self.principal.as_ref()
    }

    pub(crate) fn peer(&self) -> Option<Peer> {
        self.peer
    }

    /// The connection that the request came by.
    pub(crate) fn network(&self) -> Network {
        self.parts.as_deref().map(Network::of).unwrap_or_default()
    }

    /// Who called, for observers.
    pub(crate) fn caller(&self) -> Sender<'_> {
        let http_id = self.parts.as_deref().and_then(|parts| parts.extensions.get().map(RequestId::shared));
        Sender { user: self.principal(), peer: self.peer, network: self.network(), http_id }
    }

    /// Whether the client of a request reads its response. `None` for a connection, which ends when its client leaves.
    pub(crate) fn presence(&self) -> Option<Presence> {
        match self.queue {
            Queue::Connection(_) => None,
            Queue::Request(_) => Some(self.presence.get_or_init(Presence::default).clone()),
        }
    }

    /// Notes that a request is over a limit, for the transport to say so in its own way.
    #[cold]
    pub(crate) fn throttle(&self, throttled: &Throttled) {
        let _ = self.throttled.set(Box::new(throttled.clone()));
    }

    /// The limit that the request is over, if it is.
    pub(crate) fn take_throttled(&mut self) -> Option<Box<Throttled>> {
        self.throttled.take()
    }

    /// The queue of a connection, for the calls of a message that came in an HTTP request of its own.
    pub(crate) fn of_message(&self, parts: &Arc<Parts>) -> Self {
        Outbox { queue: Queue::Connection(self.sender().clone()), ..Outbox::request(parts, false) }
            .of_caller(self.principal.clone(), self.peer)
    }

    /// Whether the client can receive a request here, and respond to it.
    pub(crate) fn can_ask(&self) -> bool {
        self.resumable || self.connection_sender().is_some()
    }
}

/// What the caller may do.
#[cfg(feature = "auth")]
impl Outbox {
    /// Sets the rules and the user they are applied to.
    #[inline]
    pub(crate) fn with_access(self, access: Option<Access>) -> Self {
        Outbox { access, ..self }
    }

    pub(crate) fn access(&self) -> Option<&Access> {
        self.access.as_ref()
    }

    pub(crate) fn is_remote(&self) -> bool {
        self.is_remote
    }

    /// Notes that a request was denied, for the transport to say so in its own way.
    #[cold]
    pub(crate) fn deny(&self, denied: &Denied) {
        let _ = self.denied.set(Box::new(denied.clone()));
    }

    /// Why the request was denied, if it was.
    #[cfg(feature = "http")]
    pub(crate) fn take_denied(&mut self) -> Option<Box<Denied>> {
        self.denied.take()
    }
}

/// Without HTTP there is one caller, who is not authenticated and has a connection. What is known of it at compile time
/// is left out of the server.
#[cfg(not(feature = "http"))]
#[expect(clippy::unused_self, reason = "as with HTTP")]
impl Outbox {
    pub(crate) fn held(&self) -> Option<&Arc<Charge>> {
        None
    }

    #[cfg(not(feature = "auth"))]
    pub(crate) fn principal(&self) -> Option<&Arc<str>> {
        None
    }

    #[cfg(feature = "auth")]
    pub(crate) fn principal(&self) -> Option<&Arc<str>> {
        self.access.as_ref()?.user.as_ref().map(|user| user.principal())
    }

    pub(crate) fn peer(&self) -> Option<Peer> {
        None
    }

    pub(crate) fn network(&self) -> Network {
        Network::default()
    }

    pub(crate) fn caller(&self) -> Sender<'_> {
        Sender { user: self.principal(), ..Sender::default() }
    }

    pub(crate) fn presence(&self) -> Option<Presence> {
        None
    }

    pub(crate) fn can_ask(&self) -> bool {
        true
    }
}
