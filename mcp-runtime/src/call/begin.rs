//! The one way from an accepted call to its first poll, whatever transport it came by.

use std::sync::Arc;
use std::time::Duration;

use tracing::Instrument as _;

use super::blocking::BlockingProfile;
use super::blocking::call_turns::CallTurns;
use super::control::ConnectionControl;
use super::invocation::{CallChannel, Invocation};
use super::notifier::CloseOnDrop;
use super::outbox::Outbox;
use super::progress::heartbeat::{Accompany, Beats, Heartbeat};
use super::run::{self, FirstPoll, PendingCall, Started};
use crate::call::telemetry::failures::{self, Target};
use crate::call::telemetry::watch::Watch;
use crate::catalog::Catalog;
use crate::era::encode::ResponseTo;
use crate::era::{Accepted, Method};
use crate::jsonrpc::Id;
use crate::jsonrpc::raw::Raw;
use crate::outcome::{Failure, Outcome};
use crate::protocol::Revision;
use crate::server::core::Core;
use crate::server::memory::Charge;
use crate::server::state::ServerState;

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
    /// It was refused before its handler ran.
    Refused(Failure),
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
        return Begun::Refused(failure);
    }
    // Without a tracing layer a call pays nothing for its log events.
    let log = env.catalog.settings.has_tracing_layer.then(|| channel.call_log(call.envelope.log_level)).flatten();
    let first = run::start(&env.core.blocking_threads, log, has_room, || route(&Invocation::new(id, call, &channel)));
    match first {
        FirstPoll::Done(outcome) => {
            let notifier = channel.into_notifier();
            let notifications = notifier.map(|notifier| notifier.take()).unwrap_or_default();
            failures::report(call.method, &outcome, || failures::target(call));
            Begun::Done { notifications, outcome }
        }
        FirstPoll::Refused(failure) => Begun::Refused(failure),
        FirstPoll::Pending(pending) => {
            let heartbeat = heartbeat(env, call, &channel, pending.profile());
            let notifier = channel.into_notifier();
            let to = ResponseTo { id, method: call.method, revision: call.envelope.revision };
            let waiting = WaitingCall::new(to, pending, CloseOnDrop(notifier));
            let (held, target) = (env.outbox.held().cloned(), failures::target(call));
            Begun::Waiting(Box::new(WaitingCall { heartbeat, held, target, ..waiting }))
        }
    }
}

/// The heartbeat of a call that has to wait, if its client has asked for progress.
fn heartbeat(
    env: &CallEnv<'_>,
    call: &Accepted<'_>,
    channel: &CallChannel<'_>,
    profile: Option<&Arc<BlockingProfile>>,
) -> Option<Heartbeat> {
    // Looked for in the text first: most clients do not ask.
    let meta = call.envelope.meta.filter(|meta| meta.get().contains("\"progressToken\""))?;
    let (accompany, own) = of_handler(env.catalog, call, profile)?;
    let every = own.or(env.core.limits.heartbeat)?;
    let progress = channel.progress(Some(meta))?;
    let beats = Beats { progress, notifier: channel.notifier(), revision: call.envelope.revision };
    Some(Heartbeat::new(accompany, every, beats))
}

/// How the handler that a call names is accompanied, and how often it says it beats. It has this profile, if it is a
/// future.
fn of_handler(
    catalog: &Catalog,
    call: &Accepted<'_>,
    profile: Option<&Arc<BlockingProfile>>,
) -> Option<(Accompany, Option<Duration>)> {
    let text = |name| call.params.get(name).and_then(Raw::text);
    let handler = match call.method {
        Method::ToolsCall => &catalog.tools.get(&text("name")?)?.handler,
        Method::PromptsGet => &catalog.prompts.get(&text("name")?)?.handler,
        Method::ResourcesRead => {
            let uri = text("uri")?;
            let serves = |of: &Arc<BlockingProfile>| profile.is_some_and(|profile| Arc::ptr_eq(profile, of));
            let found = catalog.resource_handlers(&uri).find(|handler| serves(&handler.blocking));
            let waits = || catalog.resource_handlers(&uri).find(|handler| handler.limits.accompany.is_some());
            found.or_else(waits)?
        }
        Method::Custom(index) => return Some((catalog.methods.at(index)?.accompany?, None)),
        // Of the tool whose task is waited for, or of another: all are accompanied in the same way.
        Method::TasksResult => {
            return Some((catalog.tools.iter().find_map(|(_, tool)| tool.handler.limits.accompany)?, None));
        }
        Method::Complete => {
            let prompts = catalog.prompts.iter().map(|(_, prompt)| &prompt.handler);
            let mut handlers = prompts.chain(catalog.templates.iter().map(|(_, family)| &family.handler));
            return Some((handlers.find_map(|handler| handler.limits.accompany)?, None));
        }
        _ => return None,
    };
    Some((handler.limits.accompany?, handler.limits.heartbeat))
}

/// A call that is pending after its first poll. It owns what its answer needs: the frame is gone by then.
#[derive(Debug)]
pub(crate) struct WaitingCall {
    pub(crate) to: OwnedResponseTo,
    pending: PendingCall,
    /// In here, so that it is closed even if the call is cancelled before its task runs.
    notifier: CloseOnDrop,
    /// Reports progress while its handler does not.
    heartbeat: Option<Heartbeat>,
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
    /// Who is told of the call. Dropped unfinished, the call was cancelled.
    pub(crate) watch: Watch,
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
            to: OwnedResponseTo { id: id.as_str().into(), method, revision, watch: Watch::default() },
            pending,
            notifier,
            heartbeat: None,
            held: None,
            target: None,
        }
    }

    /// Runs the call to its end. Its notifications are all sent, or dropped, when this returns.
    /// A shutdown that does not wait any longer ends it.
    pub(crate) async fn finish(self, state: &ServerState) -> (OwnedResponseTo, Outcome, CallTurns) {
        let WaitingCall { to, pending, notifier, heartbeat, held: _held, target } = self;
        if let Some(notifier) = &notifier.0 {
            notifier.go_live().await;
        }
        let span = to.watch.span();
        let done = async {
            match (heartbeat, span) {
                (None, None) => pending.finish().await,
                (None, Some(span)) => pending.finish().instrument(span).await,
                (Some(heartbeat), None) => heartbeat.accompany(Box::pin(pending.finish())).await,
                (Some(heartbeat), Some(span)) => heartbeat.accompany(Box::pin(pending.finish().instrument(span))).await,
            }
        };
        let (outcome, turns) = tokio::select! {
            biased;
            done = done => done,
            () = state.overdue.reached() => (Err(Failure::ShutDown), CallTurns::default()),
        };
        drop(notifier);
        failures::report(to.method, &outcome, || target);
        (to, outcome, turns)
    }
}
