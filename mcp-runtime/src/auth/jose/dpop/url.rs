//! `htu`: whether a proof is for the URL of a request, after the normalization of RFC 3986 §6.2.2 and §6.2.3.

/// Whether `target` of a proof is `url`, both without query and fragment (RFC 9449 §4.3, 9).
pub(crate) fn is_target(target: &str, url: &str) -> bool {
    match (normalized(target), normalized(url)) {
        (Some(target), Some(url)) => target == url,
        _ => false,
    }
}

fn normalized(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let rest = rest.split(['?', '#']).next()?;
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let scheme = scheme.to_ascii_lowercase();
    let host = host.to_ascii_lowercase();
    let default_port = match &*scheme {
        "https" => ":443",
        "http" => ":80",
        _ => return None,
    };
    let host = host.strip_suffix(default_port).unwrap_or(&host);
    if host.is_empty() || host.contains('@') {
        return None;
    }
    let path = if path.is_empty() { "/" } else { path };
    Some(format!("{scheme}://{host}{}", percent_normalized(path)?))
}

/// Escapes in upper case, and only where they are needed.
fn percent_normalized(path: &str) -> Option<String> {
    let mut normal = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        normal.push_str(before);
        let code = after.get(..2).filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        match u8::from_str_radix(code, 16).ok()? {
            byte if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => normal.push(char::from(byte)),
            _ => {
                normal.push('%');
                normal.push_str(&code.to_ascii_uppercase());
            }
        }
        rest = &after[2..];
    }
    normal.push_str(rest);
    Some(normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_url_are_the_same() {
        for (target, url) in [
            ("https://h.example/mcp", "https://h.example/mcp"),
            ("HTTPS://H.Example:443/mcp", "https://h.example/mcp?x=1#y"),
            ("https://h.example", "https://h.example/"),
            ("http://h:80/", "http://h"),
            ("https://h/%7eme/%c3%a9", "https://h/~me/%C3%A9"),
        ] {
            assert!(is_target(target, url), "{target} {url}");
        }
    }

    #[test]
    fn other_urls_are_not() {
        for target in [
            "https://h.example/MCP",
            "https://h.example/mcp/",
            "https://h.example:8443/mcp",
            "http://h.example/mcp",
            "https://h.example:80/mcp",
            "https://me@h.example/mcp",
            "https://h.example/mc%70%",
            "https://h.example/mcp%2",
            "https:///mcp",
            "h.example/mcp",
            "",
        ] {
            assert!(!is_target(target, "https://h.example/mcp"), "{target}");
        }
        assert!(!is_target("", ""));
    }
}
