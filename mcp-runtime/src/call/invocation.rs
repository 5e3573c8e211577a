//! A call as the dispatcher sees it, and its way back to its client: borrowed from the frame, so that a
//! handler which asks for no [`Context`](crate::Context) pays for none.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use super::control::ConnectionControl;
use super::log::CallLog;
use super::notifier::Notifier;
use super::outbox::Outbox;
use crate::ask::{self, Dialogue, Resumed, StateBinding};
use crate::era::{Accepted, Envelope, Method};
use crate::jsonrpc::Id;
use crate::protocol::{LogLevel, Revision};
use crate::server::core::Core;
use crate::task::Job;

/// A call as the dispatcher sees it: borrowed from the frame, so that a handler which asks for no
/// [`Context`](crate::Context) pays for none.
#[derive(Debug, Clone, Copy)]
pub struct Invocation<'a> {
    pub(crate) id: Id<'a>,
    pub(crate) envelope: &'a Envelope<'a>,
    pub(crate) channel: &'a CallChannel<'a>,
    /// The call, where it is one.
    pub(crate) call: Option<&'a Accepted<'a>>,
    /// What `resources/read` asks for.
    pub(crate) uri: &'a str,
    /// Whether others may not know of it.
    pub(crate) guarded: bool,
}

impl Invocation<'_> {
    /// The call's conversation with its client, which begins when somebody asks for it.
    pub(crate) fn dialogue(&self) -> Arc<Dialogue> {
        Arc::clone(self.channel.dialogue.get_or_init(|| ask::dialogue(self, self.channel.resumed.take())))
    }

    /// What a state would be good for, if this is a call whose client can be asked by its answer.
    /// <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>
    pub(crate) fn purpose(&self) -> Option<StateBinding> {
        let call = self.call.filter(|_| self.envelope.revision.asks_by_rounds())?;
        let asks = matches!(call.method, Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead);
        asks.then(|| StateBinding {
            principal: self.channel.principal().cloned(),
            method: call.method.name(),
            params: call.raw_params.map(|raw| raw.get().into()),
        })
    }
}

/// A call's way back to its client, made when a handler asks for it.
#[derive(Debug)]
pub(crate) struct CallChannel<'a> {
    outbox: &'a Outbox,
    pub(crate) core: &'a Arc<Core>,
    /// The connection, if the client can be asked there.
    pub(crate) control: Option<&'a Arc<ConnectionControl>>,
    notifier: OnceCell<Arc<Notifier>>,
    /// What the call brings back from an earlier round.
    pub(crate) resumed: RefCell<Option<Resumed>>,
    /// The task it is, or becomes.
    pub(crate) job: RefCell<Option<Arc<Job>>>,
    dialogue: OnceCell<Arc<Dialogue>>,
}

impl<'a> CallChannel<'a> {
    pub(crate) fn new(outbox: &'a Outbox, core: &'a Arc<Core>, control: Option<&'a Arc<ConnectionControl>>) -> Self {
        let (notifier, dialogue) = (OnceCell::new(), OnceCell::new());
        CallChannel { outbox, core, control, notifier, resumed: RefCell::default(), job: RefCell::default(), dialogue }
    }

    /// Where what the call says to `tracing` goes, if its client wants it.
    pub(crate) fn call_log(&self, level: Option<LogLevel>) -> Option<CallLog> {
        level.map(|level| CallLog::new(self.notifier(), level))
    }

    /// The call's conversation, if a handler asked for it.
    pub(crate) fn dialogue(&self) -> Option<Arc<Dialogue>> {
        self.dialogue.get().cloned()
    }

    pub(crate) fn notifier(&self) -> Arc<Notifier> {
        let new = || Arc::new(Notifier::new(self.outbox.sender().clone(), self.core.limits.log_rate));
        Arc::clone(self.notifier.get_or_init(new))
    }

    /// The way of a task to its client, which goes on where the connection does: what belongs to a
    /// request that has been answered has nowhere to go.
    pub(crate) fn notifier_of_task(&self, revision: Revision) -> Arc<Notifier> {
        let lasting = self.outbox.lasting().filter(|_| !revision.is_stateless());
        let sender = lasting.cloned().unwrap_or_else(|| tokio::sync::mpsc::channel(1).0);
        Arc::new(Notifier::live(sender, self.core.limits.log_rate))
    }

    /// Says that the call is a task, or becomes one.
    pub(crate) fn set_task(&self, job: Arc<Job>) {
        // Whoever decided that the caller sees the tool may have had a context already.
        if let Some(dialogue) = self.dialogue.get() {
            dialogue.plan(Arc::clone(&job));
        }
        *self.job.borrow_mut() = Some(job);
    }

    #[cfg(feature = "http")]
    pub(crate) fn outbox(&self) -> &'a Outbox {
        self.outbox
    }

    /// Whether the client can be sent a request here.
    pub(crate) fn can_ask(&self) -> bool {
        self.outbox.can_ask()
    }

    /// Who makes the call, where that is known.
    pub(crate) fn principal(&self) -> Option<&'a Arc<str>> {
        self.outbox.principal()
    }

    /// The way, if a handler asked for it.
    pub(crate) fn into_notifier(self) -> Option<Arc<Notifier>> {
        self.notifier.into_inner()
    }
}

/// What a handler takes by reference.
pub fn extract<T: FromInvocation>(invocation: &Invocation<'_>) -> T {
    T::from_invocation(invocation)
}

/// What a handler can take by reference.
#[diagnostic::on_unimplemented(
    message = "a handler cannot borrow a `{Self}`",
    label = "not provided by the server",
    note = "take `{Self}` by value: arguments come from the caller's JSON; only `&self` and `&Context` are borrowed"
)]
pub trait FromInvocation {
    #[doc(hidden)]
    fn from_invocation(invocation: &Invocation<'_>) -> Self;
}
