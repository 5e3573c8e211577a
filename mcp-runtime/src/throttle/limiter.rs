//! Rate limits at work: of a server, or of one handler.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::caller::{Caller, CallerId};
use super::gcra::{Gcra, Nanos, TooSoon};
use super::rate::{RateLimit, Scope};
use super::refusal::Throttled;
use super::table::Table;

/// Counts requests. A trait, so that a server without limits has no code for them.
pub(crate) trait Limiter: fmt::Debug + Send + Sync {
    /// Counts a request of `caller`, unless it is over a limit. `what` is called, for the refusal.
    fn admit(&self, caller: Caller<'_>, what: &str) -> Result<(), Box<Throttled>>;

    /// Adds a limit. All of them hold.
    fn add(&mut self, limit: RateLimit);
}

/// Several limits that all hold.
#[derive(Debug)]
pub(crate) struct RateLimits {
    limits: Vec<Counter>,
    /// When time begins. Tokio's clock, which tests stop.
    started: Instant,
}

/// One limit, and what is used of it.
#[derive(Debug)]
struct Counter {
    limit: RateLimit,
    gcra: Gcra,
    used: Used,
}

/// What is used of a limit.
#[derive(Debug)]
enum Used {
    /// By all callers together.
    ByAll(AtomicU64),
    /// By each. Addresses are free to get, so they do not push out authenticated callers.
    ByEach(Box<Tables>),
}

#[derive(Debug)]
struct Tables {
    known: Table,
    anonymous: Table,
}

impl RateLimits {
    pub(crate) fn new(limit: RateLimit) -> Self {
        RateLimits { limits: vec![Counter::new(limit)], started: Instant::now() }
    }
}

impl Limiter for RateLimits {
    fn admit(&self, caller: Caller<'_>, what: &str) -> Result<(), Box<Throttled>> {
        let now = Nanos::try_from(self.started.elapsed().as_nanos()).unwrap_or(Nanos::MAX);
        for (index, counter) in self.limits.iter().enumerate() {
            if let Err(TooSoon(wait)) = counter.take(caller, now) {
                self.limits[..index].iter().for_each(|counted| counted.give_back(caller));
                let wait = Duration::from_nanos(wait);
                return Err(Box::new(Throttled::over_rate(&counter.limit, what, wait)));
            }
        }
        Ok(())
    }

    fn add(&mut self, limit: RateLimit) {
        self.limits.push(Counter::new(limit));
    }
}

impl Counter {
    fn new(limit: RateLimit) -> Self {
        let used = match limit.scope {
            Scope::Global => Used::ByAll(AtomicU64::new(0)),
            Scope::User | Scope::Client => {
                Used::ByEach(Box::new(Tables { known: Table::new(), anonymous: Table::new() }))
            }
        };
        Counter { limit, gcra: Gcra::new(&limit), used }
    }

    fn take(&self, caller: Caller<'_>, now: Nanos) -> Result<(), TooSoon> {
        match &self.used {
            Used::ByAll(tat) => {
                let took = tat.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |tat| self.gcra.take(tat, now).ok());
                took.map(drop).or_else(|tat| self.gcra.take(tat, now).map(drop))
            }
            Used::ByEach(tables) => {
                let id = self.id(caller);
                tables.of(id).take(id, self.gcra, now)
            }
        }
    }

    fn give_back(&self, caller: Caller<'_>) {
        match &self.used {
            Used::ByAll(tat) => {
                let _ = tat.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |tat| Some(self.gcra.give_back(tat)));
            }
            Used::ByEach(tables) => {
                let id = self.id(caller);
                tables.of(id).give_back(id, self.gcra);
            }
        }
    }

    fn id<'a>(&self, caller: Caller<'a>) -> CallerId<'a> {
        match self.limit.scope {
            Scope::Client => caller.client.unwrap_or(caller.user),
            Scope::User | Scope::Global => caller.user,
        }
    }
}

impl Tables {
    fn of(&self, id: CallerId<'_>) -> &Table {
        if id.is_anonymous() { &self.anonymous } else { &self.known }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(user: &str) -> Caller<'_> {
        Caller { user: CallerId::User("", user), client: Some(CallerId::Client("", "app")) }
    }

    fn admits(limits: &RateLimits, user: &str) -> bool {
        limits.admit(named(user), "the server").is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn scope_says_whose_requests_are_counted_together() {
        let user = RateLimits::new(RateLimit::per_second(1).per_user());
        assert!(admits(&user, "ann") && admits(&user, "bob") && !admits(&user, "ann"));
        for together in [RateLimit::per_second(1).per_client(), RateLimit::per_second(1).global()] {
            let limits = RateLimits::new(together);
            assert!(admits(&limits, "ann") && !admits(&limits, "bob"), "{together}");
            tokio::time::advance(Duration::from_secs(1)).await;
            assert!(admits(&limits, "bob"), "{together}");
        }
        let anonymous = Caller { user: CallerId::Unknown, client: None };
        let client = RateLimits::new(RateLimit::per_second(1).per_client());
        assert!(client.admit(anonymous, "it").is_ok() && client.admit(anonymous, "it").is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn request_that_one_limit_refuses_does_not_count_for_another() {
        let mut limits = RateLimits::new(RateLimit::per_hour(3));
        limits.add(RateLimit::per_second(1).global());
        assert!(admits(&limits, "ann"));
        for _ in 0..10 {
            assert!(!admits(&limits, "ann"), "over the second limit");
        }
        for _ in 0..2 {
            tokio::time::advance(Duration::from_secs(1)).await;
            assert!(admits(&limits, "ann"), "the first limit has three");
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(!admits(&limits, "ann"), "and no more");
    }
}
