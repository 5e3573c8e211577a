//! The part of a [`Connection`] that serves subscriptions: `resources/subscribe` for its session,
//! `subscriptions/listen` for a stream.

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
use crate::throttle::refusal::Throttled;

impl Connection {
    /// Subscribes the session to changes, from `initialize` on. They are sent after the client's `initialized`.
    pub(crate) fn follow_changes(&mut self) {
        let catalog = self.view.catalog();
        if catalog.settings.dynamic || catalog.accepts_subscriptions() {
            let filter = Filter::lists().supported(catalog, |_| false);
            self.subscription = Some(Subscription::enter(self.core.shared.bus(), filter));
        }
    }

    /// Subscribes the session to a resource, or unsubscribes it. Both are idempotent.
    /// <https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions>
    pub(crate) fn subscribe(&mut self, id: Id<'_>, call: &Accepted<'_>, outbox: &Outbox) -> Result<(), Failure> {
        let uri = call.params.string("uri")?;
        // When the session was opened no resource was subscribable, and its `initialize` said so. That holds for
        // the whole session.
        let Some(subscription) = &self.subscription else { return Err(era::unknown_method(call.method.name()).into()) };
        let env = CallEnv { control: None, ..self.env(outbox) };
        let channel = CallChannel::new(&env);
        let invocation = Invocation::new(id, call, &channel);
        let router = Router { core: env.core, catalog: env.catalog, invocation: &invocation };
        router.count_applied()?;
        if call.method == Method::Unsubscribe {
            subscription.remove(&uri);
            return Ok(());
        }
        router.permit_uris(&[&uri])?;
        match router.is_subscribable(&uri) {
            Some(true) => Ok(subscription.add(&uri, self.core.limits.subscriptions)?),
            Some(false) => Err(not_subscribable(&uri).into()),
            None => Err(Failure::ResourceNotFound(uri.into_owned())),
        }
    }

    /// Opens a stream, unless the client has too many.
    pub(crate) fn listen(
        &mut self,
        to: ResponseTo<'_>,
        call: &Accepted<'_>,
        outbox: &Outbox,
    ) -> Result<WaitingCall, Failure> {
        let limit = self.core.limits.streams;
        if !self.control.in_flight.has_room(CallKind::Stream, limit, &mut self.streams) {
            return Err(Failure::Throttled(Box::new(Throttled::too_many(too_many(limit).message))));
        }
        let stream = open(&CallEnv { control: None, ..self.env(outbox) }, to.id, call)?;
        let control = Arc::clone(&self.control);
        let pending = stream.pending(outbox.sender().clone(), async move { control.closing().await });
        Ok(WaitingCall::new(to, pending, CloseOnDrop(None)))
    }
}

/// A stream of change notifications. It subscribes before it is acknowledged, so that no change is missed, and
/// sends nothing before the acknowledgement.
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions>
#[derive(Debug)]
pub(crate) struct ListenStream {
    id: Box<str>,
    /// The part of the client's filter that the server supports.
    accepted: Filter,
    subscription: Arc<Subscription>,
    tasks: TaskReader,
}

/// Opens the stream a request asks for.
pub(crate) fn open<'a>(env: &CallEnv<'a>, id: Id<'a>, call: &'a Accepted<'a>) -> Result<ListenStream, Failure> {
    let channel = CallChannel::new(env);
    let invocation = Invocation::new(id, call, &channel);
    let router = Router { core: env.core, catalog: env.catalog, invocation: &invocation };
    let raw = call.params.get("notifications");
    let raw = raw.ok_or_else(|| RpcError::wrong_field("notifications", "object", "missing"))?;
    let mut filter: Filter = match raw.kind() {
        "object" => Filter::read(&optional_object("notifications", Some(raw))?)?,
        other => return Err(RpcError::wrong_field("notifications", "object", other).into()),
    };
    let limit = router.core.limits.subscriptions;
    if filter.size() > limit {
        return Err(too_many(limit).into());
    }
    filter.check_length()?;
    if !router.catalog.has_tasks() {
        // A server without tasks ignores task ids, and does not require the capability.
        filter.tasks().clear();
    }
    if !filter.tasks().is_empty() {
        ask::required(ClientCapability::Tasks, router.invocation).map_err(Failure::MissingCapability)?;
    }
    router.permit_uris(filter.resources())?;
    let accepted = filter.supported(router.catalog, |uri| router.is_subscribable(uri) == Some(true));
    let id: Box<str> = router.invocation.id.as_str().into();
    let tasks = TaskReader::by(router.invocation);
    let subscription = Subscription::with_tasks(router.core.shared.bus(), accepted.clone(), Some(tasks.clone()));
    Ok(ListenStream { id, accepted, subscription, tasks })
}

impl ListenStream {
    /// Acknowledges the subscription, sends changes until `closing` resolves, and then ends with a result.
    pub(crate) fn pending(
        self,
        outbox: mpsc::Sender<Outgoing>,
        closing: impl Future<Output = ()> + Send + 'static,
    ) -> PendingCall {
        let ListenStream { id, mut accepted, subscription, tasks } = self;
        PendingCall::new(async move {
            let ids = accepted.tasks();
            if !ids.is_empty() {
                *ids = tasks.theirs(ids).await;
                subscription.retain_tasks(ids);
            }
            // The outbox is closed when the client is gone.
            let _ = outbox.send(Outgoing::Notification(notification::acknowledged(&id, &accepted))).await;
            subscription.deliver(&outbox, Some(&id), Box::pin(closing)).await;
            Ok(Reply::Listened)
        })
    }
}

fn not_subscribable(uri: &str) -> RpcError {
    RpcError::invalid_params(format!("Resource does not support subscriptions: {}", shorten(uri)))
        .with_data(json!({"uri": shorten(uri)}))
}
