//! [`RateLimit`]: how often something may be called, and by whom the calls are counted.

use std::fmt;
use std::time::Duration;

/// How often requests are served: a rate, a burst, and whose requests are counted together. For
/// [`Server::rate_limit`](crate::Server::rate_limit) and the `rate_limit` of handlers built at
/// [run time](crate::dynamic); annotated handlers have `#[tool(rate = "10/s", burst = 20)]`.
///
/// ```
/// use mcp_runtime::{RateLimit, Server};
///
/// let server = Server::new("maps", "1.0.0")
///     .rate_limit(RateLimit::per_second(10).burst(20))      // of each user
///     .rate_limit(RateLimit::per_minute(6000).global());    // of all of them
/// ```
///
/// A caller that has been silent may send a burst at once; after that, one more each time the rate allows. Never are
/// there more than `burst + rate × time` in any span of time, except for later rounds of a call that asks its client. A request
/// that is refused by a limit, or because its handler has no place for it (`max_concurrent`), does not count. A call beyond
/// [`Limits::in_flight`](crate::Limits::in_flight) does.
///
/// Limits are per process: with three replicas behind a load balancer, a caller may get three times as much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "pass it to `Server::rate_limit`"]
pub struct RateLimit {
    pub(super) count: u32,
    pub(super) period: Period,
    pub(super) burst: Option<u32>,
    pub(super) scope: Scope,
}

/// The time that a rate is given for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Period {
    Second,
    Minute,
    Hour,
}

/// Whose requests are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    User,
    Client,
    Global,
}

impl RateLimit {
    const fn new(count: u32, period: Period) -> Self {
        RateLimit { count, period, burst: None, scope: Scope::User }
    }

    /// Allows `count` requests per second.
    pub const fn per_second(count: u32) -> Self {
        Self::new(count, Period::Second)
    }

    /// Allows `count` requests per minute.
    pub const fn per_minute(count: u32) -> Self {
        Self::new(count, Period::Minute)
    }

    /// Allows `count` requests per hour.
    pub const fn per_hour(count: u32) -> Self {
        Self::new(count, Period::Hour)
    }

    /// How many a caller that has been silent may send at once. Default: the `count` of the rate, so that
    /// `per_minute(60)` allows 60 at once, and then one per second.
    pub const fn burst(mut self, burst: u32) -> Self {
        self.burst = Some(burst);
        self
    }

    /// Counts the requests of each user. The default.
    ///
    /// A user is who the token names (feature `auth`), or the principal that
    /// [`HttpService::principal`](crate::http::HttpService::principal) returns. Anonymous callers are told apart by their
    /// address: the same IPv4 address, or the same 64 bits of an IPv6 address, is one user. Where no address is known there is
    /// one user: on stdio, on a Unix socket, and in a service that is nested elsewhere without a
    /// [`Peer`](crate::http::Peer).
    pub const fn per_user(mut self) -> Self {
        self.scope = Scope::User;
        self
    }

    /// Counts the requests of each client: the application that the `client_id` of the token names (feature `auth`),
    /// whoever its users are. Without such a token, as [`per_user`](Self::per_user).
    pub const fn per_client(mut self) -> Self {
        self.scope = Scope::Client;
        self
    }

    /// Counts the requests of all callers together. One caller can then use up what the others have: add a limit
    /// [per user](Self::per_user), too.
    pub const fn global(mut self) -> Self {
        self.scope = Scope::Global;
        self
    }

    /// What is wrong with it.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        match (self.count, self.burst) {
            (0, _) => Some("a rate limit of 0 refuses every request: allow at least 1"),
            (_, Some(0)) => Some("a rate limit with a burst of 0 refuses every request: allow at least 1"),
            _ => None,
        }
    }

    /// How many may come at once.
    pub(super) fn most_at_once(&self) -> u32 {
        self.burst.unwrap_or(self.count)
    }
}

impl Period {
    pub(super) const fn duration(self) -> Duration {
        match self {
            Period::Second => Duration::from_secs(1),
            Period::Minute => Duration::from_secs(60),
            Period::Hour => Duration::from_secs(60 * 60),
        }
    }
}

/// `10 per second`, for a refusal.
impl fmt::Display for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let period = match self.period {
            Period::Second => "second",
            Period::Minute => "minute",
            Period::Hour => "hour",
        };
        let of = match self.scope {
            Scope::User => "",
            Scope::Client => " for each client",
            Scope::Global => " for all callers together",
        };
        write!(f, "{} per {period}{of}", self.count)
    }
}
