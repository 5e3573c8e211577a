//! [`Forwarded`]: what proxies say of the requests they have received, in their two dialects. Who may say it is for
//! `proxies` to decide.
//!
//! Every proxy appends to a list what it knows of its own client. So lists are read from their end, as far as they were
//! written by proxies that are trusted: what stands before was written by a stranger. For the same reason a quote that is
//! never closed cannot hide what follows it.
//! <https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Headers/X-Forwarded-For#selecting_an_ip_address>,
//! <https://www.rfc-editor.org/rfc/rfc7239>

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;

use crate::server::peer::Peer;

/// The longest host: a name of the DNS with a port.
const LONGEST_HOST: usize = 261;

/// How a client has addressed the outermost [trusted proxy](super::super::HttpService::trust_proxies): an extension of the
/// request, for handlers that tell clients an address of the server.
///
/// ```
/// use mcp_runtime::http::Forwarded;
/// use mcp_runtime::prelude::*;
///
/// /// Where to log in.
/// #[tool]
/// fn login_page(ctx: &Context) -> Option<String> {
///     let forwarded = ctx.http()?.extensions.get::<Forwarded>()?;
///     Some(format!("{}://{}/login", forwarded.proto().unwrap_or("https"), forwarded.host()?))
/// }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forwarded {
    host: Option<Box<str>>,
    proto: Option<Proto>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proto {
    Http,
    Https,
}

impl Forwarded {
    fn new(host: Option<&str>, proto: Option<&str>) -> Self {
        let known = [("http", Proto::Http), ("https", Proto::Https)];
        let proto = proto.and_then(|proto| known.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(proto)));
        Forwarded { host: host.filter(|host| is_host(host)).map(Into::into), proto: proto.map(|(_, proto)| proto) }
    }

    /// The host, with its port if it was given. It is one that the
    /// [allowed hosts](super::super::HttpService::allow_hosts) name. `None` if no proxy says so.
    pub fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    /// The scheme: `http` or `https`. `None` if no proxy says so.
    pub fn proto(&self) -> Option<&'static str> {
        self.proto.map(|proto| match proto {
            Proto::Http => "http",
            Proto::Https => "https",
        })
    }
}

/// Whether a text can be a host, with or without a port.
fn is_host(text: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    (1..=LONGEST_HOST).contains(&text.len()) && text.bytes().all(is_fine)
}

/// The headers a proxy writes. It passes on what it does not write, so only these are believed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Dialect {
    /// `X-Forwarded-For`, `-Host`, `-Proto`.
    #[default]
    Common,
    /// `Forwarded`, of RFC 7239.
    Standard,
}

impl Dialect {
    /// The client, and how it has addressed the outermost of the proxies that are trusted.
    pub(super) fn read(self, headers: &HeaderMap, trusts: impl Fn(Peer) -> bool) -> (Option<Peer>, Forwarded) {
        match self {
            Dialect::Common => common(headers, trusts),
            Dialect::Standard => standard(headers, trusts),
        }
    }
}

fn common(headers: &HeaderMap, trusts: impl Fn(Peer) -> bool) -> (Option<Peer>, Forwarded) {
    let (mut nearest, mut hops) = (None, 0);
    for entry in entries(headers, "x-forwarded-for", |line| line.rsplit(',')) {
        let Some(peer) = address(entry) else { break };
        nearest = Some(peer);
        hops += 1;
        if !trusts(peer) {
            break;
        }
    }
    // As many entries as hops, if all proxies append. Most replace them, and then there is one.
    let of_outermost = |name| entries(headers, name, |line| line.rsplit(',')).take(hops.max(1)).last();
    (nearest, Forwarded::new(of_outermost("x-forwarded-host"), of_outermost("x-forwarded-proto")))
}

fn standard(headers: &HeaderMap, trusts: impl Fn(Peer) -> bool) -> (Option<Peer>, Forwarded) {
    let (mut nearest, mut outermost) = (None, Forwarded::default());
    for entry in entries(headers, "forwarded", |line| rsplit(line, b',')) {
        let Some(hop) = Hop::parse(entry) else { break };
        outermost = Forwarded::new(hop.host, hop.proto);
        let Some(peer) = hop.from.and_then(address) else { break };
        nearest = Some(peer);
        if !trusts(peer) {
            break;
        }
    }
    (nearest, outermost)
}

/// The entries of a list in one or several lines, from its end. A line that is no text ends the part that can be believed.
fn entries<'a, I>(
    headers: &'a HeaderMap,
    name: &'static str,
    rsplit: impl Fn(&'a str) -> I,
) -> impl Iterator<Item = &'a str>
where
    I: Iterator<Item = &'a str>,
{
    let lines = headers.get_all(name).iter().rev();
    lines.map_while(|line| line.to_str().ok()).flat_map(rsplit).map(str::trim_ascii)
}

/// Splits a text at the separators that are not in quotes, from its end.
fn rsplit(text: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut quoted = false;
        let at = text.bytes().rposition(|byte| {
            quoted ^= byte == b'"';
            byte == separator && !quoted
        });
        let (before, entry) = at.map_or((None, text), |at| (Some(&text[..at]), &text[at + 1..]));
        rest = before;
        Some(entry)
    })
}

/// What one proxy says.
#[derive(Default)]
struct Hop<'a> {
    from: Option<&'a str>,
    host: Option<&'a str>,
    proto: Option<&'a str>,
}

