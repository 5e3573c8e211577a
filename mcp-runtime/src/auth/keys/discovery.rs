//! The metadata of an issuer (RFC 8414, `OpenID` Connect Discovery), which says where its keys are.

use crate::auth::fetch::{self, Fetch, FetchError, FetchRequest};
use crate::auth::jose::json;
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::Raw;

/// What an issuer says about itself.
#[derive(Debug)]
pub(crate) struct IssuerMetadata {
    pub(crate) jwks_uri: Option<String>,
    /// All of it, as JSON.
    pub(crate) document: Box<str>,
}

/// The URLs where its metadata may be, in the order of the specification of MCP: RFC 8414, then `OpenID` with the
/// well-known part inserted before the path, then appended.
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization>
pub(crate) fn urls(issuer: &str) -> Vec<String> {
    let trimmed = issuer.strip_suffix('/').unwrap_or(issuer);
    let start = trimmed.find("://").map_or(0, |at| at + 3);
    let path = trimmed[start..].find('/').map_or(trimmed.len(), |at| start + at);
    let (origin, path) = trimmed.split_at(path);
    let mut urls = vec![
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        urls.push(format!("{trimmed}/.well-known/openid-configuration"));
    }
    urls
}

/// Finds the metadata of an issuer. A document that names another issuer is not used (RFC 8414 §3.3).
pub(crate) async fn discover(fetch: &dyn Fetch, issuer: &str) -> Result<IssuerMetadata, FetchError> {
    let mut reason = None;
    for url in urls(issuer) {
        // A server that cannot be reached has no other documents.
        let response = fetch::send(fetch, FetchRequest { url: url.clone(), form: None }).await?;
        match response.status {
            200 => match read(&response.body, issuer) {
                Ok(metadata) => return Ok(metadata),
                Err(why) => reason = Some(format!("{url}: {why}")),
            },
            404 if reason.is_some() => {}
            status => reason = Some(format!("{url}: status {status}")),
        }
    }
    let reason = reason.unwrap_or_default();
    Err(FetchError(format!("the issuer {issuer} has no metadata document that can be used; the last try: {reason}")))
}

fn read(body: &[u8], issuer: &str) -> Result<IssuerMetadata, String> {
    let text = std::str::from_utf8(body).map_err(|_| "not UTF-8")?;
    let object = json::object(text).ok_or("not a JSON object")?;
    let named = object.get("issuer").and_then(Raw::text).unwrap_or_default();
    if named != issuer {
        return Err(format!(
            "`issuer` of the document is {:?}, which is not the same text: configure the issuer as it names itself",
            named.chars().take(200).collect::<String>()
        ));
    }
    Ok(IssuerMetadata { jwks_uri: url_member(&object, "jwks_uri", issuer)?, document: text.into() })
}

/// A URL in the metadata. That of an https issuer has to be https itself: not even a loopback address is what it says.
fn url_member(object: &Object<'_>, key: &str, issuer: &str) -> Result<Option<String>, String> {
    let Some(url) = object.get(key).and_then(Raw::text) else { return Ok(None) };
    if issuer.starts_with("https://") && !url.starts_with("https://") {
        return Err(format!("`{key}` of the document is not an https URL"));
    }
    fetch::check_url(&url).map_err(|error| format!("`{key}` of the document: {error}"))?;
    Ok(Some(url.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_urls_in_order() {
        assert_eq!(
            urls("https://h/tenant/1"),
            [
                "https://h/.well-known/oauth-authorization-server/tenant/1",
                "https://h/.well-known/openid-configuration/tenant/1",
                "https://h/tenant/1/.well-known/openid-configuration",
            ]
        );
        for root in ["https://h:8443", "https://h:8443/"] {
            assert_eq!(
                urls(root),
                [
                    "https://h:8443/.well-known/oauth-authorization-server",
                    "https://h:8443/.well-known/openid-configuration"
                ]
            );
        }
    }

    #[test]
    fn documents_name_their_issuer() {
        let document = |issuer: &str, keys: &str| format!(r#"{{"issuer":"{issuer}","jwks_uri":"{keys}"}}"#);
        let read = |text: String| read(text.as_bytes(), "https://h");
        let metadata = read(document("https://h", "https://keys.example/jwks")).unwrap();
        assert_eq!(metadata.jwks_uri.as_deref(), Some("https://keys.example/jwks"));
        for (text, why) in [
            (document("https://h/", "https://h/jwks"), "not the same text"),
            (document("https://H", "https://h/jwks"), "not the same text"),
            (document("https://h", "http://h/jwks"), "not an https URL"),
            (document("https://h", "http://127.0.0.1/jwks"), "not an https URL"),
            ("{}".to_owned(), "not the same text"),
            ("[]".to_owned(), "not a JSON object"),
        ] {
            assert!(read(text.clone()).unwrap_err().contains(why), "{text}");
        }
    }
}
