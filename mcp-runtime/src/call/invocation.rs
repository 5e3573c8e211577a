//! A call as the dispatcher sees it, and its way back to its client: borrowed from the frame, so that a
//! handler which takes no [`Context`](crate::Context) pays for none.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use super::begin::CallEnv;
use super::context::Context;
use super::control::ConnectionControl;
use super::notifier::Notifier;
use super::outbox::Outbox;
use super::outbox::presence::Presence;
use super::progress::Progress;
use crate::ask::{self, Dialogue, Resumed, StateBinding};
#[cfg(feature = "auth")]
use crate::auth::access::{Access, Rights};
use crate::call::telemetry::log::CallLog;
use crate::era::{Accepted, Envelope, Method};
use crate::jsonrpc::Id;
use crate::jsonrpc::raw::Raw;
use crate::outcome::Failure;
use crate::protocol::{LogLevel, Revision};
use crate::server::core::Core;
use crate::server::memory::{Charge, Owner};
use crate::server::peer::Peer;
use crate::task::Job;

/// One call, or one notification with a handler.
#[derive(Debug, Clone, Copy)]
pub struct Invocation<'a> {
    pub(crate) id: Id<'a>,
    pub(crate) envelope: &'a Envelope<'a>,
    pub(crate) channel: &'a CallChannel<'a>,
    /// The request; none for a notification.
    pub(crate) call: Option<&'a Accepted<'a>>,
    /// What a `resources/read` found.
    pub(crate) read: Option<ReadRequest<'a>>,
    /// The task the call is, or may become.
    pub(crate) job: Option<&'a Arc<Job>>,
    /// The scopes of the handler, if it has any.
    #[cfg(feature = "auth")]
    pub(crate) scopes: Option<&'a Arc<[Box<str>]>>,
}

/// The resource a `resources/read` names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadRequest<'a> {
    pub(crate) uri: &'a str,
    /// Whether only some callers see it, so that its contents may not be shared.
    pub(crate) restricted: bool,
}

impl<'a> Invocation<'a> {
    pub(crate) fn new(id: Id<'a>, call: &'a Accepted<'a>, channel: &'a CallChannel<'a>) -> Self {
        Invocation { id, call: Some(call), ..Self::notification(&call.envelope, channel) }
    }

    /// A notification of the server's own.
    pub(crate) fn notification(envelope: &'a Envelope<'a>, channel: &'a CallChannel<'a>) -> Self {
        Invocation {
            id: Id::NULL,
            envelope,
            channel,
            call: None,
            read: None,
            job: None,
            #[cfg(feature = "auth")]
            scopes: None,
        }
    }
}

impl Invocation<'_> {
    /// The call's dialogue with its client, made when it is first needed.
    pub(crate) fn dialogue(&self) -> Arc<Dialogue> {
        Arc::clone(self.channel.dialogue.get_or_init(|| ask::dialogue(self, self.channel.resumed.take())))
    }

    /// What the caller may do.
    #[cfg(feature = "auth")]
    pub(crate) fn rights(&self) -> Rights {
        let (access, is_remote) = (self.channel.access().cloned(), self.channel.is_remote());
        Rights { access, is_remote, scopes: self.scopes.cloned() }
    }

    /// What a sealed state of this call is bound to, if the call can ask in rounds.
    pub(crate) fn state_binding(&self) -> Option<StateBinding> {
        self.call.and_then(|call| self.channel.state_binding(call))
    }
}

/// A call's way back to its client. The notifier and the dialogue are made when a handler needs them.
#[derive(Debug)]
pub(crate) struct CallChannel<'a> {
    outbox: &'a Outbox,
    pub(crate) core: &'a Arc<Core>,
    /// The connection, if the client can be sent requests there.
    pub(crate) control: Option<&'a Arc<ConnectionControl>>,
    notifier: OnceCell<Arc<Notifier>>,
    /// The progress of the call, if its client wants reports.
    progress: OnceCell<Option<Arc<Progress>>>,
    dialogue: OnceCell<Arc<Dialogue>>,
    /// What an earlier round left, until the dialogue takes it.
    resumed: RefCell<Option<Resumed>>,
}

impl<'a> CallChannel<'a> {
    pub(crate) fn new(env: &CallEnv<'a>) -> Self {
        let CallEnv { core, outbox, control, .. } = *env;
        let (notifier, progress, dialogue) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        CallChannel { outbox, core, control, notifier, progress, dialogue, resumed: RefCell::new(None) }
    }

    /// Takes what a call brings back from an earlier round, if it brings anything.
    #[inline]
    pub(crate) fn resume(&self, call: &Accepted<'_>) -> Result<(), Failure> {
        // Asked first: most revisions have no rounds.
        if call.envelope.revision.asks_by_rounds()
            && call.params.get("inputResponses").or_else(|| call.params.get("requestState")).is_some()
        {
            return self.read_resumed(call);
        }
        Ok(())
    }

    /// Reads what a call brings back from an earlier round.
    #[cold]
    fn read_resumed(&self, call: &Accepted<'_>) -> Result<(), Failure> {
        if !self.core.secrets.is_ready() {
            return Err(Failure::Unavailable("The server cannot read a `requestState` now; retry later"));
        }
        if let Some(binding) = self.state_binding(call) {
            let state_bytes = self.core.limits.state_bytes;
            self.resumed.replace(Resumed::read(&call.params, &binding, &self.core.secrets, state_bytes)?);
        }
        Ok(())
    }

