//! The request half of an exchange: headers, `Accept`, `Host` and `Origin`, what proxies say, and the body.

pub(super) mod accept;
pub(super) mod arrivals;
#[cfg(feature = "auth")]
mod authorize;
pub(super) mod body;
pub(super) mod forwarded;
pub(super) mod headers;
pub(super) mod origin;
pub(super) mod proxies;
pub(super) mod watched;

use std::sync::Arc;

use http::request::Parts;

use self::accept::ResponseFormat;
use self::headers::Headers;
use self::watched::UnclaimedPost;
#[cfg(feature = "auth")]
use crate::auth::access::Access;
use crate::call::outbox::Outbox;
use crate::call::telemetry::request_id::RequestId;
use crate::call::telemetry::watch::{Arrival, Network, Sender};
use crate::era;
use crate::protocol::Revision;
use crate::server::memory::Charge;
use crate::server::peer::Peer;

/// A request without its body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HttpRequest<'a> {
    pub(crate) parts: &'a Arc<Parts>,
    pub(crate) headers: &'a Headers<'a>,
    pub(crate) peer: Option<Peer>,
    /// What the message takes of the memory budget, if it is long.
    pub(crate) held: Option<&'a Arc<Charge>>,
    /// What the caller may do, if there are rules.
    #[cfg(feature = "auth")]
    pub(crate) access: Option<&'a Access>,
    /// Tells who watches, if nothing else does.
    pub(crate) unclaimed: Option<&'a UnclaimedPost<'a>>,
    /// The kind of response the client accepts; none if it accepts neither.
    pub(crate) format: Option<ResponseFormat>,
}

impl<'a> HttpRequest<'a> {
    pub(crate) fn new(parts: &'a Arc<Parts>, headers: &'a Headers<'a>, peer: Option<Peer>) -> Self {
        HttpRequest {
            parts,
            headers,
            peer,
            held: None,
            #[cfg(feature = "auth")]
            access: None,
            unclaimed: None,
            format: ResponseFormat::of(headers),
        }
    }

    /// Where the messages of this request's calls go. `resumable`: see [`Outbox`].
    pub(crate) fn outbox(&self, resumable: bool, principal: Option<Arc<str>>) -> Outbox {
        let outbox = Outbox::request(self.parts, resumable).of_caller(principal, self.peer).holding(self.held.cloned());
        #[cfg(feature = "auth")]
        let outbox = outbox.with_access(self.access.cloned());
        outbox
    }

    /// The kind of response the client gets, once it is settled that it gets one.
    pub(crate) fn format(&self) -> ResponseFormat {
        self.format.unwrap_or(ResponseFormat::Either)
    }

    /// What becomes of the message is told elsewhere, if it is told.
    #[inline]
    pub(crate) fn claim(&self) -> Arrival {
        self.unclaimed.map_or(Arrival::now(0), UnclaimedPost::claim)
    }

    /// Who sent it, for observers.
    pub(crate) fn sender<'b>(&'b self, user: Option<&'b Arc<str>>) -> Sender<'b> {
        let http_id = self.parts.extensions.get().map(RequestId::shared);
        Sender { user, peer: self.peer, network: Network::of(self.parts), http_id }
    }

    /// The revision that the version header names, if the server speaks it.
    pub(crate) fn revision(&self) -> Option<Revision> {
        self.headers.version().ok().flatten()?.parse().ok()
    }

    pub(crate) fn names_session(&self) -> bool {
        self.headers.session.is_there()
    }

    /// Whether the version header names a revision without sessions.
    pub(crate) fn is_stateless(&self) -> bool {
        self.headers.version().is_ok_and(|version| version.is_some_and(era::is_modern_date))
    }
}
