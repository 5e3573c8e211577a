//! What a connection does about changes: `resources/subscribe` for its session, `subscriptions/listen`
//! for a stream.

use std::sync::Arc;

use serde_json::json;

use crate::connection::{Connection, Waiting};
use crate::context::Line;
use crate::era::encode::Site;
use crate::era::{self, Accepted, Method, notice};
use crate::error::{Failure, RpcError, shorten};
use crate::in_flight::Kind;
use crate::jsonrpc::Id;
use crate::object::{Key, members, type_of};
use crate::reply::Reply;
use crate::router::{Router, string};
use crate::run::Pending;
use crate::subscriptions::{Filter, Interest, too_many};

impl Connection {
    /// From `initialize` on, changes are remembered for the session; it is told of them when it says
    /// that it is ready.
    pub(crate) fn follow_changes(&mut self) {
        let catalog = self.view.catalog();
        if catalog.offers(Method::Listen) {
            let filter = Filter::lists().agreed(catalog, |_| false);
            self.interest = Some(Interest::enter(self.core.shared.bus(), filter));
        }
    }

    /// Adds to what the session is told of, or removes from it. Both may be done twice.
    /// <https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions>
    pub(crate) fn subscribe(&mut self, id: Id<'_>, call: &Accepted<'_>) -> Result<(), Failure> {
        let Key(uri) = string(&call.params, "uri")?;
        // The session was opened when there was nothing to subscribe to: it was told so, and that holds.
        let Some(interest) = &self.interest else { return Err(era::unknown_method(call.method.name()).into()) };
        if call.method == Method::Unsubscribe {
            interest.remove(&uri);
            return Ok(());
        }
        let line = Line::new(&self.outbox, &self.core);
        let router = Router::new(&self.core, self.view.catalog(), id, call, &line);
        match router.announces(&uri) {
            Some(true) => Ok(interest.add(&uri, self.core.limits.subscriptions)?),
            Some(false) => Err(never_announced(&uri).into()),
            None => Err(Failure::ResourceNotFound(uri.into_owned())),
        }
    }

    /// Opens a stream. It is entered at the bus before it is acknowledged, and tells nothing before.
    /// <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions>
    pub(crate) fn listen(&mut self, site: Site<'_>, call: &Accepted<'_>) -> Result<Waiting, Failure> {
        let raw = call.params.get("notifications");
        let raw = raw.ok_or_else(|| RpcError::wrong_field("notifications", "object", "missing"))?;
        let wanted: Filter = match type_of(raw.get()) {
            "object" => {
                members("notifications", Some(raw))?;
                serde_json::from_str(raw.get()).map_err(|error| filter_error(raw.get(), &error))?
            }
            other => return Err(RpcError::wrong_field("notifications", "object", other).into()),
        };
        let limit = self.core.limits.streams;
        if !self.control.in_flight.has_room(Kind::Stream, limit, &mut self.streams) {
            return Err(too_many(limit).into());
        }
        if wanted.resources() > self.core.limits.subscriptions {
            return Err(too_many(self.core.limits.subscriptions).into());
        }
        let line = Line::new(&self.outbox, &self.core);
        let catalog = self.view.catalog();
        let router = Router::new(&self.core, catalog, site.id, call, &line);
        let agreed = wanted.agreed(catalog, |uri| router.announces(uri) == Some(true));
        let stream: Box<str> = site.id.as_str().into();
        let first = notice::acknowledged(&stream, &agreed);
        let interest = Interest::enter(self.core.shared.bus(), agreed);
        let (outbox, control) = (self.outbox.clone(), Arc::clone(&self.control));
        let pending = Pending::new(async move {
            // Nobody is left to tell if the outbox is closed.
            let _ = outbox.send(first).await;
            interest.tell(&outbox, Some(&stream), &control).await;
            Ok(Reply::Listened)
        });
        Ok(Waiting::new(site, pending, None))
    }
}

fn never_announced(uri: &str) -> RpcError {
    RpcError::invalid_params(format!("Changes of this resource are not announced: {}", shorten(uri)))
        .with_data(json!({"uri": shorten(uri)}))
}

fn filter_error(raw: &str, error: &serde_json::Error) -> RpcError {
    let error = crate::args::explain(raw, error);
    let field = format!("notifications.{}", error.field);
    RpcError::wrong_field(&field, &error.expected_type, &error.actual_type)
}