impl<'a> Hop<'a> {
    /// `None` if it says something twice, or something that is no pair.
    fn parse(entry: &'a str) -> Option<Self> {
        let mut hop = Hop::default();
        for pair in rsplit(entry, b';').map(str::trim_ascii).filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=')?;
            let field = match name {
                _ if name.eq_ignore_ascii_case("for") => &mut hop.from,
                _ if name.eq_ignore_ascii_case("host") => &mut hop.host,
                _ if name.eq_ignore_ascii_case("proto") => &mut hop.proto,
                _ => continue,
            };
            let bare = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
            if field.replace(bare).is_some() {
                return None;
            }
        }
        Some(hop)
    }
}

/// An address, which some proxies write with a port.
fn address(text: &str) -> Option<Peer> {
    let ip = text.parse::<IpAddr>().or_else(|_| text.parse::<SocketAddr>().map(|address| address.ip()));
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    ip.ok().or_else(bracketed).map(Peer::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of these headers if addresses that begin with `10.` are proxies: peer, host, scheme.
    fn read(dialect: Dialect, lines: &[(&'static str, &str)]) -> (String, String, &'static str) {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, http::HeaderValue::from_str(value).unwrap());
        }
        let (peer, forwarded) = dialect.read(&headers, |peer| peer.ip().to_string().starts_with("10."));
        let peer = peer.map(|peer| peer.ip().to_string()).unwrap_or_default();
        (peer, forwarded.host().unwrap_or_default().to_owned(), forwarded.proto().unwrap_or_default())
    }

    fn common(lines: &[(&'static str, &str)]) -> (String, String, &'static str) {
        read(Dialect::Common, lines)
    }

    fn standard(lines: &[&str]) -> (String, String, &'static str) {
        read(Dialect::Standard, &lines.iter().map(|line| ("forwarded", *line)).collect::<Vec<_>>())
    }

    fn said(peer: &str, host: &str, proto: &'static str) -> (String, String, &'static str) {
        (peer.to_owned(), host.to_owned(), proto)
    }

    #[test]
    fn common_headers_are_read_from_their_end() {
        let (from, host, proto) = ("x-forwarded-for", "x-forwarded-host", "x-forwarded-proto");
        assert_eq!(common(&[]), said("", "", ""));
        let one = [(from, "192.0.2.7"), (host, "mcp.example.com:8443"), (proto, "https")];
        assert_eq!(common(&one), said("192.0.2.7", "mcp.example.com:8443", "https"));
        let spoofed = [(from, "1.1.1.1, 192.0.2.7"), (host, "evil.example, mcp.example.com"), (proto, "http,HTTPS")];
        assert_eq!(common(&spoofed), said("192.0.2.7", "mcp.example.com", "https"));
        let two_append =
            [(from, "192.0.2.7, 10.0.0.2"), (host, "evil, mcp.example.com, inner"), (proto, "https, http")];
        assert_eq!(common(&two_append), said("192.0.2.7", "mcp.example.com", "https"));
        let two_replace = [(from, "192.0.2.7"), (from, "10.0.0.2"), (host, "mcp.example.com")];
        assert_eq!(common(&two_replace), said("192.0.2.7", "mcp.example.com", ""));
        assert_eq!(common(&[(host, "mcp.example.com")]), said("", "mcp.example.com", ""));
    }

    #[test]
    fn standard_header_is_read_from_its_end() {
        assert_eq!(standard(&[]), said("", "", ""));
        let one = "for=192.0.2.60;proto=https;by=203.0.113.43;host=mcp.example.com";
        assert_eq!(standard(&[one]), said("192.0.2.60", "mcp.example.com", "https"));
        let quoted = r#"For="[2001:db8:cafe::17]:4711"; Host="mcp.example.com:8443" ;Proto=HTTP"#;
        assert_eq!(standard(&[quoted]), said("2001:db8:cafe::17", "mcp.example.com:8443", "http"));
        let chain = "for=1.1.1.1;host=evil, for=192.0.2.7;host=mcp.example.com;proto=https, for=10.0.0.2;host=inner";
        assert_eq!(standard(&[chain]), said("192.0.2.7", "mcp.example.com", "https"));
        let lines = ["for=1.1.1.1;host=evil", "for=192.0.2.7;host=mcp.example.com", "for=10.0.0.2;host=inner"];
        assert_eq!(standard(&lines), said("192.0.2.7", "mcp.example.com", ""));
        assert_eq!(standard(&["for=192.0.2.7, for=unknown;proto=https"]), said("", "", "https"), "not past nonsense");
        assert_eq!(standard(&["for=192.0.2.7, for=_hidden"]), said("", "", ""));
    }

    #[test]
    fn hostile_values_are_harmless() {
        for hostile in [r#"for="1.1.1.1"#, r#"host="evil"#, r#"""#, r#"for="\"#, "=", ",,,", ";;;", "for"] {
            let line = format!("{hostile}, for=192.0.2.7;host=mcp.example.com");
            assert_eq!(standard(&[&line]), said("192.0.2.7", "mcp.example.com", ""), "{hostile}");
        }
        assert_eq!(standard(&["for=192.0.2.7;for=1.1.1.1"]), said("", "", ""), "said twice");
        for host in ["evil\"host", "a/b", "a b", "a@b", "<a>", "é", &"a".repeat(LONGEST_HOST + 1), ""] {
            assert_eq!(common(&[("x-forwarded-host", host)]).1, "", "{host}");
        }
        for proto in ["javascript", "", "https;", "ws"] {
            assert_eq!(common(&[("x-forwarded-proto", proto)]).2, "", "{proto}");
        }
    }
}
