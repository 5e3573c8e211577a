//! What a connection does about changes: `resources/subscribe` for its session, `subscriptions/listen`
//! for a stream.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::mpsc;

use super::connection::Connection;
use super::router::Router;
use crate::ask::{self, ClientCapability};
use crate::call::begin::{CallEnv, WaitingCall};
use crate::call::in_flight::CallKind;
use crate::call::invocation::{CallChannel, Invocation};
use crate::call::notifier::CloseOnDrop;
use crate::call::outbox::{Outbox, Outgoing};
use crate::call::run::PendingCall;
use crate::era::encode::{ResponseTo, notification};
use crate::era::{self, Accepted, Method};
use crate::jsonrpc::Id;
use crate::jsonrpc::error::{RpcError, shorten};
use crate::jsonrpc::object::optional_object;
use crate::outcome::{Failure, Reply};
use crate::subscription::{Filter, Subscription, too_many};
use crate::task::TaskReader;

impl Connection {
    /// From `initialize` on, changes are remembered for the session; it is told of them when it says
    /// that it is ready.
    pub(crate) fn follow_changes(&mut self) {
        let catalog = self.view.catalog();
        if catalog.settings.dynamic || catalog.accepts_subscriptions() {
            let filter = Filter::lists().supported(catalog, |_| false);
            self.subscription = Some(Subscription::enter(self.core.shared.bus(), filter));
        }
    }

    /// Adds to what the session is told of, or removes from it. Both may be done twice.
    /// <https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions>
    pub(crate) fn subscribe(&mut self, id: Id<'_>, call: &Accepted<'_>, outbox: &Outbox) -> Result<(), Failure> {
        let uri = call.params.string("uri")?;
        // The session was opened when there was nothing to subscribe to: it was told so, and that holds.
        let Some(subscription) = &self.subscription else { return Err(era::unknown_method(call.method.name()).into()) };
        if call.method == Method::Unsubscribe {
            subscription.remove(&uri);
            return Ok(());
        }
        let env = CallEnv { control: None, ..self.env(outbox) };
        let channel = CallChannel::new(&env);
        let router = Router { core: env.core, catalog: env.catalog, invocation: Invocation::new(id, call, &channel) };
        match router.announces(&uri) {
            Some(true) => Ok(subscription.add(&uri, self.core.limits.subscriptions)?),
            Some(false) => Err(never_announced(&uri).into()),
            None => Err(Failure::ResourceNotFound(uri.into_owned())),
        }
    }

    /// Opens a stream, if there is room for one more.
    pub(crate) fn listen(
        &mut self,
        site: ResponseTo<'_>,
        call: &Accepted<'_>,
        outbox: &Outbox,
    ) -> Result<WaitingCall, Failure> {
        let limit = self.core.limits.streams;
        if !self.control.in_flight.has_room(CallKind::Stream, limit, &mut self.streams) {
            return Err(too_many(limit).into());
        }
        let stream = open(&CallEnv { control: None, ..self.env(outbox) }, site.id, call)?;
        let control = Arc::clone(&self.control);
        let pending = stream.pending(outbox.sender().clone(), async move { control.closing().await });
        Ok(WaitingCall::new(site, pending, CloseOnDrop(None)))
    }
}

/// A stream of changes. It is entered at the bus before it is acknowledged, and tells nothing before.
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions>
#[derive(Debug)]
pub(crate) struct ListenStream {
    id: Box<str>,
    agreed: Filter,
    subscription: Arc<Subscription>,
    watched: TaskReader,
}

/// Opens the stream a request asks for.
pub(crate) fn open<'a>(env: &CallEnv<'a>, id: Id<'a>, call: &'a Accepted<'a>) -> Result<ListenStream, Failure> {
    let channel = CallChannel::new(env);
    let router = Router { core: env.core, catalog: env.catalog, invocation: Invocation::new(id, call, &channel) };
    let raw = call.params.get("notifications");
    let raw = raw.ok_or_else(|| RpcError::wrong_field("notifications", "object", "missing"))?;
    let mut wanted: Filter = match raw.kind() {
        "object" => {
            optional_object("notifications", Some(raw))?;
            serde_json::from_str(raw.get()).map_err(|error| filter_error(raw.get(), &error))?
        }
        other => return Err(RpcError::wrong_field("notifications", "object", other).into()),
    };
    let limit = router.core.limits.subscriptions;
    if wanted.size() > limit {
        return Err(too_many(limit).into());
    }
    if !router.catalog.has_tasks() {
        // What no server of this kind tells of is not looked at.
        wanted.tasks().clear();
    }
    if !wanted.tasks().is_empty() {
        ask::required(ClientCapability::Tasks, &router.invocation).map_err(Failure::MissingCapability)?;
    }
    let agreed = wanted.supported(router.catalog, |uri| router.announces(uri) == Some(true));
    let id: Box<str> = router.invocation.id.as_str().into();
    let watched = TaskReader::by(&router.invocation);
    let subscription = Subscription::with_tasks(router.core.shared.bus(), agreed.clone(), Some(watched.clone()));
    Ok(ListenStream { id, agreed, subscription, watched })
}

impl ListenStream {
    /// Tells everything until `closing`, and then that it is over.
    pub(crate) fn pending(
        self,
        outbox: mpsc::Sender<Outgoing>,
        closing: impl Future<Output = ()> + Send + 'static,
    ) -> PendingCall {
        let ListenStream { id, mut agreed, subscription, watched } = self;
        PendingCall::new(async move {
            let tasks = agreed.tasks();
            if !tasks.is_empty() {
                *tasks = watched.theirs(tasks).await;
                subscription.retain_tasks(tasks);
            }
            // Nobody is left to tell if the outbox is closed.
            let _ = outbox.send(Outgoing::Notification(notification::acknowledged(&id, &agreed))).await;
            subscription.deliver(&outbox, Some(&id), closing).await;
            Ok(Reply::Listened)
        })
    }
}

fn never_announced(uri: &str) -> RpcError {
    RpcError::invalid_params(format!("Changes of this resource are not announced: {}", shorten(uri)))
        .with_data(json!({"uri": shorten(uri)}))
}

fn filter_error(raw: &str, error: &serde_json::Error) -> RpcError {
    let error = crate::handler::args::explain(raw, error);
    let field = format!("notifications.{}", error.field);
    RpcError::wrong_field(&field, &error.expected_type, &error.actual_type)
}
