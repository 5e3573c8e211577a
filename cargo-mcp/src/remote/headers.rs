//! Parts of messages that are repeated in headers, and the URL of an endpoint.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;

/// The arguments of a tool that are repeated in headers.
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>
pub(super) fn header_arguments(tool: &Value) -> Vec<(String, String)> {
    fn collect(schema: &Value, at: &str, found: &mut Vec<(String, String)>) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let pointer = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
            found.extend(property["x-mcp-header"].as_str().map(|header| (pointer.clone(), header.to_owned())));
            collect(property, &pointer, found);
        }
    }
    let mut found = Vec::new();
    collect(&tool["inputSchema"], "", &mut found);
    found
}

/// A text as the value of a header: as it is, or in base64 if a header cannot have it.
pub(super) fn header_value(text: &str) -> String {
    let plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) && text.trim() == text;
    if plain && !text.starts_with("=?base64?") {
        return text.to_owned();
    }
    format!("=?base64?{}?=", BASE64.encode(text))
}

/// The URL of an endpoint that may be only a path; none at another host.
pub(super) fn endpoint_url(base: &str, endpoint: &str) -> Option<String> {
    let (scheme, rest) = base.split_once("://")?;
    let origin = format!("{scheme}://{}", rest.split('/').next().unwrap_or_default());
    if endpoint.starts_with("http://") || endpoint.starts_with("https://") {
        let same = endpoint.strip_prefix(&origin).is_some_and(|path| path.is_empty() || path.starts_with('/'));
        return same.then(|| endpoint.to_owned());
    }
    Some(format!("{origin}/{}", endpoint.trim_start_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_values_are_plain_or_base64() {
        assert_eq!(header_value("add"), "add");
        assert_eq!(header_value("搜索"), "=?base64?5pCc57Si?=");
        assert_eq!(header_value(" padded"), "=?base64?IHBhZGRlZA==?=");
        assert_eq!(header_value("=?base64?x?="), "=?base64?PT9iYXNlNjQ/eD89?=");
    }

    #[test]
    fn endpoints_may_be_paths_but_not_at_another_host() {
        let of = |endpoint: &str| endpoint_url("http://a:1/sse", endpoint);
        assert_eq!(of("/messages?to=http://x").as_deref(), Some("http://a:1/messages?to=http://x"));
        assert_eq!(of("http://a:1/m").as_deref(), Some("http://a:1/m"));
        assert_eq!(of("https://b/m"), None);
        assert_eq!(of("http://a:12/m"), None);
    }
}
