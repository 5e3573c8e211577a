//! Per-principal quotas, for the calls and streams that no session counts.
//!
//! Each principal has its own quota. Anonymous callers have none: a shared quota would let one of them starve the
//! others. They are bounded by `Limits::requests`, of which streams get at most three quarters, since an open stream
//! costs its client nothing.
//!
//! A call takes a permit only if it may have to wait. 429 tells a caller that its own quota is exhausted; 503, that a
//! limit of the whole server is reached.

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
use crate::sync::lock;

/// The largest number of requests: the permits of one semaphore.
pub(super) const MOST_REQUESTS: u32 = u32::MAX >> 3;

/// The quotas of a service, and how much of them is used.
#[derive(Debug)]
pub(super) struct Quotas {
    /// The limits of each principal.
    limits: Counts,
    /// The usage of each principal. Principals without calls and streams have no entry, so there are never more
    /// entries than requests.
    used: Mutex<HashMap<Box<str>, Counts>>,
    /// Permits for the streams of all callers.
    streams: Arc<Semaphore>,
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
    _principal: Option<PrincipalPermit>,
}

#[derive(Debug)]
struct PrincipalPermit {
    quotas: Arc<Quotas>,
    principal: Box<str>,
    kind: CallKind,
}

impl Drop for PrincipalPermit {
    fn drop(&mut self) {
        let mut used = self.quotas.used();
        let Some(counts) = used.get_mut(&self.principal) else { return };
        *counts.of_mut(self.kind) -= 1;
        if counts.calls == 0 && counts.streams == 0 {
            used.remove(&self.principal);
        }
    }
}

/// Why a permit was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rejected {
    /// The principal's quota is exhausted.
    Principal(CallKind),
    /// The limit for the streams of all callers is reached.
    Streams,
    /// The `principal` hook panicked, so the caller is unknown.
    Hook,
}

impl Rejected {
    pub(super) fn answer(self, id: Id<'_>) -> Response<Body> {
        let (principal, server) = (StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE);
        match self {
            Rejected::Principal(CallKind::Call) => {
                response::later_to(id, principal, "too many concurrent calls of yours; wait for one to finish")
            }
            Rejected::Principal(CallKind::Stream) => {
                response::later_to(id, principal, "too many open streams of yours; close one first")
            }
            Rejected::Streams => response::later_to(id, server, "too many open streams; retry later"),
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
            used: Mutex::default(),
            streams: Arc::new(Semaphore::new(streams)),
        }
    }

    fn used(&self) -> MutexGuard<'_, HashMap<Box<str>, Counts>> {
        lock(&self.used)
    }

    /// A permit for one more call or stream of a caller.
    pub(super) fn permit(self: &Arc<Self>, principal: Option<&str>, kind: CallKind) -> Result<QuotaPermit, Rejected> {
        let principal = principal.map(|principal| self.principal_permit(principal, kind)).transpose()?;
        let stream = (kind == CallKind::Stream).then(|| self.stream()).transpose()?;
        Ok(QuotaPermit { _stream: stream, _principal: principal })
    }

    /// A permit for one more stream of any caller.
    pub(super) fn stream(&self) -> Result<OwnedSemaphorePermit, Rejected> {
        Arc::clone(&self.streams).try_acquire_owned().map_err(|_| Rejected::Streams)
    }

    fn principal_permit(self: &Arc<Self>, principal: &str, kind: CallKind) -> Result<PrincipalPermit, Rejected> {
        let mut used = self.used();
        // Checked first: a rejection leaves no entry behind.
        if used.get(principal).map_or(0, |counts| counts.of(kind)) >= self.limits.of(kind) {
            return Err(Rejected::Principal(kind));
        }
        *used.entry(principal.into()).or_default().of_mut(kind) += 1;
        Ok(PrincipalPermit { quotas: Arc::clone(self), principal: principal.into(), kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quotas(in_flight: usize, streams: usize) -> Arc<Quotas> {
        Arc::new(Quotas::new(&Limits { in_flight, streams, ..Limits::default() }))
    }

    #[test]
    fn principal_without_permits_has_no_entry() {
        let quotas = quotas(1, 1);
        let permit = |kind| quotas.permit(Some("ann"), kind);
        let (call, stream) = (permit(CallKind::Call).unwrap(), permit(CallKind::Stream).unwrap());
        assert_eq!(permit(CallKind::Call).unwrap_err(), Rejected::Principal(CallKind::Call));
        assert_eq!(permit(CallKind::Stream).unwrap_err(), Rejected::Principal(CallKind::Stream));
        drop(call);
        assert_eq!(quotas.used().len(), 1);
        drop(permit(CallKind::Call).unwrap());
        drop(stream);
        assert_eq!(quotas.used().len(), 0);
    }

    #[test]
    fn rejected_principal_has_no_entry() {
        let quotas = quotas(0, 0);
        for kind in [CallKind::Call, CallKind::Stream] {
            assert_eq!(quotas.permit(Some("ann"), kind).unwrap_err(), Rejected::Principal(kind));
            assert!(quotas.permit(None, kind).is_ok(), "an anonymous caller has no quota");
        }
        assert_eq!(quotas.used().len(), 0);
    }

    #[test]
    fn streams_never_take_every_request() {
        for (requests, streams) in [(1, 1), (2, 1), (3, 2), (4, 3), (8, 6), (1024, 768)] {
            let quotas = Quotas::new(&Limits { requests, ..Limits::default() });
            assert_eq!(quotas.streams.available_permits(), streams, "{requests}");
        }
    }
}
