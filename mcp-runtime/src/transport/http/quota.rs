//! Quotas for the calls and streams that no session counts, per principal or peer.
//!
//! Each principal has a quota of its own. Anonymous callers are told apart by their peer address only, which is that of a
//! proxy, perhaps, with many clients behind it. So a peer has no quota while there is plenty; the last eighth of
//! `Limits::requests` is left to peers that have less than a quarter. Streams get at most three quarters of the requests, and
//! those of one peer a third of that, since an open stream costs its client nothing.
//!
//! A call takes a permit only if it may have to wait. 429 tells a caller that its own quota is exhausted; 503, that a
//! limit of the whole server is reached. The handler of a notification outlives its request: while it runs, it counts as a
//! call of its caller's, and as a request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use http::{Response, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::response;
use super::response::body::Body;
use crate::call::in_flight::CallKind;
use crate::jsonrpc::Id;
use crate::jsonrpc::error::RpcError;
use crate::limits::Limits;
use crate::server::memory::Owner;
use crate::sync::lock;

/// The largest number of requests: the permits of one semaphore.
pub(super) const MOST_REQUESTS: u32 = u32::MAX >> 3;

/// The part of all calls or streams that is left to peers with less than their share.
const RESERVED: usize = 8;
/// The part of all streams that one peer has at most; in any case as many as a principal.
const STREAM_SHARE: usize = 3;
/// The share of a peer.
const PEER_SHARE: usize = 4;

/// The quotas of a service, and how much of them is used.
#[derive(Debug)]
pub(super) struct Quotas {
    /// The limits of each principal.
    limits: Counts,
    /// The limits of all callers.
    totals: Counts,
    used: Mutex<Usage>,
    /// Permits for the streams of all callers.
    streams: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Usage {
    /// The usage of each owner. Owners without calls and streams have no entry, so there are never more entries than
    /// requests.
    of: HashMap<Owner, Counts>,
    total: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    calls: usize,
    streams: usize,
}

impl Counts {
    fn of(&self, kind: CallKind) -> usize {
        match kind {
            CallKind::Call => self.calls,
            CallKind::Stream => self.streams,
        }
    }

    fn of_mut(&mut self, kind: CallKind) -> &mut usize {
        match kind {
            CallKind::Call => &mut self.calls,
            CallKind::Stream => &mut self.streams,
        }
    }
}

/// A permit for one call or stream. Dropping it returns it to the quota.
#[derive(Debug, Default)]
pub(super) struct QuotaPermit {
    _stream: Option<OwnedSemaphorePermit>,
    _owner: Option<OwnerPermit>,
}

#[derive(Debug)]
struct OwnerPermit {
    quotas: Arc<Quotas>,
    owner: Owner,
    kind: CallKind,
}

impl Drop for OwnerPermit {
    fn drop(&mut self) {
        let mut used = self.quotas.used();
        *used.total.of_mut(self.kind) -= 1;
        let Some(counts) = used.of.get_mut(&self.owner) else { return };
        *counts.of_mut(self.kind) -= 1;
        if counts.calls == 0 && counts.streams == 0 {
            used.of.remove(&self.owner);
        }
    }
}

/// Why a permit was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rejected {
    /// The quota of the principal, or of the peer, is exhausted.
    Caller(CallKind),
    /// The limit for the streams of all callers is reached.
    Streams,
    /// The limit for all requests is reached.
    Requests,
    /// The `principal` hook panicked, so the caller is unknown.
    Hook,
}

impl Rejected {
    pub(super) fn answer(self, id: Id<'_>) -> Response<Body> {
        match self {
            Rejected::Caller(CallKind::Call) => {
                response::too_many_to(id, "too many concurrent calls of yours; wait for one to finish")
            }
            Rejected::Caller(CallKind::Stream) => {
                response::too_many_to(id, "too many open streams of yours; close one first")
            }
            Rejected::Streams => {
                response::later_to(id, StatusCode::SERVICE_UNAVAILABLE, "too many open streams; retry later")
            }
            Rejected::Requests => {
                response::later_to(id, StatusCode::SERVICE_UNAVAILABLE, "too many concurrent requests; retry later")
            }
            Rejected::Hook => {
                let error = RpcError::new(RpcError::INTERNAL, "Internal error");
                response::error(StatusCode::INTERNAL_SERVER_ERROR, id, &error)
            }
        }
    }
}

impl Quotas {
    pub(super) fn new(limits: &Limits) -> Self {
        let requests = limits.requests.min(MOST_REQUESTS as usize);
        // A quarter is reserved for calls, which end by themselves.
        let streams = (requests - requests.div_ceil(4)).max(1);
        Quotas {
            limits: Counts { calls: limits.in_flight, streams: limits.streams },
            totals: Counts { calls: requests, streams },
            used: Mutex::default(),
            streams: Arc::new(Semaphore::new(streams)),
        }
    }

