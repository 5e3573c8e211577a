//! One client's connection: it receives frames, admits requests, and answers them. Batches are in `batch`,
//! notifications in `client_notifications`, subscriptions in `listen`.
//!
//! A call that completes on its first poll is answered at once, into the caller's buffer: no task, no channel, no
//! other thread. A pending call becomes a task, which sends its answer to the outbox.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::admission::permit::note_denial;
#[cfg(feature = "http")]
use super::long_answers;
use super::router;
use crate::call::begin::{Begun, CallEnv, WaitingCall, begin};
use crate::call::control::ConnectionControl;
use crate::call::in_flight::{CallKind, TaskSet};
use crate::call::notifier::CloseOnDrop;
use crate::call::outbox::{Outbox, Outgoing};
use crate::call::run::PendingCall;
use crate::call::telemetry::watch::{AcceptedRequest, Watch};
use crate::era::encode::{self, ResponseTo, notification};
use crate::era::{self, Accepted, Era, LegacySession, Method, RequestParams};
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::{self, Id, Message, Rejection, Request, depth};
use crate::outcome::{Failure, Reply};
use crate::panic;
use crate::server::core::Core;
use crate::server::state::CatalogView;
use crate::subscription::Subscription;

/// One client, from its first message to its last answer.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) core: Arc<Core>,
    pub(crate) view: CatalogView,
    pub(crate) session: LegacySession,
    pub(crate) runtime: Handle,
    pub(crate) control: Arc<ConnectionControl>,
    /// Pending calls.
    pub(crate) calls: TaskSet,
    /// Streams of `subscriptions/listen`, which last until they are closed.
    pub(crate) streams: TaskSet,
    /// Sends the session's change notifications.
    pub(crate) notifying: TaskSet,
    /// The changes the session is notified of.
    pub(crate) subscription: Option<Arc<Subscription>>,
    pub(crate) exited: Option<Exited>,
    /// Whether the client has sent `initialized`.
    pub(crate) initialized: bool,
    /// Whether the message that is handled is one of a batch.
    pub(super) in_batch: bool,
    consecutive_errors: usize,
}

/// The client sent `exit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exited {
    /// Whether the client had sent `shutdown` before.
    pub(crate) announced: bool,
}

/// The immediate result of a frame. The bytes are in the buffer the frame was received with.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Received {
    /// Where the answer begins in the buffer, behind notifications. Without an answer, the buffer has
    /// notifications only.
    pub(crate) answer_at: Option<usize>,
    /// The frame itself was rejected: the answer is an error about it.
    pub(crate) rejected: bool,
}

/// The result of one message.
pub(super) enum Handled {
    /// It has no answer.
    Nothing,
    /// Its answer is in the buffer, starting at `at`.
    Answered {
        at: usize,
    },
    /// It was malformed; the error is in the buffer, starting at `at`.
    Rejected {
        at: usize,
    },
    Waiting(Box<WaitingCall>),
}

impl Handled {
    /// What is known at once.
    pub(super) fn received(&self) -> Received {
        match *self {
            Handled::Nothing | Handled::Waiting(_) => Received::default(),
            Handled::Answered { at } => Received { answer_at: Some(at), rejected: false },
            Handled::Rejected { at } => Received { answer_at: Some(at), rejected: true },
        }
    }
}

impl Connection {
    pub(crate) fn new(core: Arc<Core>, runtime: Handle) -> Self {
        Connection {
            view: CatalogView::new(&core.shared),
            core,
            session: LegacySession::default(),
            runtime,
            control: Arc::default(),
            calls: TaskSet::default(),
            streams: TaskSet::default(),
            notifying: TaskSet::default(),
            subscription: None,
            exited: None,
            initialized: false,
            in_batch: false,
            consecutive_errors: 0,
        }
    }

    /// Shared with the transport, which can end the connection.
    pub(crate) fn control(&self) -> &Arc<ConnectionControl> {
        &self.control
    }

    /// Whether the client sent `exit`.
    pub(crate) fn exited(&self) -> Option<Exited> {
        self.exited
    }

    /// Whether the number of consecutive malformed messages has reached its limit.
    pub(crate) fn has_too_many_errors(&self) -> bool {
        self.consecutive_errors >= self.core.limits.consecutive_errors
    }

    pub(crate) fn consecutive_errors(&self) -> usize {
        self.consecutive_errors
    }

    /// The environment of this connection's calls.
    pub(super) fn env<'a>(&'a self, outbox: &'a Outbox) -> CallEnv<'a> {
        CallEnv { core: &self.core, catalog: self.view.catalog(), outbox, control: Some(&self.control) }
    }

