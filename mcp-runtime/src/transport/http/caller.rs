//! The caller of an HTTP request: its principal, and its quota.

use std::sync::Arc;

use http::request::Parts;
use tokio::sync::OwnedSemaphorePermit;

use super::Service;
use super::quota::{QuotaPermit, Rejected};
use super::request::HttpRequest;
use crate::call::in_flight::CallKind;
use crate::panic;
use crate::server::memory::Owner;
use crate::server::peer::Peer;

impl Service {
    /// The peer of a request: the other end of the connection, or what middleware or a trusted proxy says.
    #[inline]
    pub(super) fn peer(&self, connection: Option<Peer>, parts: &mut Arc<Parts>) -> Option<Peer> {
        let mut peer = connection.or_else(|| parts.extensions.get().copied());
        if !self.options.proxies.is_empty() {
            peer = self.forwarded(peer, parts);
        }
        let peer = peer?;
        // Extensions are a table of boxes: only for the hook that may look there.
        if self.options.principal.is_some() {
            Arc::make_mut(parts).extensions.insert(peer);
        }
        Some(peer)
    }

    /// The peer of a request that may have come through a proxy. What the proxy says of it becomes an extension.
    #[cold]
    fn forwarded(&self, from: Option<Peer>, parts: &mut Arc<Parts>) -> Option<Peer> {
        let (peer, forwarded) = self.options.proxies.read(from, &parts.headers);
        if let Some(forwarded) = forwarded {
            Arc::make_mut(parts).extensions.insert(forwarded);
        }
        peer
    }

    /// The principal of a request: the user of its token, or whom the `principal` hook names. `None` for an anonymous
    /// caller.
    pub(super) fn principal(&self, http: &HttpRequest<'_>) -> Result<Option<Arc<str>>, Rejected> {
        #[cfg(feature = "auth")]
        if let Some(access) = http.access {
            return Ok(access.user.as_ref().map(|user| Arc::clone(user.principal())));
        }
        let Some(principal) = &self.options.principal else { return Ok(None) };
        panic::catch(|| principal(http.parts).map(Arc::from)).ok_or_else(|| {
            tracing::error!(hook = "principal", "a hook panicked; the request is answered 500");
            Rejected::Hook
        })
    }

    /// A permit of the caller's quota, for one more call or stream.
    pub(super) fn quota_permit(&self, owner: Owner, kind: CallKind) -> Result<QuotaPermit, Rejected> {
        self.quotas.permit(owner, kind)
    }

    /// A place for the handler of a notification, which runs on when its request is answered: among the caller's calls, and
    /// among all requests.
    pub(super) fn notification_place(&self, owner: Owner) -> Result<(QuotaPermit, OwnedSemaphorePermit), Rejected> {
        let permit = self.quota_permit(owner, CallKind::Call)?;
        let request = Arc::clone(&self.requests).try_acquire_owned().map_err(|_| Rejected::Requests)?;
        Ok((permit, request))
    }
}
