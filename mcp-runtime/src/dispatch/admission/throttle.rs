//! Whether a call is within the limits of the server and of its handler, and the place it runs in.
//!
//! Everything is asked before anything of the call runs, so that a refused one may be repeated. What is not limited pays
//! for one comparison.

use std::sync::Arc;

use crate::call::run::start_blocking;
use crate::call::telemetry::log::CallLog;
use crate::dispatch::router::Router;
use crate::era::Method;
use crate::handler::builder::Handler;
use crate::handler::builder::limits::Throttle;
use crate::outcome::{Failure, Step};
use crate::throttle::caller::{Caller, CallerId};
use crate::throttle::limiter::Limiter;
use crate::throttle::places::Entry;
use crate::throttle::refusal::Throttled;

impl Router<'_> {
    /// Counts a request against the limits of the server.
    #[inline]
    pub(in crate::dispatch) fn count(&self, method: Method) -> Result<(), Failure> {
        match &self.core.rate_limits {
            None => Ok(()),
            Some(limits) => self.count_limited(&**limits, method),
        }
    }

    #[cold]
    fn count_limited(&self, limits: &dyn Limiter, method: Method) -> Result<(), Failure> {
        match method {
            // What opens and keeps a connection. Subscriptions have limits of their own.
            Method::Initialize
            | Method::Discover
            | Method::Ping
            | Method::SetLevel
            | Method::Shutdown
            | Method::Subscribe
            | Method::Unsubscribe
            | Method::Listen => Ok(()),
            _ => limits.admit(self.caller(), "this server").map_err(Failure::Throttled),
        }
    }

    /// Counts a call against the limits of its handler, and gets it a place. `what` is called, for a refusal.
    #[inline]
    pub(in crate::dispatch) fn enter(&self, handler: &Handler, what: &str) -> Result<Option<Box<Entry>>, Failure> {
        match &handler.limits.throttle {
            None => Ok(None),
            Some(throttle) => self.enter_limited(throttle, what).map_err(Failure::Throttled),
        }
    }

    #[cold]
    fn enter_limited(
        &self,
        Throttle { rate, places }: &Throttle,
        what: &str,
    ) -> Result<Option<Box<Entry>>, Box<Throttled>> {
        let caller = self.caller();
        if let Some(rate) = rate {
            rate.admit(caller, what)?;
        }
        places.as_ref().map(|places| places.enter(caller.user, what).map(Box::new)).transpose()
    }

    /// A place for the call of a task that another replica has begun. It was counted there.
    #[cfg(feature = "http")]
    #[expect(clippy::unused_self, reason = "as `enter`")]
    pub(in crate::dispatch) fn enter_again(&self, handler: &Handler) -> Option<Box<Entry>> {
        let places = handler.limits.throttle.as_ref()?.places.as_ref()?;
        Some(Box::new(places.enter_again()))
    }

    /// By whom the request is counted.
    fn caller(&self) -> Caller<'_> {
        let channel = self.invocation.channel;
        #[cfg(feature = "auth")]
        if let Some(user) = channel.access().and_then(|access| access.user.as_deref()) {
            let client = user.client_id().map(|client| CallerId::Client(user.issuer(), client));
            return Caller { user: CallerId::User(user.issuer(), user.subject()), client };
        }
        let user = match (channel.principal(), channel.peer()) {
            (Some(principal), _) => CallerId::Principal(principal),
            (None, Some(peer)) => CallerId::Peer(peer.network()),
            (None, None) => CallerId::Unknown,
        };
        Caller { user, client: None }
    }

    /// A step that runs when its place is free, and keeps it until it is over.
    #[cold]
    pub(in crate::dispatch) fn in_place(&self, step: Step, entry: Entry) -> Step {
        match (step, entry) {
            // It is over.
            (Step::Ready(outcome), _) => Step::Ready(outcome),
            (Step::Future(work), entry) => Step::Future(Box::pin(async move {
                let _place = entry.place().await;
                work.await
            })),
            // The thread keeps it, even if the call has timed out.
            (Step::Blocking(work), Entry::Now(place)) => Step::Blocking(Box::new(move || {
                let _place = place;
                work()
            })),
            (Step::Blocking(work), entry) => {
                let core = Arc::clone(self.invocation.channel.core);
                Step::Future(Box::pin(async move {
                    let place = entry.place().await;
                    let work = Box::new(move || {
                        let _place = place;
                        work()
                    });
                    start_blocking(&core.blocking_threads, CallLog::current(), work)?.await
                }))
            }
        }
    }
}