    fn used(&self) -> MutexGuard<'_, Usage> {
        lock(&self.used)
    }

    /// A permit for one more call or stream of a caller.
    pub(super) fn permit(self: &Arc<Self>, owner: Owner, kind: CallKind) -> Result<QuotaPermit, Rejected> {
        let owner = if owner == Owner::Unknown { None } else { Some(self.owner_permit(owner, kind)?) };
        let stream = (kind == CallKind::Stream).then(|| Arc::clone(&self.streams).try_acquire_owned());
        let stream = stream.transpose().map_err(|_| Rejected::Streams)?;
        Ok(QuotaPermit { _stream: stream, _owner: owner })
    }

    fn owner_permit(self: &Arc<Self>, owner: Owner, kind: CallKind) -> Result<OwnerPermit, Rejected> {
        let mut used = self.used();
        let own = used.of.get(&owner).map_or(0, |counts| counts.of(kind));
        let is_spent = match owner {
            Owner::Principal(_) => own >= self.limits.of(kind),
            Owner::Peer(_) | Owner::Unknown if kind == CallKind::Stream => {
                own >= (self.totals.streams / STREAM_SHARE).max(self.limits.streams)
            }
            Owner::Peer(_) | Owner::Unknown => {
                let (most, total) = (self.totals.of(kind), used.total.of(kind));
                // When all is taken, it is the server that is full.
                total < most && total >= most - most / RESERVED && own >= (most / PEER_SHARE).max(1)
            }
        };
        // Checked first: a rejection leaves no entry behind.
        if is_spent {
            return Err(Rejected::Caller(kind));
        }
        *used.total.of_mut(kind) += 1;
        *used.of.entry(owner.clone()).or_default().of_mut(kind) += 1;
        Ok(OwnerPermit { quotas: Arc::clone(self), owner, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quotas(in_flight: usize, streams: usize) -> Arc<Quotas> {
        Arc::new(Quotas::new(&Limits { in_flight, streams, ..Limits::default() }))
    }

    fn ann() -> Owner {
        Owner::Principal("ann".into())
    }

    #[test]
    fn last_places_are_left_to_peers_with_less_than_their_share() {
        let quotas = Arc::new(Quotas::new(&Limits { requests: 8, ..Limits::default() }));
        let peer = |number| Owner::Peer([192, 0, 2, number].into());
        let greedy: Vec<_> = (0..7).map(|_| quotas.permit(peer(1), CallKind::Call).unwrap()).collect();
        assert_eq!(quotas.permit(peer(1), CallKind::Call).unwrap_err(), Rejected::Caller(CallKind::Call));
        let other = quotas.permit(peer(2), CallKind::Call).unwrap();
        drop((greedy, other));
        assert!(quotas.permit(peer(1), CallKind::Call).is_ok());
        assert_eq!(quotas.used().of.len(), 0);
    }

    #[test]
    fn peer_has_a_third_of_the_streams() {
        let quotas = Arc::new(Quotas::new(&Limits { requests: 128, streams: 2, ..Limits::default() }));
        let stream = |number| quotas.permit(Owner::Peer([192, 0, 2, number].into()), CallKind::Stream);
        let greedy: Vec<_> = (0..32).map(|_| stream(1).unwrap()).collect();
        assert_eq!(stream(1).unwrap_err(), Rejected::Caller(CallKind::Stream));
        assert!(stream(2).is_ok());
        drop(greedy);
    }

    #[test]
    fn principal_without_permits_has_no_entry() {
        let quotas = quotas(1, 1);
        let permit = |kind| quotas.permit(ann(), kind);
        let (call, stream) = (permit(CallKind::Call).unwrap(), permit(CallKind::Stream).unwrap());
        assert_eq!(permit(CallKind::Call).unwrap_err(), Rejected::Caller(CallKind::Call));
        assert_eq!(permit(CallKind::Stream).unwrap_err(), Rejected::Caller(CallKind::Stream));
        drop(call);
        assert_eq!(quotas.used().of.len(), 1);
        drop(permit(CallKind::Call).unwrap());
        drop(stream);
        assert_eq!(quotas.used().of.len(), 0);
    }

    #[test]
    fn rejected_principal_has_no_entry() {
        let quotas = quotas(0, 0);
        for kind in [CallKind::Call, CallKind::Stream] {
            assert_eq!(quotas.permit(ann(), kind).unwrap_err(), Rejected::Caller(kind));
            assert!(quotas.permit(Owner::Unknown, kind).is_ok(), "a caller that is not known has no quota");
        }
        assert_eq!(quotas.used().of.len(), 0);
    }

    #[test]
    fn streams_never_take_every_request() {
        for (requests, streams) in [(1, 1), (2, 1), (3, 2), (4, 3), (8, 6), (1024, 768)] {
            let quotas = Quotas::new(&Limits { requests, ..Limits::default() });
            assert_eq!(quotas.streams.available_permits(), streams, "{requests}");
        }
    }
}
