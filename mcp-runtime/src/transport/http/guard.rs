//! Who may reach the server over HTTP: hosts and origins, against pages that rebind a name to this
//! machine.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#security-warning>

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderName, Uri};

/// The hosts and origins that are let in, by host name; none means those of this machine.
#[derive(Debug, Default, Clone)]
pub(super) struct Guard {
    pub(super) hosts: Vec<String>,
    pub(super) origins: Vec<String>,
}

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

impl Guard {
    /// Why a request is not let in, if it is not: a sentence that says which option would.
    pub(super) fn refusal(&self, headers: &HeaderMap, uri: &Uri) -> Option<String> {
        let host = match one(headers, &HOST) {
            Ok(Some(host)) => host,
            // HTTP/2 says it in the URI.
            Ok(None) => uri.authority().map_or("", |authority| authority.as_str()),
            Err(()) => return Some("a request has one `Host` header".to_owned()),
        };
        // A target with a host in it has the last word; it must not be smuggled past this.
        let target = uri.authority().map_or(host, |authority| authority.as_str());
        if !allowed(&self.hosts, name_of(host)) || !allowed(&self.hosts, name_of(target)) {
            return Some(format!(
                "host `{host}` is not one this server answers to; `HttpService::allow_hosts` adds it"
            ));
        }
        if !headers.contains_key(&ORIGIN) {
            return None;
        }
        let Ok(origin) = one(headers, &ORIGIN) else { return Some("a request has one `Origin` header".to_owned()) };
        let origin = origin?;
        let known = match origin.split_once("://") {
            Some((_, host)) => {
                let exact = self.origins.iter().any(|known| known.eq_ignore_ascii_case(origin));
                exact || (self.origins.is_empty() && allowed(&self.hosts, name_of(host)))
            }
            // `null`: a page that will not say where it is from.
            None => self.origins.iter().any(|known| known == origin),
        };
        (!known).then(|| format!("origin `{origin}` is not allowed; `HttpService::allow_origins` adds it"))
    }
}

fn allowed(hosts: &[String], name: &str) -> bool {
    if hosts.is_empty() {
        return LOOPBACK.iter().any(|known| known.eq_ignore_ascii_case(name));
    }
    hosts.iter().any(|known| known == "*" || known.eq_ignore_ascii_case(name))
}

/// A host without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        (Some(_), Some(_)) => Err(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(guard: &Guard, host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        guard.refusal(&headers, &Uri::from_static("/mcp")).is_some()
    }

    #[test]
    fn only_this_machine_by_default() {
        let guard = Guard::default();
        for (host, origin) in [
            ("localhost:8080", None),
            ("127.0.0.1:8080", Some("http://127.0.0.1:8080")),
            ("[::1]:8080", Some("http://[::1]:8080")),
            ("[::1]", None),
            ("LOCALHOST", Some("http://localhost:3000")),
        ] {
            assert!(!refused(&guard, host, origin), "{host} {origin:?}");
        }
        for (host, origin) in [
            ("evil.example.com", None),
            ("localhost.evil.example.com", None),
            ("localhost:8080", Some("http://evil.example.com")),
            ("localhost:8080", Some("null")),
            ("localhost:8080", Some("http://localhost.evil.example")),
            ("", None),
        ] {
            assert!(refused(&guard, host, origin), "{host} {origin:?}");
        }
    }

    #[test]
    fn what_is_allowed_is_allowed() {
        let guard = Guard { hosts: vec!["api.example.com".into()], origins: vec!["https://app.example.com".into()] };
        assert!(!refused(&guard, "api.example.com:443", Some("https://app.example.com")));
        assert!(refused(&guard, "localhost", None), "a list replaces the default");
        assert!(refused(&guard, "api.example.com", Some("https://api.example.com")));
        let anywhere = Guard { hosts: vec!["*".into()], origins: Vec::new() };
        assert!(!refused(&anywhere, "whatever", None));
    }
}
