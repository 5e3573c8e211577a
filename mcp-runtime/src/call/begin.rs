//! The one way from an accepted call to its first poll, whatever transport it came by.

use std::sync::Arc;

use super::blocking::call_turns::CallTurns;
use super::control::ConnectionControl;
use super::invocation::{CallChannel, Invocation};
use super::notifier::CloseOnDrop;
use super::outbox::Outbox;
use super::run::{self, FirstPoll, PendingCall, Started};
use crate::call::telemetry::failures::{self, Target};
use crate::catalog::Catalog;
use crate::era::encode::ResponseTo;
use crate::era::{Accepted, Method};
use crate::jsonrpc::Id;
use crate::outcome::{Failure, Outcome};
use crate::protocol::Revision;
use crate::server::core::Core;
use crate::server::memory::Charge;

/// What a call runs in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallEnv<'a> {
    pub(crate) core: &'a Arc<Core>,
    /// The catalog as it was when the call was accepted.
    pub(crate) catalog: &'a Catalog,
    pub(crate) outbox: &'a Outbox,
    /// The connection, if its client can be sent requests.
    pub(crate) control: Option<&'a Arc<ConnectionControl>>,
}

/// A call after its first poll.
#[derive(Debug)]
pub(crate) enum Begun {
    /// It is over. The notifications are lines that go before its answer.
    Done { notifications: Vec<u8>, outcome: Outcome },
    /// It is pending. Boxed: most calls are not, and pay for no more than a pointer.
    Waiting(Box<WaitingCall>),
}

/// Begins a call: resumes what an earlier round left, finds its handler through `route`, and polls it once.
/// `has_room` is asked only if the handler may have to wait.
#[inline]
pub(crate) fn begin<'a>(
    env: &CallEnv<'a>,
    id: Id<'a>,
    call: &'a Accepted<'a>,
    has_room: impl FnMut() -> bool,
    route: impl FnOnce(&Invocation<'_>) -> Result<Started, Failure>,
) -> Begun {
    let channel = CallChannel::new(env);
    if let Err(failure) = channel.resume(call) {
        return Begun::Done { notifications: Vec::new(), outcome: Err(failure) };
    }
    // Without a tracing layer a call pays nothing for its log events.
    let log = env.catalog.settings.has_tracing_layer.then(|| channel.call_log(call.envelope.log_level)).flatten();
    let first = run::start(&env.core.blocking_threads, log, has_room, || route(&Invocation::new(id, call, &channel)));
    let notifier = channel.into_notifier();
    match first {
        FirstPoll::Done(outcome) => {
            let notifications = notifier.map(|notifier| notifier.take()).unwrap_or_default();
            failures::report(call.method, &outcome, || failures::target(call));
            Begun::Done { notifications, outcome }
        }
        FirstPoll::Pending(pending) => {
            let to = ResponseTo { id, method: call.method, revision: call.envelope.revision };
            let waiting = WaitingCall::new(to, pending, CloseOnDrop(notifier));
            let (held, target) = (env.outbox.held().cloned(), failures::target(call));
            Begun::Waiting(Box::new(WaitingCall { held, target, ..waiting }))
        }
    }
}

/// A call that is pending after its first poll. It owns what its answer needs: the frame is gone by then.
#[derive(Debug)]
pub(crate) struct WaitingCall {
    pub(crate) to: OwnedResponseTo,
    pending: PendingCall,
    /// In here, so that it is closed even if the call is cancelled before its task runs.
    notifier: CloseOnDrop,
    /// What its arguments take of the memory budget.
    held: Option<Arc<Charge>>,
    /// Its handler, for the log.
    target: Target,
}

/// A [`ResponseTo`] that outlives the frame of its request.
#[derive(Debug)]
pub(crate) struct OwnedResponseTo {
    pub(crate) id: Box<str>,
    pub(crate) method: Method,
    revision: Revision,
}

impl OwnedResponseTo {
    pub(crate) fn as_ref(&self) -> ResponseTo<'_> {
        ResponseTo { id: Id::new_unchecked(&self.id), method: self.method, revision: self.revision }
    }
}

impl WaitingCall {
    pub(crate) fn new(to: ResponseTo<'_>, pending: PendingCall, notifier: CloseOnDrop) -> Self {
        let ResponseTo { id, method, revision } = to;
        WaitingCall {
            to: OwnedResponseTo { id: id.as_str().into(), method, revision },
            pending,
            notifier,
            held: None,
            target: None,
        }
    }

    /// Runs the call to its end. Its notifications are all sent, or dropped, when this returns.
    pub(crate) async fn finish(self) -> (OwnedResponseTo, Outcome, CallTurns) {
        let WaitingCall { to, pending, notifier, held: _held, target } = self;
        if let Some(notifier) = &notifier.0 {
            notifier.go_live().await;
        }
        let (outcome, turns) = pending.finish().await;
        drop(notifier);
        failures::report(to.method, &outcome, || target);
        (to, outcome, turns)
    }
}
