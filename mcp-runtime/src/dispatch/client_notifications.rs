//! The part of a [`Connection`] that receives notifications: `initialized`, cancellations, `exit`, and those with a
//! handler of the server's own.

use std::sync::Arc;
use std::time::Instant;

use super::connection::{Connection, Exited};
use super::router::custom_params;
use crate::call::begin::CallEnv;
use crate::call::in_flight::CallKind;
use crate::call::invocation::{CallChannel, Invocation, Origin, extract};
use crate::call::notifier::CloseOnDrop;
use crate::call::outbox::Outbox;
use crate::call::run::PendingCall;
use crate::error::{Result, chain};
use crate::handler::custom::CustomMethod;
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::object::{Object, optional_object};
use crate::jsonrpc::{Id, Notification};
use crate::outcome::{Failure, Reply};
use crate::server::hooks::ConnectedClient;
use crate::{era, panic};

impl Connection {
    /// Handles a notification. Notifications are never answered, even malformed ones; errors go to the
    /// `on_protocol_error` hook.
    pub(crate) fn notification(&mut self, notification: &Notification<'_>, raw: &[u8], outbox: &Outbox) {
        let watched = self.core.watcher.clone().map(|watcher| (watcher, Instant::now()));
        self.take_notification(notification, raw, outbox);
        if let Some((watcher, started)) = watched {
            self.notified(&*watcher, &notification.method, raw.len(), outbox, started);
        }
    }

    fn take_notification(&mut self, notification: &Notification<'_>, raw: &[u8], outbox: &Outbox) {
        let catalog = Arc::clone(self.view.catalog());
        let custom = catalog.notifications.get(&notification.method);
        match &*notification.method {
            "notifications/cancelled" => self.cancel(notification),
            // Some clients send it without the prefix, as in the Language Server Protocol.
            "notifications/initialized" | "initialized" => self.initialized(outbox),
            "exit" if catalog.settings.remote_shutdown => {
                self.exited = Some(Exited { announced: self.control.is_closing() });
            }
            method => match custom.map(|custom| self.start_custom(custom, notification, outbox)) {
                None => tracing::trace!(method, "notification"),
                Some(Ok(())) => {}
                Some(Err(error)) => self.core.hooks.protocol_error(raw, &error),
            },
        }
    }

    /// The client has finished its handshake: from now on it receives change notifications.
    fn initialized(&mut self, outbox: &Outbox) {
        if self.initialized {
            return;
        }
        let Some(client) = self.session.client() else { return };
        self.initialized = true;
        self.core.hooks.initialized(&ConnectedClient { client, revision: self.session.revision() });
        // Over HTTP there is no queue that outlives a request: the client opens a stream for changes with GET.
        let (Some(subscription), Some(outbox)) = (self.subscription.clone(), outbox.connection_sender()) else {
            return;
        };
        let (outbox, control) = (outbox.clone(), Arc::clone(&self.control));
        let running = self.control.in_flight.running();
        let notifying = async move {
            let _running = running;
            subscription.deliver(&outbox, None, Box::pin(control.closing())).await;
        };
        self.notifying.spawn_on(notifying, &self.runtime);
    }

    /// Cancels a call. An unknown or finished call is ignored: the cancellation may have crossed its answer.
    /// <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation>
    fn cancel(&self, notification: &Notification<'_>) {
        let id = cancelled_id(notification);
        let cancelled = id.is_some_and(|id| self.control.in_flight.cancel(id));
        tracing::debug!(id = id.map(Id::as_str), cancelled, "cancellation");
    }

    /// Runs the handler of a custom notification, in a task.
    fn start_custom(
        &mut self,
        custom: &CustomMethod<Result<()>>,
        notification: &Notification<'_>,
        outbox: &Outbox,
    ) -> Result<(), RpcError> {
        let limit = self.core.limits.in_flight;
        if self.control.is_closing() || !self.control.in_flight.has_room(CallKind::Call, limit, &mut self.calls) {
            return Err(internal("too many calls in flight; the notification is dropped".to_owned()));
        }
        let params = match notification.params {
            Some(raw) if raw.get().starts_with('[') => Object::default(),
            raw => optional_object("params", raw)?,
        };
        let envelope = era::envelope(&params, &self.session);
        // The handler of a notification cannot ask the client: questions belong to a request.
        let env = CallEnv { control: None, ..self.env(outbox) };
        let channel = CallChannel::new(&env);
        let invocation = Invocation::notification(&envelope, &channel);
        let custom_params = custom_params(notification.params, &params);
        let started = panic::catch(|| (custom.call)(extract(Origin::Request(&invocation)), &custom_params));
        let future = started
            .ok_or_else(|| internal("the handler panicked".to_owned()))?
            .map_err(|error| RpcError::invalid_params(format!("Invalid params: {error}")))?;
        let done = PendingCall::new(async { future.await.map(|()| Reply::Empty).map_err(Failure::from) })
            .within(self.view.catalog().settings.timeout);
        let (core, name, control) = (Arc::clone(&self.core), custom.name.clone(), Arc::clone(&self.control));
        let (running, held) = (self.control.in_flight.running(), outbox.held().cloned());
        let notifier = CloseOnDrop(channel.into_notifier());
        let task = async move {
            // A long message is charged until its handler has ended, as that of a call.
            let _running = (running, held);
            if let Some(notifier) = &notifier.0 {
                notifier.go_live().await;
            }
            let done = tokio::select! {
                // A notification has no id, so only the end of the connection cancels its handler.
                () = control.ended() => return,
                (done, _) = done.finish() => done,
            };
            if let Err(failure) = done {
                core.hooks.protocol_error(name.as_bytes(), &error_of(failure));
            }
        };
        self.calls.spawn_on(task, &self.runtime);
        Ok(())
    }
}

/// The id of the request that a notification cancels.
pub(super) fn cancelled_id<'a>(notification: &Notification<'a>) -> Option<Id<'a>> {
    let params = optional_object("params", notification.params).unwrap_or_default();
    params.get("requestId").and_then(|raw| Id::parse(raw.get()))
}

/// The error that the `on_protocol_error` hook gets for a failed handler.
fn error_of(failure: Failure) -> RpcError {
    match failure {
        Failure::Handler(source) => internal(chain(&*source)),
        Failure::Protocol(error) => error,
        Failure::Panicked => internal("the handler panicked".to_owned()),
        other => internal(format!("{other:?}")),
    }
}

fn internal(text: String) -> RpcError {
    RpcError::new(RpcError::INTERNAL, text)
}
