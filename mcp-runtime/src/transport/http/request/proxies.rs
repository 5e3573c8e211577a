//! Trusted proxies: those whose word on the client of a request is taken.

use std::net::IpAddr;

use http::HeaderMap;

use super::forwarded::{Dialect, Forwarded};
use crate::server::peer::Peer;

/// Connections without an address, as those of a Unix socket.
const UNIX: &str = "unix";

/// The proxies whose headers are believed.
#[derive(Debug, Default)]
pub(crate) struct Proxies {
    networks: Vec<Network>,
    /// Whether who has no address is one.
    unix: bool,
    dialect: Dialect,
}

/// Addresses with the same leading bits.
#[derive(Debug, PartialEq, Eq)]
struct Network {
    address: u128,
    is_v4: bool,
    bits: u32,
}

impl Proxies {
    /// Reads addresses (`10.0.0.1`) and networks (`10.0.0.0/8`); the first that is neither is an error.
    pub(crate) fn parse(names: impl IntoIterator<Item: Into<String>>) -> Result<Self, String> {
        let mut proxies = Proxies::default();
        for name in names.into_iter().map(Into::into) {
            match &*name {
                UNIX => proxies.unix = true,
                name => proxies.networks.push(Network::parse(name)?),
            }
        }
        Ok(proxies)
    }

    /// The same proxies, which write `Forwarded`.
    pub(crate) fn standard(self) -> Self {
        Proxies { dialect: Dialect::Standard, ..self }
    }

    /// Whether these proxies write other headers than those.
    pub(crate) fn contradicts(&self, others: &Proxies) -> bool {
        !self.is_empty() && !others.is_empty() && self.dialect != others.dialect
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.networks.is_empty() && !self.unix
    }

    /// The peer of a request that comes from this address, and what a proxy says of the request if it has forwarded it.
    pub(crate) fn read(&self, from: Option<Peer>, headers: &HeaderMap) -> (Option<Peer>, Option<Forwarded>) {
        if !from.map_or(self.unix, |from| self.trusts(from)) {
            return (from, None);
        }
        let (peer, forwarded) = self.dialect.read(headers, |peer| self.trusts(peer));
        (peer.or(from), Some(forwarded))
    }

    fn trusts(&self, peer: Peer) -> bool {
        self.networks.iter().any(|network| network.contains(peer))
    }
}

impl Network {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("a trusted proxy is an address, a network or `unix`, like `10.0.0.1` or `10.0.0.0/8`: {text:?}");
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let (address, is_v4) = number(Peer::new(address.parse().map_err(|_| wrong())?));
        let most = if is_v4 { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), |bits| bits.parse().ok().filter(|bits| *bits <= most).ok_or_else(wrong))?;
        Ok(Network { address, is_v4, bits })
    }

    fn contains(&self, peer: Peer) -> bool {
        let (address, is_v4) = number(peer);
        let others = (if is_v4 { 32 } else { 128 }) - self.bits.min(if is_v4 { 32 } else { 128 });
        let prefix = |address: u128| address.checked_shr(others).unwrap_or(0);
        is_v4 == self.is_v4 && prefix(address) == prefix(self.address)
    }
}

/// The address as a number, and whether it is of IPv4.
fn number(peer: Peer) -> (u128, bool) {
    match peer.ip() {
        IpAddr::V4(address) => (address.to_bits().into(), true),
        IpAddr::V6(address) => (address.to_bits(), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(trusted: &[&str], from: &str, forwarded: &[&'static str]) -> String {
        let proxies = Proxies::parse(trusted.iter().copied()).unwrap();
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append("x-forwarded-for", http::HeaderValue::from_static(line));
        }
        let from = (from != UNIX).then(|| Peer::new(from.parse().unwrap()));
        proxies.read(from, &headers).0.map_or_else(|| UNIX.to_owned(), |peer| peer.ip().to_string())
    }

    #[test]
    fn peer_is_the_last_address_that_is_no_trusted_proxy() {
        assert_eq!(peer(&[], "10.0.0.1", &["192.0.2.7"]), "10.0.0.1", "nobody is trusted by default");
        assert_eq!(peer(&["10.0.0.0/8"], "192.0.2.9", &["192.0.2.7"]), "192.0.2.9", "not from a proxy");
        assert_eq!(peer(&["10.0.0.0/8"], "10.1.2.3", &["192.0.2.7"]), "192.0.2.7");
        assert_eq!(peer(&["10.0.0.0/8"], "10.1.2.3", &["1.1.1.1, 192.0.2.7, 10.9.9.9"]), "192.0.2.7");
        assert_eq!(peer(&["10.0.0.0/8"], "10.1.2.3", &["1.1.1.1", "192.0.2.7", "10.9.9.9"]), "192.0.2.7");
        assert_eq!(peer(&["10.1.2.3"], "10.1.2.3", &["192.0.2.7:4711"]), "192.0.2.7");
        assert_eq!(peer(&["::1", "fd00::/8"], "::1", &["2001:db8::5, fd00::1"]), "2001:db8::5");
        assert_eq!(peer(&["127.0.0.1"], "::ffff:127.0.0.1", &["[2001:db8::5]"]), "2001:db8::5");
        assert_eq!(peer(&["10.0.0.0/8"], "10.1.2.3", &[]), "10.1.2.3");
        assert_eq!(
            peer(&["10.0.0.0/8"], "10.1.2.3", &["192.0.2.7, unknown"]),
            "10.1.2.3",
            "not believed past nonsense"
        );
        assert_eq!(peer(&["10.0.0.0/8"], UNIX, &["192.0.2.7"]), UNIX, "a socket has to be named, too");
        assert_eq!(peer(&[UNIX], UNIX, &["192.0.2.7"]), "192.0.2.7");
        assert_eq!(peer(&[UNIX], "10.1.2.3", &["192.0.2.7"]), "10.1.2.3");
        assert_eq!(peer(&["0.0.0.0/0"], "10.1.2.3", &["192.0.2.7, 192.0.2.8"]), "192.0.2.7", "all are proxies");
    }

    #[test]
    fn proxies_are_addresses_or_networks() {
        for wrong in ["proxy.example.com", "10.0.0.0/33", "::/129", "10.0.0.0/", ""] {
            assert!(Proxies::parse([wrong]).unwrap_err().contains(&format!("{wrong:?}")));
        }
    }
}
