//! Rate limits at work: of a server, or of one handler.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::caller::{Caller, CallerId};
use super::gcra::{Gcra, Nanos, TooSoon};
use super::rate::{RateLimit, Scope};
use super::refusal::Throttled;
use super::table::{Key, RateTables};

/// Counts requests. A trait, so that a server without limits has no code for them.
pub(crate) trait Limiter: fmt::Debug + Send + Sync {
    /// Counts a request, unless it is over a limit. `what` is called, for the refusal.
    fn admit(&self, request: Counted<'_>, what: &str) -> Result<(), Box<Throttled>>;

    /// A request that was counted is not served after all.
    fn give_back(&self, request: Counted<'_>);

    /// Adds a limit. All of them hold.
    fn add(&mut self, limit: RateLimit);
}

/// A request that is counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted<'a> {
    pub(crate) caller: Caller<'a>,
    /// How many rounds of questions its call had before.
    pub(crate) rounds: usize,
    /// What callers have used, of the whole server.
    pub(crate) tables: &'a RateTables,
}

/// Several limits that all hold.
#[derive(Debug)]
pub(crate) struct RateLimits(Vec<Counter>);

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
    /// By each, in the tables of the server, under this number.
    ByEach(u64),
}

impl RateLimits {
    pub(crate) fn new(limit: RateLimit) -> Self {
        RateLimits(vec![Counter::new(limit)])
    }
}

impl Limiter for RateLimits {
    fn admit(&self, request: Counted<'_>, what: &str) -> Result<(), Box<Throttled>> {
        let now = request.tables.get().now();
        for (index, counter) in self.0.iter().enumerate() {
            if let Err(TooSoon(wait)) = counter.take(request, now) {
                self.0[..index].iter().for_each(|counted| counted.give_back(request));
                let wait = Duration::from_nanos(wait);
                return Err(Box::new(Throttled::over_rate(&counter.limit, what, wait)));
            }
        }
        Ok(())
    }

    fn give_back(&self, request: Counted<'_>) {
        self.0.iter().for_each(|counter| counter.give_back(request));
    }

    fn add(&mut self, limit: RateLimit) {
        self.0.push(Counter::new(limit));
    }
}

impl Counter {
    fn new(limit: RateLimit) -> Self {
        static COUNTERS: AtomicU64 = AtomicU64::new(0);
        let used = match limit.scope {
            Scope::Global => Used::ByAll(AtomicU64::new(0)),
            Scope::User | Scope::Client => Used::ByEach(COUNTERS.fetch_add(1, Ordering::Relaxed)),
        };
        Counter { limit, gcra: Gcra::new(&limit), used }
    }

    fn take(&self, Counted { caller, rounds, tables }: Counted<'_>, now: Nanos) -> Result<(), TooSoon> {
        match self.used {
            Used::ByAll(ref tat) => {
                let take = |tat| self.gcra.take(tat, now, rounds);
                let took = tat.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |tat| take(tat).ok());
                took.map(drop).or_else(|tat| take(tat).map(drop))
            }
            Used::ByEach(number) => {
                let key = self.key(number, caller);
                tables.get().of(key.1).take(key, self.gcra, now, rounds)
            }
        }
    }

    fn give_back(&self, Counted { caller, tables, .. }: Counted<'_>) {
        match self.used {
            Used::ByAll(ref tat) => {
                let _ = tat.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |tat| Some(self.gcra.give_back(tat)));
            }
            Used::ByEach(number) => {
                let key = self.key(number, caller);
                tables.get().of(key.1).give_back(key, self.gcra);
            }
        }
    }

    fn key<'a>(&self, number: u64, caller: Caller<'a>) -> Key<'a> {
        let id: CallerId<'a> = match self.limit.scope {
            Scope::Client => caller.client.unwrap_or(caller.user),
            Scope::User | Scope::Global => caller.user,
        };
        (number, id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(user: &str) -> Caller<'_> {
        Caller { user: CallerId::User("", user), client: Some(CallerId::Client("", "app")) }
    }

    fn admits(limits: &RateLimits, tables: &RateTables, user: &str) -> bool {
        limits.admit(Counted { caller: named(user), rounds: 0, tables }, "the server").is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn scope_says_whose_requests_are_counted_together() {
        let tables = RateTables::new(1000);
        let user = RateLimits::new(RateLimit::per_second(1).per_user());
        assert!(admits(&user, &tables, "ann") && admits(&user, &tables, "bob") && !admits(&user, &tables, "ann"));
        for together in [RateLimit::per_second(1).per_client(), RateLimit::per_second(1).global()] {
            let limits = RateLimits::new(together);
            assert!(admits(&limits, &tables, "ann") && !admits(&limits, &tables, "bob"), "{together}");
            tokio::time::advance(Duration::from_secs(1)).await;
            assert!(admits(&limits, &tables, "bob"), "{together}");
        }
        let caller = Caller { user: CallerId::Unknown, client: None };
        let anonymous = Counted { caller, rounds: 0, tables: &tables };
        let client = RateLimits::new(RateLimit::per_second(1).per_client());
        assert!(client.admit(anonymous, "it").is_ok() && client.admit(anonymous, "it").is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn request_that_one_limit_refuses_does_not_count_for_another() {
        let tables = RateTables::new(1000);
        let mut limits = RateLimits::new(RateLimit::per_hour(3));
        limits.add(RateLimit::per_second(1).global());
        assert!(admits(&limits, &tables, "ann"));
        for _ in 0..10 {
            assert!(!admits(&limits, &tables, "ann"), "over the second limit");
        }
        for _ in 0..2 {
            tokio::time::advance(Duration::from_secs(1)).await;
            assert!(admits(&limits, &tables, "ann"), "the first limit has three");
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(!admits(&limits, &tables, "ann"), "and no more");
    }
}
