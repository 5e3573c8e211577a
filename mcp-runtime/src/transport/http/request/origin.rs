//! Host and origin checks: the defence against web pages that reach a local server by DNS rebinding.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#security-warning>

use http::uri::Authority;
use http::{HeaderValue, Uri};

use super::headers::{Field, Headers};

/// The allowed hosts and origins; `*` allows any. An empty list of hosts allows loopback. An empty list of origins
/// allows pages served from the hosts that are named: `*` among the hosts names none, since a server that any host
/// name may reach, like one behind a proxy, has not said that any web page may.
#[derive(Debug, Default, Clone)]
pub(crate) struct OriginPolicy {
    pub(crate) hosts: Vec<String>,
    pub(crate) origins: Vec<String>,
    /// The host in the address of the server, where it is known: allowed beside loopback.
    pub(crate) own_host: Option<String>,
}

/// Every host, or every origin.
const ANY: &str = "*";
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

impl OriginPolicy {
    /// Why a request is rejected, if it is: a sentence that names the option which would allow it. `forwarded` is the host
    /// that a trusted proxy names.
    pub(crate) fn refusal(&self, headers: &Headers<'_>, uri: &Uri, forwarded: Option<&str>) -> Option<String> {
        let host = match (forwarded, one(headers.host)) {
            // The others are the proxy's own.
            (Some(host), _) | (None, Ok(Some(host))) => host,
            // HTTP/2 has it in the URI.
            (None, Ok(None)) => uri.authority().map_or("", |authority| authority.as_str()),
            (None, Err(())) => return Some("send exactly one `Host` header, in ASCII".to_owned()),
        };
        // A request target with a host in it overrides the header, so both are checked.
        let target = uri.authority().map(Authority::as_str).filter(|_| forwarded.is_none());
        let known = |host: &str| allowed(&self.hosts, name_of(host)) || self.is_own(name_of(host));
        if !known(host) || !target.is_none_or(known) {
            return Some(format!(
                "host `{host}` is not allowed; name it in `HttpService::allow_hosts`, whose list replaces the default \
                 one"
            ));
        }
        let Ok(origin) = one(headers.origin) else {
            return Some("send at most one `Origin` header, in ASCII".to_owned());
        };
        let origin = origin?;
        (!self.allows_origin(origin)).then(|| {
            format!(
                "origin `{origin}` is not allowed; name it in `HttpService::allow_origins`, whose list replaces the \
                 default one"
            )
        })
    }

    /// The origin of a request, if it has one that is allowed.
    pub(crate) fn allowed_origin<'a>(&self, headers: &Headers<'a>) -> Option<&'a HeaderValue> {
        let Field::Once(value) = headers.origin else { return None };
        value.to_str().is_ok_and(|origin| self.allows_origin(origin)).then_some(value)
    }

    /// Whether this is the host of the server's address, and nothing else was set.
    fn is_own(&self, name: &str) -> bool {
        self.hosts.is_empty() && self.own_host.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(name))
    }

    fn allows_origin(&self, origin: &str) -> bool {
        let listed = |origin: &str| {
            self.origins.iter().any(|known| known == ANY || known.eq_ignore_ascii_case(without_default_port(origin)))
        };
        match origin.split_once("://") {
            Some((_, host)) if self.origins.is_empty() => {
                let mut named = self.hosts.iter().filter(|host| *host != ANY).peekable();
                let name = name_of(host);
                match named.peek() {
                    None => is_loopback(name) || self.is_own(name),
                    Some(_) => named.any(|known| known.eq_ignore_ascii_case(name)),
                }
            }
            // Also `null`: an opaque origin, like that of a sandboxed page.
            _ => listed(origin),
        }
    }
}

fn allowed(hosts: &[String], name: &str) -> bool {
    if hosts.is_empty() {
        return is_loopback(name);
    }
    hosts.iter().any(|known| known == ANY || known.eq_ignore_ascii_case(name))
}

fn is_loopback(name: &str) -> bool {
    LOOPBACK.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// An origin without its scheme's own port, as browsers send it.
fn without_default_port(origin: &str) -> &str {
    let Some((scheme, _)) = origin.split_once("://") else { return origin };
    default_port(scheme).and_then(|port| origin.strip_suffix(port)).unwrap_or(origin)
}

/// The port of a scheme that an origin leaves out, with its colon.
fn default_port(scheme: &str) -> Option<&'static str> {
    let ports = [("http", ":80"), ("https", ":443")];
    ports.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(scheme)).map(|(_, port)| port)
}

