//! What each caller has of the server at a time, where no session counts it.
//!
//! Who the `principal` hook names has a count of their own. Who it does not name is counted with
//! nobody: behind one count strangers would lock each other out. What bounds them together is the
//! number of requests, of which streams never have all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::request::Parts;
use http::{Response, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Body, MOST_REQUESTS, Service, response};
use crate::call::in_flight::CallKind;
use crate::jsonrpc::Id;
use crate::jsonrpc::error::RpcError;
use crate::limits::Limits;
use crate::panic;

/// What is taken, of what there is.
#[derive(Debug)]
pub(super) struct Quotas {
    /// What those have who have anything: no more entries than requests at a time.
    named: Mutex<HashMap<Box<str>, Counts>>,
    /// Places for streams of changes.
    streams: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Counts {
    calls: usize,
    streams: usize,
}

impl Counts {
    fn of(&mut self, kind: CallKind) -> &mut usize {
        match kind {
            CallKind::Call => &mut self.calls,
            CallKind::Stream => &mut self.streams,
        }
    }
}

/// A caller's part in it, until it is dropped.
#[derive(Debug, Default)]
pub(super) struct QuotaPermit {
    _place: Option<OwnedSemaphorePermit>,
    _named: Option<Named>,
}

#[derive(Debug)]
struct Named {
    shares: Arc<Quotas>,
    principal: Box<str>,
    kind: CallKind,
}

impl Drop for Named {
    fn drop(&mut self) {
        let mut named = self.shares.named();
        let Some(counts) = named.get_mut(&self.principal) else { return };
        *counts.of(self.kind) -= 1;
        if counts.calls == 0 && counts.streams == 0 {
            named.remove(&self.principal);
        }
    }
}

/// Why there is nothing left to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rejected {
    /// The caller has all they may have.
    Own(CallKind),
    /// All streams together are as many as there may be.
    Streams,
    /// Nobody knows who it is: the hook that should say so panicked.
    Hook,
}

impl Rejected {
    pub(super) fn answer(self, id: Id<'_>) -> Response<Body> {
        let (own, all) = (StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE);
        match self {
            Rejected::Own(CallKind::Call) => response::later_to(id, own, "too many calls of yours; wait for an answer"),
            Rejected::Own(CallKind::Stream) => response::later_to(id, own, "too many streams of yours; close one"),
            Rejected::Streams => response::later_to(id, all, "too many streams at a time; try again later"),
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
        // A quarter is for calls, which come to an end by themselves.
        let streams = (requests - requests.div_ceil(4)).max(1);
        Quotas { named: Mutex::default(), streams: Arc::new(Semaphore::new(streams)) }
    }

    fn named(&self) -> MutexGuard<'_, HashMap<Box<str>, Counts>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a stream of changes, whoever's.
    pub(super) fn stream(&self) -> Result<OwnedSemaphorePermit, Rejected> {
        Arc::clone(&self.streams).try_acquire_owned().map_err(|_| Rejected::Streams)
    }

    fn enter(self: &Arc<Self>, principal: &str, kind: CallKind, limit: usize) -> Result<Named, Rejected> {
        let mut named = self.named();
        // Looked for first: a refusal leaves no entry behind.
        if named.get_mut(principal).map_or(0, |counts| *counts.of(kind)) >= limit {
            return Err(Rejected::Own(kind));
        }
        *named.entry(principal.into()).or_default().of(kind) += 1;
        Ok(Named { shares: Arc::clone(self), principal: principal.into(), kind })
    }
}

impl Service {
    /// Who makes a request, as far as the hook knows.
    pub(super) fn principal(&self, parts: &Parts) -> Result<Option<String>, Rejected> {
        let Some(principal) = &self.options.principal else { return Ok(None) };
        panic::catch(|| principal(parts)).ok_or_else(|| {
            tracing::error!(hook = "principal", "a hook panicked");
            Rejected::Hook
        })
    }

    /// A share for one more call or stream of somebody.
    pub(super) fn share(&self, principal: Option<&str>, kind: CallKind) -> Result<QuotaPermit, Rejected> {
        let limit = match kind {
            CallKind::Call => self.core.limits.in_flight,
            CallKind::Stream => self.core.limits.streams,
        };
        let named = principal.map(|principal| self.shares.enter(principal, kind, limit)).transpose()?;
        let place = (kind == CallKind::Stream).then(|| self.shares.stream()).transpose()?;
        Ok(QuotaPermit { _place: place, _named: named })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_nothing_leaves_nothing() {
        let shares = Arc::new(Quotas::new(&Limits::default()));
        let enter = |kind, limit| shares.enter("ann", kind, limit);
        let (call, stream) = (enter(CallKind::Call, 1).unwrap(), enter(CallKind::Stream, 1).unwrap());
        assert_eq!(enter(CallKind::Call, 1).unwrap_err(), Rejected::Own(CallKind::Call));
        drop(call);
        assert_eq!(shares.named().len(), 1);
        drop(enter(CallKind::Call, 1).unwrap());
        drop(stream);
        assert_eq!(shares.named().len(), 0);
        assert_eq!(enter(CallKind::Call, 0).unwrap_err(), Rejected::Own(CallKind::Call));
        assert_eq!(shares.named().len(), 0, "nor does who gets nothing");
    }

    #[test]
    fn streams_never_have_every_place() {
        for (requests, streams) in [(1, 1), (2, 1), (3, 2), (4, 3), (8, 6), (1024, 768)] {
            let shares = Quotas::new(&Limits { requests, ..Limits::default() });
            assert_eq!(shares.streams.available_permits(), streams, "{requests}");
        }
    }
}