    /// Receives one frame. Immediate answers are appended to `out`, one line each; later ones go through the
    /// outbox.
    pub(crate) fn receive(&mut self, frame: &[u8], outbox: &Outbox, out: &mut Vec<u8>) -> Received {
        // Some shells write a byte order mark at the start of a pipe.
        let frame = frame.strip_prefix("\u{feff}".as_bytes()).unwrap_or(frame);
        self.view.refresh(&self.core.shared);
        if depth::exceeds(frame, self.core.limits.depth) {
            return self.refuse_deep(frame, out);
        }
        if frame.trim_ascii_start().first() == Some(&b'[') && self.session.has_batches() {
            return self.batch(frame, outbox, out);
        }
        let handled = self.message(jsonrpc::parse(frame), frame, outbox, out);
        self.conclude(handled, outbox)
    }

    /// Prepares for a well-formed request.
    #[cfg(feature = "http")]
    pub(super) fn refresh(&mut self) {
        self.view.refresh(&self.core.shared);
        self.consecutive_errors = 0;
    }

    pub(super) fn conclude(&mut self, handled: Handled, outbox: &Outbox) -> Received {
        let received = handled.received();
        if let Handled::Waiting(call) = handled {
            self.spawn(*call, outbox.sender().clone());
        }
        received
    }

    /// Handles one message. Its answer is appended to `out`, unless it is pending.
    pub(super) fn message(
        &mut self,
        message: Result<Message<'_>, Rejection<'_>>,
        raw: &[u8],
        outbox: &Outbox,
        out: &mut Vec<u8>,
    ) -> Handled {
        self.consecutive_errors = if message.is_ok() { 0 } else { self.consecutive_errors + 1 };
        match message {
            Ok(Message::Request(request)) => {
                let params = era::read(&request);
                let era = era::of(&request, params.as_ref().ok());
                return self.request(era, &request, params, raw.len(), outbox, out);
            }
            Ok(Message::Notification(notification)) => self.notification(&notification, raw, outbox),
            Ok(Message::Response(response)) => {
                let pending = &self.control.pending_requests;
                // The transport takes it to the replica that asked.
                let elsewhere = || response.id.is_some_and(|id| pending.is_of_another(id));
                if !pending.answered(&response) && !elsewhere() {
                    let error = RpcError::invalid_request("response matches no pending server request");
                    self.core.hooks.protocol_error(raw, &error);
                }
            }
            Err(rejection) => {
                self.core.hooks.protocol_error(raw, &rejection.error);
                return self.rejected(&rejection, raw.len(), out);
            }
        }
        Handled::Nothing
    }