/// Rejects a host that can never match a request.
pub(crate) fn check_host(host: &str) -> Result<(), String> {
    let wrong = |why: &str| Err(format!("host `{host}` can never match: {why}"));
    if host == ANY {
        return Ok(());
    }
    if host.contains("://") {
        return wrong("it has a scheme; a host is a name alone, like `mcp.example.com`");
    }
    if host.contains(['/', '?', '#']) {
        return wrong("it has a path; a host is a name alone, like `mcp.example.com`");
    }
    check_name(host).or_else(|why| wrong(&why))?;
    match host.rsplit_once(':') {
        Some((name, _)) if !host.ends_with(']') => wrong(&format!("hosts are compared without ports; write `{name}`")),
        _ => Ok(()),
    }
}

/// Rejects an origin that can never match a page.
pub(crate) fn check_origin(origin: &str) -> Result<(), String> {
    let wrong = |why: &str| Err(format!("origin `{origin}` can never match: {why}"));
    // `null` is an opaque origin, like that of a sandboxed page.
    if origin == ANY || origin == "null" {
        return Ok(());
    }
    let Some((scheme, host)) = origin.split_once("://") else {
        return wrong("an origin is a scheme and a host, like `https://app.example.com`");
    };
    if host.contains(['/', '?', '#']) {
        return wrong("an origin has no path, nor a `/` at its end, like `https://app.example.com`");
    }
    match default_port(scheme) {
        // Like `file://`: only HTTP requires a host.
        None if host.is_empty() => return Ok(()),
        Some(port) if host.ends_with(port) => return wrong("browsers leave out the scheme's own port"),
        _ => {}
    }
    check_name(host).or_else(|why| wrong(&why))
}

/// Rejects a name that no `Host` or `Origin` header can have. It may have a port.
fn check_name(name: &str) -> Result<(), String> {
    let why = if name.is_empty() {
        "it is empty"
    } else if name.contains('*') {
        "names are compared as a whole; name each"
    } else if name.contains('@') {
        "it has a user; leave that out"
    } else if !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        "names are sent in ASCII, without spaces: a name in other letters begins with `xn--`"
    } else if !name.starts_with('[') && name.matches(':').count() > 1 {
        "an IPv6 address stands in brackets, like `[::1]`"
    } else {
        return Ok(());
    };
    Err(why.to_owned())
}

/// A host without its port.
fn name_of(host: &str) -> &str {
    let port = host.bytes().rev().take_while(u8::is_ascii_digit).count();
    match host[..host.len() - port].strip_suffix(':') {
        Some(name) if !name.ends_with(':') => name,
        _ => host,
    }
}

