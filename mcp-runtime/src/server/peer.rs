//! [`Peer`]: the address a call comes from, and which addresses count as one peer.

use std::net::{IpAddr, Ipv6Addr};

/// The address an HTTP request comes from: the other end of its connection, or what a
/// [trusted proxy](crate::http::HttpService::trust_proxies) says it is.
///
/// The server's own listener knows it. For a nested service, middleware puts it into the extensions of the request:
///
/// ```
/// use std::net::SocketAddr;
/// use mcp_runtime::http::Peer;
///
/// fn add_peer<B>(request: &mut http::Request<B>, address: SocketAddr) {
///     request.extensions_mut().insert(Peer::new(address.ip()));
/// }
/// ```
///
/// The [`principal`](crate::http::HttpService::principal) hook finds it there, too; handlers have
/// [`Context::peer`](crate::Context::peer).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Peer(IpAddr);

impl Peer {
    /// A peer with this address. An IPv4 address in the form of IPv6 is the IPv4 address.
    pub fn new(address: IpAddr) -> Self {
        Peer(address.to_canonical())
    }

    /// The IP address of the peer.
    pub fn ip(self) -> IpAddr {
        self.0
    }

    /// What quotas count as one peer: an IPv4 address, or the 64 bits of an IPv6 address that a site is given. Its
    /// owner has all the addresses below.
    pub(crate) fn network(self) -> IpAddr {
        match self.0 {
            IpAddr::V4(_) => self.0,
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(address: &str) -> String {
        Peer::new(address.parse().unwrap()).network().to_string()
    }

    #[test]
    fn addresses_of_one_site_are_one_peer() {
        assert_eq!(network("192.0.2.7"), "192.0.2.7");
        assert_eq!(network("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(network("2001:db8:1:2:ffff::1"), network("2001:db8:1:2::1"));
    }
}
