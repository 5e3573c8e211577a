//! [`Audience`]: the names that tokens may call this resource by, and when two names are the same.

/// The names of this resource; a token has to be for one of them.
#[derive(Debug, Clone)]
pub(crate) struct Audience(Vec<Box<str>>);

impl Audience {
    pub(crate) fn new(names: impl IntoIterator<Item = impl Into<Box<str>>>) -> Self {
        Audience(names.into_iter().map(Into::into).collect())
    }

    /// Whether one of the names is meant.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|own| is_same(own, name))
    }
}

/// Whether two audiences are the same: equal, or URLs that differ in one trailing slash or in the case of scheme and
/// host. Clients and authorization servers rewrite a `resource` that much, and no more.
fn is_same(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let (Some((scheme, host, path)), Some((other_scheme, other_host, other_path))) = (parts(one), parts(other)) else {
        return false;
    };
    scheme.eq_ignore_ascii_case(other_scheme) && host.eq_ignore_ascii_case(other_host) && path == other_path
}

/// Scheme, host with port, and the rest without one trailing slash. `None` for what is no URL, or has a user name,
/// whose case matters.
fn parts(url: &str) -> Option<(&str, &str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let path = if path.contains(['?', '#']) { path } else { path.strip_suffix('/').unwrap_or(path) };
    (!host.is_empty() && !host.contains('@')).then_some((scheme, host, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_and_the_case_of_the_host_make_no_difference() {
        for (own, others) in [
            ("https://h.example/mcp", &["https://h.example/mcp/", "HTTPS://H.Example/mcp"][..]),
            ("https://h.example/mcp/", &["https://h.example/mcp", "https://H.example/mcp/"]),
            ("https://h.example", &["https://h.example/"]),
            ("urn:mcp:files", &["urn:mcp:files"]),
            ("0b2f", &["0b2f"]),
        ] {
            for other in others {
                assert!(Audience::new([own]).has(other), "{own} {other}");
            }
        }
    }

    #[test]
    fn everything_else_does() {
        let own = Audience::new(["https://h.example/mcp", "urn:mcp:files"]);
        for other in [
            "https://h.example/MCP",
            "https://h.example",
            "https://h.example/mcp//",
            "https://h.example/mcp/x",
            "https://h.example/mcp?a=1",
            "https://h.example/mcp#",
            "https://h.example:443/mcp",
            "http://h.example/mcp",
            "https://h.example.evil.com/mcp",
            "https://h.example@evil.com/mcp",
            "https://evil.com/https://h.example/mcp",
            "urn:mcp:files/",
            "URN:mcp:files",
            "",
        ] {
            assert!(!own.has(other), "{other}");
        }
        assert!(!Audience::new(["https://me@h/x"]).has("https://ME@h/x"));
    }
}