fn one(field: Field<'_>) -> Result<Option<&str>, ()> {
    match field {
        Field::Absent => Ok(None),
        Field::Once(value) => value.to_str().map(Some).map_err(|_| ()),
        Field::Twice => Err(()),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use http::header::{HOST, ORIGIN};

    use super::*;

    fn refused(policy: &OriginPolicy, host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        policy.refusal(&Headers::of(&headers), &Uri::from_static("/mcp"), None).is_some()
    }

    #[test]
    fn only_loopback_is_allowed_by_default() {
        let policy = OriginPolicy::default();
        for (host, origin) in [
            ("localhost:8080", None),
            ("127.0.0.1:8080", Some("http://127.0.0.1:8080")),
            ("[::1]:8080", Some("http://[::1]:8080")),
            ("[::1]", None),
            ("LOCALHOST", Some("http://localhost:3000")),
        ] {
            assert!(!refused(&policy, host, origin), "{host} {origin:?}");
        }
        for (host, origin) in [
            ("evil.example.com", None),
            ("localhost.evil.example.com", None),
            ("localhost:8080", Some("http://evil.example.com")),
            ("localhost:8080", Some("null")),
            ("localhost:8080", Some("http://localhost.evil.example")),
            ("", None),
        ] {
            assert!(refused(&policy, host, origin), "{host} {origin:?}");
        }
    }

    #[test]
    fn listed_hosts_and_origins_are_allowed() {
        let policy = OriginPolicy {
            hosts: vec!["api.example.com".into()],
            origins: vec!["https://app.example.com".into()],
            own_host: None,
        };
        assert!(!refused(&policy, "api.example.com:443", Some("https://app.example.com")));
        assert!(refused(&policy, "localhost", None), "a list replaces the default");
        assert!(refused(&policy, "api.example.com", Some("https://api.example.com")));
        let anywhere = OriginPolicy { hosts: vec!["*".into()], origins: Vec::new(), own_host: None };
        assert!(!refused(&anywhere, "whatever", None));
    }

    #[test]
    fn any_host_is_not_any_origin() {
        let policy = |hosts: &[&str], origins: &[&str]| OriginPolicy {
            hosts: hosts.iter().map(ToString::to_string).collect(),
            origins: origins.iter().map(ToString::to_string).collect(),
            own_host: None,
        };
        let pages = ["https://evil.example", "http://mcp.example.com", "null"];
        for page in pages {
            assert!(refused(&policy(&["*"], &[]), "mcp.example.com", Some(page)), "{page}");
            assert!(!refused(&policy(&["*"], &["*"]), "mcp.example.com", Some(page)), "{page}");
        }
        assert!(!refused(&policy(&["*"], &[]), "mcp.example.com", Some("http://localhost:6274")));
        let named = policy(&["*", "mcp.example.com"], &[]);
        assert!(!refused(&named, "mcp.example.com", Some("https://mcp.example.com")));
        assert!(refused(&named, "evil.example", Some("https://evil.example")));
        assert!(refused(&policy(&[], &["*"]), "evil.example", Some("https://evil.example")), "origins are not hosts");
    }

    #[test]
    fn default_port_of_an_origin_is_ignored() {
        let policy = OriginPolicy {
            hosts: vec!["*".into()],
            origins: vec!["https://app.example.com".into(), "http://app.example.com:8080".into()],
            own_host: None,
        };
        assert!(!refused(&policy, "a", Some("https://app.example.com:443")));
        assert!(!refused(&policy, "a", Some("http://app.example.com:8080")));
        for origin in ["https://app.example.com:80", "https://app.example.com:8443", "http://app.example.com"] {
            assert!(refused(&policy, "a", Some(origin)), "{origin}");
        }
    }

    #[test]
    fn entries_that_never_match_are_rejected() {
        let hosts = [
            ("", "it is empty"),
            ("https://mcp.example.com", "a scheme"),
            ("mcp.example.com/mcp", "a path"),
            ("mcp.example.com/", "a path"),
            ("mcp.example.com:8095", "without ports; write `mcp.example.com`"),
            ("[::1]:8095", "without ports; write `[::1]`"),
            ("mcp.example.com:", "without ports; write `mcp.example.com`"),
            ("mcp.example.com:http", "without ports; write `mcp.example.com`"),
            ("::1", "in brackets"),
            ("*.example.com", "as a whole"),
            ("ann@example.com", "a user"),
            ("bücher.example", "in ASCII"),
            (" mcp.example.com", "without spaces"),
        ];
        for (host, why) in hosts {
            let error = check_host(host).unwrap_err();
            assert!(error.starts_with(&format!("host `{host}` can never match: ")) && error.contains(why), "{error}");
        }
        let origins = [
            ("", "a scheme and a host"),
            ("app.example.com", "a scheme and a host"),
            ("https://app.example.com/", "no path"),
            ("https://app.example.com/page", "no path"),
            ("https://", "it is empty"),
            ("https://app.example.com:443", "leave out"),
            ("HTTP://app.example.com:80", "leave out"),
            ("https://*.example.com", "as a whole"),
            ("https://bücher.example", "in ASCII"),
            ("http://::1", "in brackets"),
        ];
        for (origin, why) in origins {
            let error = check_origin(origin).unwrap_err();
            assert!(
                error.starts_with(&format!("origin `{origin}` can never match: ")) && error.contains(why),
                "{error}"
            );
        }
    }

    #[test]
    fn accepted_entries_match() {
        for host in ["*", "localhost", "mcp.example.com", "MCP.example.com", "127.0.0.1", "[::1]", "my_host"] {
            check_host(host).unwrap();
            let sent = if host == "*" { "anything" } else { host };
            let policy = OriginPolicy { hosts: vec![host.to_owned()], origins: Vec::new(), own_host: None };
            assert!(!refused(&policy, sent, None) && !refused(&policy, &format!("{sent}:8095"), None), "{host}");
        }
        let origins = [
            "https://app.example.com",
            "http://localhost:3000",
            "http://[::1]:8080",
            "https://a:80",
            "null",
            "file://",
        ];
        for origin in origins {
            check_origin(origin).unwrap();
            let policy = OriginPolicy { hosts: Vec::new(), origins: vec![origin.to_owned()], own_host: None };
            assert!(!refused(&policy, "localhost", Some(origin)), "{origin}");
        }
    }
}