    /// Handles one request: admits it, applies it to the connection, begins the call, and encodes its outcome.
    #[inline]
    fn request<'a>(
        &mut self,
        era: Era,
        request: &Request<'a>,
        params: Result<RequestParams<'a>, RpcError>,
        received: usize,
        outbox: &Outbox,
        out: &mut Vec<u8>,
    ) -> Handled {
        let mut watch = self.watch(&request.method, received);
        let call = match self.accept(era, request, params, outbox, &mut watch, out) {
            Ok(call) => call,
            Err(handled) => return handled.watched(watch, out),
        };
        let (core, catalog) = (&self.core, self.view.catalog());
        let env = CallEnv { core, catalog, outbox, control: Some(&self.control) };
        let (in_flight, calls) = (&self.control.in_flight, &mut self.calls);
        let has_room = || in_flight.has_room(CallKind::Call, core.limits.in_flight, calls);
        begin_call(&env, request.id, &call, has_room, watch, out)
    }

    /// Admits a request and applies it to the connection. What there is no call to begin for is handled then.
    #[inline]
    pub(super) fn accept<'a>(
        &mut self,
        era: Era,
        request: &Request<'a>,
        params: Result<RequestParams<'a>, RpcError>,
        outbox: &Outbox,
        watch: &mut Watch,
        out: &mut Vec<u8>,
    ) -> Result<Accepted<'a>, Handled> {
        let call = match self.admit(era, request, params) {
            Ok(call) => call,
            Err(error) => {
                watch.sent_by(|| (outbox.caller(), self.session.client().map(|_| self.session.revision())));
                return Err(refused(request.id, &error, out));
            }
        };
        watch.accepted(|| AcceptedRequest {
            id: request.id.as_str(),
            call: &call,
            names: &**self.view.catalog(),
            sender: outbox.caller(),
        });
        let to = ResponseTo { id: request.id, method: call.method, revision: call.envelope.revision };
        // Caught, because a `visible_if` predicate of the user's may panic.
        match panic::catch(|| self.apply(to, &call, outbox)).unwrap_or(Err(Failure::Panicked)) {
            Ok(None) => Ok(call),
            Ok(Some(waiting)) => Err(Handled::Waiting(Box::new(waiting))),
            Err(failure) => Err(refuse_call(&self.env(outbox), to, failure, std::mem::take(watch), out)),
        }
    }

    /// Applies a request to the state of the connection. The methods with a pending answer return it here.
    fn apply(
        &mut self,
        to: ResponseTo<'_>,
        call: &Accepted<'_>,
        outbox: &Outbox,
    ) -> Result<Option<WaitingCall>, Failure> {
        match call.method {
            Method::Initialize => {
                self.follow_changes();
                self.watch_session(call.envelope.revision);
            }
            Method::Shutdown => return Ok(Some(self.shut_down(to))),
            Method::Listen => return self.listen(to, call, outbox).map(Some),
            Method::Subscribe | Method::Unsubscribe => self.subscribe(to.id, call, outbox)?,
            _ => {}
        }
        Ok(None)
    }

    /// Closes the connection for new requests. `shutdown` is answered after all other calls, or after the drain
    /// timeout.
    fn shut_down(&mut self, to: ResponseTo<'_>) -> WaitingCall {
        self.control.close();
        let (control, limit) = (Arc::clone(&self.control), self.core.limits.drain_timeout);
        let pending = PendingCall::new(async move {
            // All calls but this one. Calls that exceed the timeout are dropped with the connection.
            let _ = tokio::time::timeout(limit, control.in_flight.at_most(1)).await;
            Ok(Reply::Empty)
        });
        WaitingCall::new(to, pending, CloseOnDrop(None))
    }

    /// Finishes a call in a task, which sends its answer to `answers`.
    pub(super) fn spawn(&mut self, mut call: WaitingCall, answers: mpsc::Sender<Outgoing>) {
        call.to.watch.waits(|| Arc::clone(&self.control) as _);
        let (id, method) = (call.to.id.clone(), call.to.method);
        let (core, in_flight) = (Arc::clone(&self.core), Arc::clone(&self.control.in_flight));
        // Made outside of the task: a task that is aborted before its first poll runs nothing, but drops what it
        // has captured.
        let running = self.control.in_flight.running();
        let task = async move {
            let _running = running;
            let (mut owned, outcome, turns) = call.finish(&core.shared).await;
            let watch = std::mem::take(&mut owned.watch);
            let to = owned.as_ref();
            if !in_flight.finish(to.id) {
                return;
            }
            let answer = Outgoing::answer(outcome, watch, |mut outcome, watch| {
                watch.settle(&mut outcome, to);
                turns.encode(|| encode::line(&core.info, to, outcome), Vec::len)
            });
            // The outbox is closed when the client is gone.
            let _ = answers.send(answer).await;
            if method == Method::Listen {
                let mut line = Vec::new();
                notification::subscription_cancelled(to.id.as_str(), &mut line);
                let _ = answers.send(Outgoing::Notification(line)).await;
            }
        };
        // A stream does not end by itself, so streams have a limit of their own.
        let (kind, tasks) = match method {
            Method::Listen => (CallKind::Stream, &mut self.streams),
            _ => (CallKind::Call, &mut self.calls),
        };
        self.control.in_flight.enter(Id::new_unchecked(&id), kind, || tasks.spawn_on(task, &self.runtime));
        // The connection may have ended since the call was admitted.
        if self.control.has_ended() {
            self.control.in_flight.cancel_all();
        }
    }
}

/// Begins an accepted call, and encodes its outcome if there is one already.
#[inline]
pub(super) fn begin_call<'a>(
    env: &CallEnv<'a>,
    id: Id<'a>,
    call: &'a Accepted<'a>,
    has_room: impl FnMut() -> bool,
    mut watch: Watch,
    out: &mut Vec<u8>,
) -> Handled {
    let entered = watch.enter();
    let begun = begin(env, id, call, has_room, |invocation| router::route(env.core, env.catalog, call, invocation));
    drop(entered);
    let to = ResponseTo { id, method: call.method, revision: call.envelope.revision };
    match begun {
        Begun::Refused(failure) => refuse_call(env, to, failure, watch, out),
        Begun::Done { notifications, mut outcome } => {
            out.extend_from_slice(&notifications);
            let at = out.len();
            note_denial(env.outbox, &outcome);
            watch.settle(&mut outcome, to);
            encode::answer(&env.core.info, to, outcome, out);
            #[cfg(feature = "http")]
            long_answers::answered(env.catalog, call.method, &call.params, out.len() - at);
            watch.finish(&out[at..]);
            Handled::Answered { at }
        }
        Begun::Waiting(mut call) => {
            call.to.watch = watch;
            Handled::Waiting(call)
        }
    }
}

/// Answers a call that is refused before its handler runs.
fn refuse_call(
    env: &CallEnv<'_>,
    to: ResponseTo<'_>,
    failure: Failure,
    mut watch: Watch,
    out: &mut Vec<u8>,
) -> Handled {
    let (at, mut outcome) = (out.len(), Err(failure));
    note_denial(env.outbox, &outcome);
    watch.unserved();
    watch.settle(&mut outcome, to);
    encode::answer(&env.core.info, to, outcome, out);
    watch.finish(&out[at..]);
    Handled::Answered { at }
}

/// Answers a request that is not admitted.
pub(super) fn refused(id: Id<'_>, error: &RpcError, out: &mut Vec<u8>) -> Handled {
    let at = out.len();
    encode::error(id, error, out);
    Handled::Answered { at }
}
