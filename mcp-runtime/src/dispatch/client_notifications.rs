//! What a client tells a connection without asking for an answer.

use std::sync::Arc;

use super::connection::{Connection, Exited};
use super::router::own_params;
use crate::call::begin::CallEnv;
use crate::call::in_flight::CallKind;
use crate::call::invocation::{CallChannel, Invocation, extract};
use crate::call::notifier::CloseOnDrop;
use crate::call::outbox::Outbox;
use crate::call::run::PendingCall;
use crate::error::Result;
use crate::handler::custom::CustomMethod;
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::object::{Object, optional_object};
use crate::jsonrpc::{Id, Notification};
use crate::outcome::{Failure, Reply};
use crate::server::hooks::ConnectedClient;
use crate::{era, panic};

impl Connection {
    /// What is told and not asked is never answered, understood or not. What goes wrong is told to
    /// the server's author.
    pub(crate) fn notification(&mut self, notification: &Notification<'_>, raw: &[u8], outbox: &Outbox) {
        let catalog = Arc::clone(self.view.catalog());
        let own = catalog.notifications.get(&notification.method);
        match &*notification.method {
            "notifications/cancelled" => self.cancel(notification),
            // Without its prefix, some clients have it from the Language Server Protocol.
            "notifications/initialized" | "initialized" => self.ready(outbox),
            "exit" if catalog.settings.remote_shutdown => {
                self.exited = Some(Exited { announced: self.control.is_closing() });
            }
            method => match own.map(|own| self.take(own, notification, outbox)) {
                None => tracing::trace!(method, "notification"),
                Some(Ok(())) => {}
                Some(Err(error)) => self.core.hooks.protocol_error(raw, &error),
            },
        }
    }

    /// The client has taken note of what was settled: from now on it is told of changes.
    fn ready(&mut self, outbox: &Outbox) {
        let Some(client) = self.session.client().filter(|_| !self.ready) else { return };
        self.ready = true;
        self.core.hooks.initialized(&ConnectedClient { client, revision: self.session.revision() });
        // Where every request has a stream of its own, the client opens one for this.
        let (Some(subscription), Some(outbox)) = (self.subscription.clone(), outbox.connection_sender()) else {
            return;
        };
        let (outbox, control) = (outbox.clone(), Arc::clone(&self.control));
        let running = self.control.in_flight.running();
        let notifying = async move {
            let _running = running;
            subscription.deliver(&outbox, None, control.closing()).await;
        };
        self.notifying.spawn_on(notifying, &self.runtime);
    }

    /// <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation>: a call
    /// that is unknown or done by now is none to cancel.
    fn cancel(&self, notification: &Notification<'_>) {
        let params = optional_object("params", notification.params).unwrap_or_default();
        let id = params.get("requestId").and_then(|raw| Id::parse(raw.get()));
        let cancelled = id.is_some_and(|id| self.control.in_flight.cancel(id));
        tracing::debug!(id = id.map(Id::as_str), cancelled, "cancellation");
    }

    /// Runs the handler of a notification of the server's own making, in a task.
    fn take(
        &mut self,
        own: &CustomMethod<Result<()>>,
        notification: &Notification<'_>,
        outbox: &Outbox,
    ) -> Result<(), RpcError> {
        let limit = self.core.limits.in_flight;
        if self.control.is_closing() || !self.control.in_flight.has_room(CallKind::Call, limit, &mut self.calls) {
            return Err(internal("there is no room for another call; the notification is lost".to_owned()));
        }
        let params = match notification.params {
            Some(raw) if raw.get().starts_with('[') => Object::default(),
            raw => optional_object("params", raw)?,
        };
        let envelope = era::envelope(&params, &self.session);
        // A handler of a notification cannot ask: it has no request to ask on.
        let env = CallEnv { control: None, ..self.env(outbox) };
        let channel = CallChannel::new(&env);
        let invocation = Invocation::notification(&envelope, &channel);
        let own_params = own_params(notification.params, &params);
        let started = panic::catch(|| (own.call)(extract(&invocation), &own_params));
        let future = started
            .ok_or_else(|| internal("the handler panicked".to_owned()))?
            .map_err(|error| RpcError::invalid_params(format!("Invalid params: {error}")))?;
        let done = PendingCall::new(async { future.await.map(|()| Reply::Empty).map_err(Failure::from) })
            .within(self.view.catalog().settings.timeout);
        let (core, name, control) = (Arc::clone(&self.core), own.name.clone(), Arc::clone(&self.control));
        let (running, notifier) = (self.control.in_flight.running(), CloseOnDrop(channel.into_notifier()));
        let task = async move {
            let _running = running;
            if let Some(notifier) = &notifier.0 {
                notifier.go_live().await;
            }
            let done = tokio::select! {
                // It has no id to be cancelled by.
                () = control.ended() => return,
                done = done.finish() => done,
            };
            if let Err(failure) = done {
                core.hooks.protocol_error(name.as_bytes(), &failed(failure));
            }
        };
        self.calls.spawn_on(task, &self.runtime);
        Ok(())
    }
}

fn failed(failure: Failure) -> RpcError {
    match failure {
        Failure::Handler(text) => internal(text),
        Failure::Protocol(error) => error,
        Failure::Panicked => internal("the handler panicked".to_owned()),
        other => internal(format!("{other:?}")),
    }
}

fn internal(text: String) -> RpcError {
    RpcError::new(RpcError::INTERNAL, text)
}
