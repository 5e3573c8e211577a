//! [`Caller`]: by whom requests are counted.

use std::net::IpAddr;

/// Who sends a request, as far as that is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) user: CallerId<'a>,
    /// The application that acts for the user.
    pub(crate) client: Option<CallerId<'a>>,
}

/// One of many callers. Different kinds never share a counter, whatever their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CallerId<'a> {
    /// Issuer and subject of a token.
    #[cfg_attr(not(feature = "auth"), allow(dead_code, reason = "as with tokens"))]
    User(&'a str, &'a str),
    /// Issuer and client of a token.
    #[cfg_attr(not(feature = "auth"), allow(dead_code, reason = "as with tokens"))]
    Client(&'a str, &'a str),
    Principal(&'a str),
    /// The network of an anonymous caller.
    Peer(IpAddr),
    /// On stdio there is one client; a nested service may not know its peers.
    Unknown,
}

impl CallerId<'_> {
    /// Whether anybody can be as many of these as they like.
    pub(super) fn is_anonymous(self) -> bool {
        matches!(self, CallerId::Peer(_) | CallerId::Unknown)
    }
}
