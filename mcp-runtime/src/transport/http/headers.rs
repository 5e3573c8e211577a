//! Headers that repeat the body, so that proxies need not read it: they must say the same.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#standard-headers>

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::header::AsHeaderName;
use http::{HeaderMap, HeaderName};

use crate::era::Witness;
use crate::error::RpcError;
use crate::mirror::Mirrored;
use crate::object::Object;
use crate::raw::Raw;

pub(super) static VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
static METHOD: HeaderName = HeaderName::from_static("mcp-method");
static NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The headers of a request, as witnesses of its body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Headers<'a>(pub(super) &'a HeaderMap);

impl<'a> Headers<'a> {
    /// The text of a header, without the white space around it.
    pub(super) fn get(self, name: impl AsHeaderName + Copy + fmt::Display) -> Result<Option<&'a str>, RpcError> {
        let mut values = self.0.get_all(name).iter();
        match (values.next(), values.next()) {
            (None, _) => Ok(None),
            // Visible ASCII only: intermediaries read other bytes as they like.
            (Some(value), None) => match value.to_str() {
                Ok(text) => Ok(Some(text.trim_ascii())),
                Err(_) => Err(mismatch(&format!("`{name}` is not plain ASCII; encode it as `=?base64?…?=`"))),
            },
            (Some(_), Some(_)) => Err(mismatch(&format!("`{name}` is there twice"))),
        }
    }

    /// What of the headers every request repeats is missing: all of it, so that it is told once.
    fn missing(self, version: Option<&str>, method: &str, params: &Object<'_>) -> RpcError {
        let name = subject(method, params);
        let wanted = [(&VERSION, version), (&METHOD, Some(method)), (&NAME, name.as_deref())];
        let missing = wanted.into_iter().filter(|(header, _)| !self.0.contains_key(*header));
        let missing = missing.filter_map(|(header, body)| Some(format!("`{header}` (the body says {:?})", body?)));
        mismatch(&format!("missing {}", missing.collect::<Vec<_>>().join(", ")))
    }

    /// Holds the arguments of a call against the headers that mirror them.
    pub(super) fn arguments(self, mirrored: &[Mirrored], arguments: Option<Raw<'_>>) -> Result<(), RpcError> {
        for mirror in mirrored {
            let name = format!("mcp-param-{}", mirror.header);
            let raw = self.get(name.as_str())?;
            match (mirror.value(arguments), raw) {
                (None, None) => {}
                (None, Some(raw)) => {
                    return Err(mismatch(&format!("`{name}` is {raw:?}, the body has no such value")));
                }
                (Some(body), None) => {
                    return Err(mismatch(&format!("`{name}` is missing; the body says {body}")));
                }
                (Some(body), Some(raw)) => {
                    let text = decode(&name, raw)?;
                    if !body.equals(&text) {
                        return Err(mismatch(&format!("`{name}` is {raw:?}, the body says {body}")));
                    }
                }
            }
        }
        Ok(())
    }
}

impl Witness for Headers<'_> {
    fn version(&self, claim: &str, method: &str, params: &Object<'_>) -> Result<(), RpcError> {
        let header = self.get(&VERSION)?.ok_or_else(|| self.missing(Some(claim), method, params))?;
        equal(&VERSION, header, claim)
    }

    fn call(&self, method: &str, params: &Object<'_>) -> Result<(), RpcError> {
        let header = self.get(&METHOD)?.ok_or_else(|| self.missing(None, method, params))?;
        // A method is never encoded.
        if header != method {
            return Err(mismatch(&format!("`{METHOD}` is {header:?}, the body says {method:?}")));
        }
        // Where the body lacks it, that is what is wrong.
        let Some(name) = subject(method, params) else { return Ok(()) };
        let header = self.get(&NAME)?.ok_or_else(|| self.missing(None, method, params))?;
        equal(&NAME, header, &name)
    }
}

/// What a method is called on, where a header repeats it.
fn subject<'a>(method: &str, params: &Object<'a>) -> Option<Cow<'a, str>> {
    let field = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    params.get(field).and_then(Raw::text)
}

fn equal(name: &HeaderName, raw: &str, body: &str) -> Result<(), RpcError> {
    if decode(name.as_str(), raw)? != body {
        return Err(mismatch(&format!("`{name}` is {raw:?}, the body says {body:?}")));
    }
    Ok(())
}

/// What a header's text stands for: itself, or UTF-8 in base64 between two marks.
fn decode<'a>(name: &str, raw: &'a str) -> Result<Cow<'a, str>, RpcError> {
    let Some(encoded) = raw.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Ok(Cow::Borrowed(raw));
    };
    let text = BASE64.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.map(Cow::Owned).ok_or_else(|| mismatch(&format!("`{name}` is {raw:?}, which is no base64 of UTF-8")))
}

pub(super) fn mismatch(detail: &str) -> RpcError {
    RpcError::new(RpcError::HEADER_MISMATCH, format!("Header mismatch: {detail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stands_for_itself_unless_it_is_marked() {
        let read = |raw| decode("mcp-name", raw).ok().map(Cow::into_owned);
        assert_eq!(read("SGVsbG8="), Some("SGVsbG8=".into()));
        assert_eq!(read("=?base64?SGVsbG8=?="), Some("Hello".into()));
        assert_eq!(read("=?base64?SGVsbG8="), Some("=?base64?SGVsbG8=".into()), "no end, no mark");
        assert_eq!(read("=?BASE64?SGVsbG8=?="), Some("=?BASE64?SGVsbG8=?=".into()));
        assert_eq!(read("=?base64?SGVsbG8?="), None, "no padding");
        assert_eq!(read("=?base64?SGVs!!!bG8=?="), None);
        assert_eq!(read("=?base64?/w==?="), None, "not UTF-8");
        assert_eq!(read("=?base64??="), Some(String::new()));
    }
}
