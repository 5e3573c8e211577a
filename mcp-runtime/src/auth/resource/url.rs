//! [`ResourceUrl`]: the address people type into their client, and what can be wrong with it.

use std::fmt;

/// The address of a server, as its users know it. Clients compare it byte for byte, so it is kept as it was given.
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#canonical-server-uri>
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResourceUrl {
    text: String,
    /// Where the scheme and the authority end.
    origin: usize,
}

/// The path of the document that describes a protected resource.
pub(crate) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

impl ResourceUrl {
    /// Reads an address, or says what to change.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| Err(format!("the resource `{text}` {why}"));
        if text.is_empty() {
            return Err("the resource is empty; give the URL people type into their client".to_owned());
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) || text.contains(['"', '\\', '<', '>']) {
            return wrong("cannot be typed as a URL: it has spaces, quotes or characters that are not ASCII");
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return wrong(&format!("has no scheme; write `https://{}`", text.trim_start_matches('/')));
        };
        if text.contains('#') {
            return wrong("has a fragment (`#`), which clients never send; leave it out");
        }
        if text.contains('?') {
            return wrong("has a query (`?`), which clients leave out; name the endpoint by its path");
        }
        let end = rest.find('/').unwrap_or(rest.len());
        let authority = &rest[..end];
        if authority.contains('@') {
            return wrong("has a user in it; leave that out");
        }
        let host = host_of(authority);
        if host.is_empty() {
            return wrong("has no host");
        }
        let is_https = scheme.eq_ignore_ascii_case("https");
        if !is_https && !scheme.eq_ignore_ascii_case("http") {
            return wrong("is not an HTTP address; it begins with `https://`");
        }
        if !is_https && !is_loopback(host) {
            return wrong(&format!(
                "is not https, so tokens could be read on their way; write `https://{rest}`, the address of the proxy \
                 that ends TLS (`http://` is for localhost)"
            ));
        }
        if matches!(host, "0.0.0.0" | "[::]") {
            return wrong("is an address to listen on, not one to connect to; write the name clients use");
        }
        Ok(ResourceUrl { text: text.to_owned(), origin: scheme.len() + "://".len() + end })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Scheme, host and port.
    pub(crate) fn origin(&self) -> &str {
        &self.text[..self.origin]
    }

    /// The path; empty if there is none.
    pub(crate) fn path(&self) -> &str {
        &self.text[self.origin..]
    }

    /// The host, without its port.
    pub(crate) fn host(&self) -> &str {
        let origin = self.origin();
        host_of(origin.split_once("://").map_or(origin, |(_, authority)| authority))
    }

    /// The path of the document that describes this resource: the well-known part stands between host and path.
    /// <https://www.rfc-editor.org/rfc/rfc9728#section-3.1>
    pub(crate) fn metadata_path(&self) -> String {
        format!("{WELL_KNOWN}{}", self.path().trim_end_matches('/'))
    }

    /// The address of the document that describes this resource.
    pub(crate) fn metadata_url(&self) -> String {
        format!("{}{}", self.origin(), self.metadata_path())
    }

    /// What may go wrong with an address that is valid.
    pub(crate) fn warning(&self) -> Option<&'static str> {
        self.path().ends_with('/').then_some(
            "the resource ends with `/`: clients compare it byte for byte with what was typed, mostly without one",
        )
    }
}

impl fmt::Display for ResourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host == "[::1]"
        || host.parse::<std::net::Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_stands_between_host_and_path() {
        let table = [
            ("https://h/mcp", "https://h/.well-known/oauth-protected-resource/mcp"),
            ("https://h/public/mcp", "https://h/.well-known/oauth-protected-resource/public/mcp"),
            ("https://h/mcp/", "https://h/.well-known/oauth-protected-resource/mcp"),
            ("https://h:8443/", "https://h:8443/.well-known/oauth-protected-resource"),
            ("https://h", "https://h/.well-known/oauth-protected-resource"),
            ("http://[::1]:80/mcp", "http://[::1]:80/.well-known/oauth-protected-resource/mcp"),
        ];
        for (resource, document) in table {
            assert_eq!(ResourceUrl::parse(resource).unwrap().metadata_url(), document);
        }
    }

    #[test]
    fn mistakes_say_what_to_change() {
        let table = [
            ("", "URL people type"),
            ("mcp.example.com/mcp", "write `https://mcp.example.com/mcp`"),
            ("/mcp", "no scheme"),
            ("https://h/mcp#tools", "fragment"),
            ("https://h/mcp?a=1", "query"),
            ("https://me@h/mcp", "user"),
            ("https:///mcp", "no host"),
            ("ftp://h/mcp", "not an HTTP address"),
            ("http://mcp.example.com/mcp", "write `https://mcp.example.com/mcp`"),
            ("https://0.0.0.0:8080/mcp", "address to listen on"),
            ("https://h/a b", "cannot be typed"),
            ("https://h/ä", "cannot be typed"),
        ];
        for (resource, hint) in table {
            let mistake = ResourceUrl::parse(resource).unwrap_err();
            assert!(mistake.contains(hint), "{resource}: {mistake}");
        }
        for good in ["http://localhost:8080/mcp", "http://127.0.0.1/mcp", "http://[::1]:9/mcp", "HTTPS://h/mcp"] {
            assert!(ResourceUrl::parse(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn parts_of_an_address() {
        let url = ResourceUrl::parse("https://mcp.example.com:8443/a/mcp").unwrap();
        assert_eq!((url.host(), url.path(), url.warning()), ("mcp.example.com", "/a/mcp", None));
        assert!(ResourceUrl::parse("https://h/mcp/").unwrap().warning().is_some());
        assert_eq!(ResourceUrl::parse("http://[::1]:9").unwrap().host(), "[::1]");
    }
}
