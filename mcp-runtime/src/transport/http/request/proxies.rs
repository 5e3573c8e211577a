//! Trusted proxies: behind them, `X-Forwarded-For` names the peer.
//!
//! Every proxy appends the address it was contacted from. So the list is read from its end, and the first address that
//! is not a trusted proxy is the peer. What stands before it was written by the peer itself, or by whoever it says.
//! <https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Headers/X-Forwarded-For#selecting_an_ip_address>

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;

use crate::server::peer::Peer;

/// The proxies whose `X-Forwarded-For` is believed.
#[derive(Debug, Default)]
pub(crate) struct Proxies(Vec<Network>);

/// Addresses with the same leading bits.
#[derive(Debug, PartialEq, Eq)]
struct Network {
    address: u128,
    is_v4: bool,
    bits: u32,
}

impl Proxies {
    /// Reads addresses (`10.0.0.1`) and networks (`10.0.0.0/8`); the first that is neither is an error.
    pub(crate) fn parse(networks: impl IntoIterator<Item: Into<String>>) -> Result<Self, String> {
        networks.into_iter().map(|network| Network::parse(&network.into())).collect::<Result<_, _>>().map(Proxies)
    }

    /// The peer of a request that comes from this address.
    #[inline]
    pub(crate) fn peer(&self, from: Peer, headers: &HeaderMap) -> Peer {
        if self.0.is_empty() || !self.trusts(from) { from } else { self.forwarded(from, headers) }
    }

    /// The peer of a request that this proxy has forwarded.
    fn forwarded(&self, from: Peer, headers: &HeaderMap) -> Peer {
        let lines = headers.get_all("x-forwarded-for").iter().rev();
        // A line that is no text ends the part that can be believed.
        let entries = lines.map_while(|line| line.to_str().ok()).flat_map(|line| line.rsplit(','));
        let mut nearest = from;
        for entry in entries {
            let Some(peer) = address(entry.trim()) else { break };
            nearest = peer;
            if !self.trusts(peer) {
                break;
            }
        }
        nearest
    }

    fn trusts(&self, peer: Peer) -> bool {
        self.0.iter().any(|network| network.contains(peer))
    }
}

/// An entry of the list: an address, which some proxies write with a port.
fn address(text: &str) -> Option<Peer> {
    let ip = text.parse::<IpAddr>().or_else(|_| text.parse::<SocketAddr>().map(|address| address.ip()));
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    ip.ok().or_else(bracketed).map(Peer::new)
}

impl Network {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("a trusted proxy is an address or a network, like `10.0.0.1` or `10.0.0.0/8`: {text:?}");
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
        proxies.peer(Peer::new(from.parse().unwrap()), &headers).ip().to_string()
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
        assert_eq!(peer(&["0.0.0.0/0"], "10.1.2.3", &["192.0.2.7, 192.0.2.8"]), "192.0.2.7", "all are proxies");
    }

    #[test]
    fn proxies_are_addresses_or_networks() {
        for wrong in ["proxy.example.com", "10.0.0.0/33", "::/129", "10.0.0.0/", ""] {
            assert!(Proxies::parse([wrong]).unwrap_err().contains(&format!("{wrong:?}")));
        }
    }
}
