//! Whether a call is within the limits of the server and of its handler, and the place it runs in.
//!
//! Everything is asked before anything of the call runs, so that a refused one may be repeated; what one limit has counted
//! is given back if another refuses. What is not limited pays for one comparison.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use crate::ask::Dialogue;
use crate::call::run::start_blocking;
use crate::call::telemetry::log::CallLog;
use crate::dispatch::router::Router;
use crate::era::Method;
use crate::handler::args::Args;
use crate::handler::builder::Handler;
use crate::handler::builder::limits::Throttle;
use crate::outcome::{Failure, Outcome, Step, Work};
use crate::throttle::caller::{Caller, CallerId};
use crate::throttle::current;
use crate::throttle::limiter::{Counted, Limiter};
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
            // What opens and keeps a connection. Streams have limits of their own; the connection has counted subscriptions.
            Method::Initialize
            | Method::Discover
            | Method::Ping
            | Method::SetLevel
            | Method::Shutdown
            | Method::Subscribe
            | Method::Unsubscribe
            | Method::Listen => Ok(()),
            _ => limits.admit(self.counted(), "this server").map_err(Failure::Throttled),
        }
    }

    /// Counts a request that the connection itself serves, against the limits of the server.
    pub(in crate::dispatch) fn count_applied(&self) -> Result<(), Failure> {
        match &self.core.rate_limits {
            None => Ok(()),
            Some(limits) => limits.admit(self.counted(), "this server").map_err(Failure::Throttled),
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
        let counted = self.counted();
        let uncount = |limits: &Option<Box<dyn Limiter>>| limits.iter().for_each(|limits| limits.give_back(counted));
        let admitted = rate.as_ref().map_or(Ok(()), |rate| rate.admit(counted, what));
        let entered = admitted.and_then(|()| {
            let entry = places.as_ref().map(|places| places.enter(counted.caller.user, what)).transpose();
            entry.inspect_err(|_| uncount(rate))
        });
        // The server has counted it, too.
        entered.map(|entry| entry.map(Box::new)).inspect_err(|_| uncount(&self.core.rate_limits))
    }

    /// What is wrong with the variables of a URI, for a template with limits: a call that is not its own neither counts nor
    /// is refused there. Without limits, the call finds out.
    #[inline]
    pub(in crate::dispatch) fn unfit(&self, template: &Handler, variables: &Args<'_>) -> Option<Failure> {
        template.limits.throttle.as_ref()?;
        template.function.fits(variables, self.catalog.settings.arguments).err().map(Failure::Arguments)
    }

    /// Gives back what a template has counted, if the call turns out not to be its own.
    pub(in crate::dispatch) fn uncount(&self, template: &Handler, failure: &Failure) {
        if let (Failure::Arguments(_), Some(throttle)) = (failure, &template.limits.throttle) {
            throttle.rate.iter().for_each(|rate| rate.give_back(self.counted()));
        }
    }

    /// A place for the call of a task that another replica has begun. It was counted there.
    #[cfg(feature = "http")]
    #[expect(clippy::unused_self, reason = "as `enter`")]
    pub(in crate::dispatch) fn enter_again(&self, handler: &Handler) -> Option<Box<Entry>> {
        let places = handler.limits.throttle.as_ref()?.places.as_ref()?;
        Some(Box::new(places.enter_again()))
    }

    /// The request, as limits count it.
    fn counted(&self) -> Counted<'_> {
        let rounds = self.invocation.channel.earlier_rounds();
        Counted { caller: self.caller(), rounds, tables: &self.core.rate_tables }
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
            (Step::Future(work), entry) => {
                Step::Future(Box::pin(run_in_place(work, entry, self.invocation.channel.dialogue())))
            }
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

/// Runs a call in its place. While the call waits for its client others may run there: clients take as long as they like.
async fn run_in_place(mut work: Work, mut entry: Entry, dialogue: Option<Arc<Dialogue>>) -> Outcome {
    loop {
        let mut place = entry.place().await.map(Arc::new);
        let paused = poll_fn(|cx| match current::within(&mut place, || work.as_mut().poll(cx)) {
            Poll::Ready(outcome) => Poll::Ready(Err(outcome)),
            Poll::Pending if dialogue.as_ref().is_some_and(|dialogue| dialogue.is_waiting()) => {
                // Shared with a thread that runs on: then it stays.
                match place.take().map(Arc::try_unwrap) {
                    Some(Ok(own)) => own.pause().map_or(Poll::Pending, |paused| Poll::Ready(Ok(paused))),
                    Some(Err(shared)) => {
                        place = Some(shared);
                        Poll::Pending
                    }
                    None => Poll::Pending,
                }
            }
            Poll::Pending => Poll::Pending,
        });
        match paused.await {
            Err(outcome) => return outcome,
            Ok(paused) => {
                woken().await;
                entry = paused.enter();
            }
        }
    }
}

/// Waits until the task is polled again: what was polled last has its waker.
async fn woken() {
    let mut is_first = true;
    poll_fn(|_| if std::mem::take(&mut is_first) { Poll::Pending } else { Poll::Ready(()) }).await;
}
