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

use super::{Body, Inner, MOST_REQUESTS, response};
use crate::call::in_flight::Kind;
use crate::jsonrpc::Id;
use crate::jsonrpc::error::RpcError;
use crate::limits::Limits;
use crate::panic;

/// What is taken, of what there is.
#[derive(Debug)]
pub(super) struct Shares {
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
    fn of(&mut self, kind: Kind) -> &mut usize {
        match kind {
            Kind::Call => &mut self.calls,
            Kind::Stream => &mut self.streams,
        }
    }
}

/// A caller's part in it, until it is dropped.
#[derive(Debug, Default)]
pub(super) struct Share {
    _place: Option<OwnedSemaphorePermit>,
    _named: Option<Named>,
}

#[derive(Debug)]
struct Named {
    shares: Arc<Shares>,
    principal: Box<str>,
    kind: Kind,
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
pub(super) enum Refused {
    /// The caller has all they may have.
    Own(Kind),
    /// All streams together are as many as there may be.
    Streams,
    /// Nobody knows who it is: the hook that should say so panicked.
    Hook,
}

impl Refused {
    pub(super) fn answer(self, id: Id<'_>) -> Response<Body> {
        let (own, all) = (StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE);
        match self {
            Refused::Own(Kind::Call) => response::later_to(id, own, "too many calls of yours; wait for an answer"),
            Refused::Own(Kind::Stream) => response::later_to(id, own, "too many streams of yours; close one"),
            Refused::Streams => response::later_to(id, all, "too many streams at a time; try again later"),
            Refused::Hook => {
                let error = RpcError::new(RpcError::INTERNAL, "Internal error");
                response::error(StatusCode::INTERNAL_SERVER_ERROR, id, &error)
            }
        }
    }
}

impl Shares {
    pub(super) fn new(limits: &Limits) -> Self {
        let requests = limits.requests.min(MOST_REQUESTS as usize);
        // A quarter is for calls, which come to an end by themselves.
        let streams = (requests - requests.div_ceil(4)).max(1);
        Shares { named: Mutex::default(), streams: Arc::new(Semaphore::new(streams)) }
    }

    fn named(&self) -> MutexGuard<'_, HashMap<Box<str>, Counts>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a stream of changes, whoever's.
    pub(super) fn stream(&self) -> Result<OwnedSemaphorePermit, Refused> {
        Arc::clone(&self.streams).try_acquire_owned().map_err(|_| Refused::Streams)
    }

    fn enter(self: &Arc<Self>, principal: &str, kind: Kind, limit: usize) -> Result<Named, Refused> {
        let mut named = self.named();
        // Looked for first: a refusal leaves no entry behind.
        if named.get_mut(principal).map_or(0, |counts| *counts.of(kind)) >= limit {
            return Err(Refused::Own(kind));
        }
        *named.entry(principal.into()).or_default().of(kind) += 1;
        Ok(Named { shares: Arc::clone(self), principal: principal.into(), kind })
    }
}

impl Inner {
    /// Who makes a request, as far as the hook knows.
    pub(super) fn principal(&self, parts: &Parts) -> Result<Option<String>, Refused> {
        let Some(principal) = &self.options.principal else { return Ok(None) };
        panic::catch(|| principal(parts)).ok_or_else(|| {
            tracing::error!(hook = "principal", "a hook panicked");
            Refused::Hook
        })
    }

    /// A share for one more call or stream of somebody.
    pub(super) fn share(&self, principal: Option<&str>, kind: Kind) -> Result<Share, Refused> {
        let limit = match kind {
            Kind::Call => self.core.limits.in_flight,
            Kind::Stream => self.core.limits.streams,
        };
        let named = principal.map(|principal| self.shares.enter(principal, kind, limit)).transpose()?;
        let place = (kind == Kind::Stream).then(|| self.shares.stream()).transpose()?;
        Ok(Share { _place: place, _named: named })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_nothing_leaves_nothing() {
        let shares = Arc::new(Shares::new(&Limits::default()));
        let enter = |kind, limit| shares.enter("ann", kind, limit);
        let (call, stream) = (enter(Kind::Call, 1).unwrap(), enter(Kind::Stream, 1).unwrap());
        assert_eq!(enter(Kind::Call, 1).unwrap_err(), Refused::Own(Kind::Call));
        drop(call);
        assert_eq!(shares.named().len(), 1);
        drop(enter(Kind::Call, 1).unwrap());
        drop(stream);
        assert_eq!(shares.named().len(), 0);
        assert_eq!(enter(Kind::Call, 0).unwrap_err(), Refused::Own(Kind::Call));
        assert_eq!(shares.named().len(), 0, "nor does who gets nothing");
    }

    #[test]
    fn streams_never_have_every_place() {
        for (requests, streams) in [(1, 1), (2, 1), (3, 2), (4, 3), (8, 6), (1024, 768)] {
            let shares = Shares::new(&Limits { requests, ..Limits::default() });
            assert_eq!(shares.streams.available_permits(), streams, "{requests}");
        }
    }
}
