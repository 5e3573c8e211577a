//! Cache hints: how long a client may keep a result, and whether it may share it.
//! <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching>

use std::time::Duration;

/// How long a client may keep a result, and whether others may be given it.
///
/// Clients of 2026-07-28 are told with every list and every resource; without a hint they are told
/// to ask again each time and to share nothing. Older revisions have no such hints. A list with
/// something in it that only some callers may see (`visible_if`) is private whatever the hint says.
///
/// ```
/// use std::time::Duration;
/// use mcp_runtime::protocol::CacheHint;
/// use mcp_runtime::Server;
///
/// let server = Server::new("atlas", "1.0.0")
///     .cache(CacheHint::private(Duration::from_secs(60)))
///     .cache_resources(CacheHint::public(Duration::from_secs(3600)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheHint {
    ttl: Duration,
    public: bool,
}

impl CacheHint {
    /// Nothing is kept.
    pub const NONE: CacheHint = CacheHint::private(Duration::ZERO);

    /// May be kept for `ttl` by the client that asked.
    pub const fn private(ttl: Duration) -> Self {
        CacheHint { ttl, public: false }
    }

    /// May be kept for `ttl` and given to anybody, whoever asked: not for what depends on the caller.
    pub const fn public(ttl: Duration) -> Self {
        CacheHint { ttl, public: true }
    }

    /// The same for the client that asked alone.
    pub(crate) fn unshared(self) -> Self {
        CacheHint { public: false, ..self }
    }

    /// The members of a result that say so.
    pub(crate) fn members(self) -> String {
        // A number JSON readers do not round.
        let millis = self.ttl.as_millis().min((1 << 53) - 1);
        let scope = if self.public { "public" } else { "private" };
        format!(r#","ttlMs":{millis},"cacheScope":"{scope}""#)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_whole_numbers_a_reader_can_hold() {
        assert_eq!(CacheHint::NONE.members(), r#","ttlMs":0,"cacheScope":"private""#);
        assert_eq!(CacheHint::public(Duration::from_secs(2)).members(), r#","ttlMs":2000,"cacheScope":"public""#);
        assert_eq!(CacheHint::private(Duration::MAX).members(), r#","ttlMs":9007199254740991,"cacheScope":"private""#);
    }
}
