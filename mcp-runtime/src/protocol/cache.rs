//! Cache hints: how long a client may keep a result, and whether it may share it.
//! <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching>

use std::time::Duration;

/// How long a client may cache a result, and whether it may share it between users.
///
/// Clients of 2026-07-28 get a hint with every list and every resource. The default is
/// [`NONE`](Self::NONE): do not cache. Older revisions have no cache hints. A list that differs between
/// callers (`visible_if`) is always private.
///
/// ```
/// use std::time::Duration;
/// use mcp_runtime::protocol::CacheHint;
/// use mcp_runtime::Server;
///
/// let server = Server::new("atlas", "1.0.0")
///     .cache_hint(CacheHint::private(Duration::from_secs(60)))
///     .cache_hint_resources(CacheHint::public(Duration::from_secs(3600)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheHint {
    ttl: Duration,
    public: bool,
}

impl CacheHint {
    /// Clients should not cache the result: private, for no time.
    pub const NONE: CacheHint = CacheHint::private(Duration::ZERO);

    /// The requesting client may cache the result for `ttl`.
    pub const fn private(ttl: Duration) -> Self {
        CacheHint { ttl, public: false }
    }

    /// Anyone may cache the result for `ttl`, shared caches included. Not for results that depend on the
    /// caller.
    pub const fn public(ttl: Duration) -> Self {
        CacheHint { ttl, public: true }
    }

    /// The same hint, private.
    pub(crate) fn unshared(self) -> Self {
        CacheHint { public: false, ..self }
    }

    /// The time in milliseconds, at most the largest integer that every JSON reader keeps exact.
    pub(crate) fn ttl_millis(self) -> u64 {
        const LARGEST: u64 = (1 << 53) - 1;
        u64::try_from(self.ttl.as_millis()).map_or(LARGEST, |millis| millis.min(LARGEST))
    }

    /// Who may be given the result, in the words of the protocol.
    pub(crate) fn scope(self) -> &'static str {
        if self.public { "public" } else { "private" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ttl_is_an_exact_json_integer() {
        let hint = |cache: CacheHint| (cache.ttl_millis(), cache.scope());
        assert_eq!(hint(CacheHint::NONE), (0, "private"));
        assert_eq!(hint(CacheHint::public(Duration::from_secs(2))), (2000, "public"));
        assert_eq!(hint(CacheHint::private(Duration::MAX)), (9_007_199_254_740_991, "private"));
    }
}