    /// What a sealed state of `call` is bound to, if the call can ask in rounds.
    /// <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>
    fn state_binding(&self, call: &Accepted<'_>) -> Option<StateBinding> {
        let asks = matches!(call.method, Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead);
        (asks && call.envelope.revision.asks_by_rounds()).then(|| StateBinding {
            server: Arc::clone(&self.core.info.name),
            principal: self.outbox.principal().cloned(),
            method: call.method.name(),
            params: call.raw_params.map(|raw| raw.get().into()),
        })
    }

    /// How many rounds of questions the call had before this one.
    pub(crate) fn earlier_rounds(&self) -> usize {
        match (&*self.resumed.borrow(), self.dialogue.get()) {
            (Some(resumed), _) => resumed.rounds(),
            // A `visible_if` predicate may have made the dialogue already.
            (None, Some(dialogue)) => dialogue.earlier_rounds(),
            (None, None) => 0,
        }
    }

    /// Where the call's `tracing` events go, if its client wants them.
    pub(crate) fn call_log(&self, level: Option<LogLevel>) -> Option<CallLog> {
        level.map(|level| CallLog::new(self.notifier(), level))
    }

    /// The call's dialogue, if there is one yet.
    pub(crate) fn dialogue(&self) -> Option<Arc<Dialogue>> {
        self.dialogue.get().cloned()
    }

    pub(crate) fn notifier(&self) -> Arc<Notifier> {
        let new = || Arc::new(Notifier::new(self.outbox.sender().clone(), self.core.limits.log_rate));
        Arc::clone(self.notifier.get_or_init(new))
    }

    /// The progress of the call: one for the handler's reports and the heartbeat, which must increase together. `meta` is
    /// that of the request.
    pub(crate) fn progress(&self, meta: Option<Raw<'_>>) -> Option<Arc<Progress>> {
        self.progress.get_or_init(|| meta.and_then(Progress::requested).map(Arc::new)).clone()
    }

    /// The notifier of a task. It outlives the request, so it needs a queue that does: without one, what the
    /// task sends is dropped.
    pub(crate) fn task_notifier(&self, revision: Revision, id: &str) -> Arc<Notifier> {
        let log_rate = self.core.limits.log_rate;
        Arc::new(match (self.outbox.connection_sender(), self.control) {
            _ if revision.is_stateless() => Notifier::live(tokio::sync::mpsc::channel(1).0, log_rate),
            (Some(queue), _) => Notifier::live(queue.clone(), log_rate),
            (None, Some(control)) => Notifier::of_task(&control.task_streams, id, log_rate),
            (None, None) => Notifier::live(tokio::sync::mpsc::channel(1).0, log_rate),
        })
    }

    /// What the request takes of the memory budget.
    pub(crate) fn held(&self) -> Option<&'a Arc<Charge>> {
        self.outbox.held()
    }

    /// Who the memory is kept for that the caller leaves behind.
    pub(crate) fn owner(&self) -> Owner {
        self.outbox.owner()
    }

    /// Whether the client of a request reads its response, where it can leave without ending the call.
    pub(crate) fn presence(&self) -> Option<Presence> {
        self.outbox.presence()
    }

    #[cfg(feature = "http")]
    pub(crate) fn outbox(&self) -> &'a Outbox {
        self.outbox
    }

    /// Whether the client can be sent a request here.
    pub(crate) fn can_ask(&self) -> bool {
        self.outbox.can_ask()
    }

    /// The authenticated caller, if there is one.
    pub(crate) fn principal(&self) -> Option<&'a Arc<str>> {
        self.outbox.principal()
    }

    /// What the caller may do, if there are rules.
    #[cfg(feature = "auth")]
    pub(crate) fn access(&self) -> Option<&'a Access> {
        self.outbox.access()
    }

    /// Whether the caller is elsewhere, and not the one who has started the server.
    #[cfg(feature = "auth")]
    pub(crate) fn is_remote(&self) -> bool {
        self.outbox.is_remote()
    }

    /// The address the caller has, if that is known.
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP requests have a peer"))]
    pub(crate) fn peer(&self) -> Option<Peer> {
        self.outbox.peer()
    }

    /// The notifier, if a handler needed it.
    #[inline]
    pub(crate) fn into_notifier(mut self) -> Option<Arc<Notifier>> {
        self.notifier.take()
    }
}

/// A `Context` may outlive its call: what it sends then is dropped.
impl Drop for CallChannel<'_> {
    fn drop(&mut self) {
        if let Some(notifier) = self.notifier.get() {
            notifier.close();
        }
    }
}

/// Where a handler is called from: by the request, whose frame is still there, or by a layer, which may call it later
/// and more than once.
#[derive(Debug, Clone, Copy)]
pub enum Origin<'a> {
    /// By the request.
    Request(&'a Invocation<'a>),
    /// By a layer.
    Layer(&'a LayeredCall<'a>),
}

/// What a layer has kept of its call for the handler.
#[derive(Debug)]
pub struct LayeredCall<'a> {
    pub(crate) context: &'a Context,
    pub(crate) read: Option<ReadRequest<'a>>,
}

impl<'a> Origin<'a> {
    /// What a `resources/read` found.
    pub(crate) fn read(self) -> Option<ReadRequest<'a>> {
        match self {
            Origin::Request(invocation) => invocation.read,
            Origin::Layer(call) => call.read,
        }
    }
}

/// Makes what a handler takes by reference.
pub fn extract<T: FromInvocation>(origin: Origin<'_>) -> T {
    T::from_origin(origin)
}

/// What a handler can take by reference.
#[diagnostic::on_unimplemented(
    message = "a handler cannot borrow a `{Self}`",
    label = "not provided by the server",
    note = "take `{Self}` by value: arguments come from the caller's JSON; only `&self` and `&Context` are borrowed",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#arguments"
)]
pub trait FromInvocation {
    #[doc(hidden)]
    fn from_origin(origin: Origin<'_>) -> Self;
}
