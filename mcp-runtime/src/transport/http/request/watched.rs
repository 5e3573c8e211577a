//! Requests over HTTP that are watched: those of 2026-07-28, and each POST until something else tells what becomes of it.
//! It may be refused before it is a call.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use http::request::Parts;
use http::{Method, Response};

use super::headers::{Field, Headers};
use crate::call::telemetry::request_id::RequestId;
use crate::call::telemetry::watch::{Arrival, Arrived, Network, Place, Sender, Watch};
use crate::era;
use crate::jsonrpc::Request;
use crate::jsonrpc::error::beginning;
use crate::observe::{SessionHash, Transport};
use crate::protocol::Revision;
use crate::server::core::Core;
use crate::server::peer::Peer;
use crate::sync::lock;
use crate::transport::http::refusals::Reason;
use crate::transport::http::response::body::Body;

/// A POST, until a call or a connection takes over its message.
#[derive(Debug)]
pub(crate) struct UnclaimedPost<'a> {
    core: &'a Core,
    peer: Option<Peer>,
    network: Network,
    http_id: Option<Arc<str>>,
    revision: Option<Revision>,
    seen: Mutex<Seen>,
}

/// What has been seen of its message.
#[derive(Debug)]
struct Seen {
    /// The method, once the message is known to be a request.
    method: Option<Box<str>>,
    arrival: Arrival,
    /// Who sent it, once that is known.
    user: Option<Arc<str>>,
    place: Place,
    /// Whether something else tells what becomes of it.
    is_claimed: bool,
}

impl<'a> UnclaimedPost<'a> {
    #[inline]
    pub(crate) fn of(core: &'a Core, parts: &Parts, headers: &Headers<'_>, peer: Option<Peer>) -> Option<Box<Self>> {
        core.watcher.as_ref()?;
        (parts.method == Method::POST).then(|| Box::new(Self::new(core, parts, headers, peer)))
    }

    fn new(core: &'a Core, parts: &Parts, headers: &Headers<'_>, peer: Option<Peer>) -> Self {
        // A revision without sessions has none, whatever other headers say.
        let is_modern = headers.version().is_ok_and(|version| version.is_some_and(era::is_modern_date));
        let session = match headers.session {
            Field::Once(id) if !is_modern => id.to_str().ok().map(SessionHash::of),
            _ => None,
        };
        let transport = if session.is_some() { Transport::HttpSession } else { Transport::Http };
        let place = Place { transport, session };
        let seen = Seen { method: None, arrival: Arrival::now(0), user: None, place, is_claimed: false };
        let revision = headers.version().ok().flatten().and_then(|version| version.parse().ok());
        let http_id = parts.extensions.get().map(RequestId::shared).cloned();
        UnclaimedPost { core, peer, network: Network::of(parts), http_id, revision, seen: Mutex::new(seen) }
    }

    /// Its message has arrived.
    pub(crate) fn arrived(&self, bytes: usize) {
        lock(&self.seen).arrival = Arrival { bytes, at: Some(Instant::now()) };
    }

    /// This caller has sent it.
    pub(crate) fn is_by(&self, user: Option<&Arc<str>>) {
        lock(&self.seen).user = user.cloned();
    }

    /// It is a message of HTTP+SSE.
    pub(crate) fn is_sse(&self, session: Option<&str>) {
        let session = session.map(SessionHash::of);
        lock(&self.seen).place = Place { transport: Transport::Sse, session };
    }

    /// Its message is a request.
    pub(crate) fn names(&self, method: &str) {
        lock(&self.seen).method = Some(beginning(method, 256).into());
    }

    /// Its message is told of elsewhere, or is none to be told of.
    pub(crate) fn claim(&self) -> Arrival {
        let mut seen = lock(&self.seen);
        seen.is_claimed = true;
        seen.arrival
    }

    /// It has a response. If nothing has claimed it, the response is a refusal.
    pub(crate) fn responded(&self, response: &Response<Body>) {
        if let Some(watch) = self.unclaimed() {
            refused(watch, response);
        }
    }

    /// Begins to watch it, unless something else does.
    fn unclaimed(&self) -> Option<Watch> {
        let mut seen = lock(&self.seen);
        if std::mem::replace(&mut seen.is_claimed, true) {
            return None;
        }
        let (method, place, Arrival { bytes, at }) = (seen.method.take().unwrap_or_default(), seen.place, seen.arrival);
        let user = seen.user.take();
        drop(seen);
        let catalog = self.core.shared.catalog();
        let mut watch = Watch::begin(self.core.watcher.as_ref(), || Arrived {
            method: &method,
            names: Some(&*catalog),
            bytes,
            // One that was refused before it had arrived took no time.
            started: at.unwrap_or_else(Instant::now),
            place,
            in_batch: false,
            network: self.network,
        });
        let UnclaimedPost { peer, network, .. } = *self;
        let sender = Sender { user: user.as_ref(), peer, network, http_id: self.http_id.as_ref() };
        watch.sent_by(|| (sender, self.revision));
        Some(watch)
    }
}

/// Dropped without a response: the client has left. Unless its message was a request already, there is nothing to tell.
impl Drop for UnclaimedPost<'_> {
    fn drop(&mut self) {
        if lock(&self.seen).method.is_some() {
            drop(self.unclaimed());
        }
    }
}

/// Begins to watch a request, if anybody does.
#[inline]
pub(crate) fn begin(core: &Core, post: Option<&UnclaimedPost<'_>>, request: &Request<'_>) -> Watch {
    if core.watcher.is_none() {
        return Watch::default();
    }
    let catalog = core.shared.catalog();
    let Arrival { bytes, at } = post.map_or(Arrival::now(0), UnclaimedPost::claim);
    Watch::begin(core.watcher.as_ref(), || Arrived {
        method: &request.method,
        names: Some(&*catalog),
        bytes,
        started: at.unwrap_or_else(Instant::now),
        place: Place { transport: Transport::Http, session: None },
        in_batch: false,
        network: post.map_or_else(Network::default, |post| post.network),
    })
}

/// The request was refused, unless its end is watched already.
#[inline]
pub(crate) fn refused(mut watch: Watch, response: &Response<Body>) {
    if let Some(watched) = watch.get() {
        let reason = response.extensions().get::<Reason>();
        watched.status(response.status().as_u16());
        watched.sent(response.body().len());
        watched.refused(reason.map(|reason| reason.code), reason.map_or("", |reason| &reason.text));
    }
}
