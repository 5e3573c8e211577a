//! Headers that repeat the body, so that proxies need not read it: they must say the same.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#standard-headers>

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::header::AsHeaderName;
use http::{HeaderMap, HeaderName};
use serde_json::value::RawValue;

use crate::era::Witness;
use crate::error::RpcError;
use crate::mirror::Mirrored;
use crate::object::{Object, text};

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
                Ok(text) => Ok(Some(text.trim_matches([' ', '\t']))),
                Err(_) => Err(mismatch(&format!("`{name}` is not plain ASCII; encode it as `=?base64?…?=`"))),
            },
            (Some(_), Some(_)) => Err(mismatch(&format!("`{name}` is there twice"))),
        }
    }

    fn equals(self, name: &HeaderName, body: &str) -> Result<(), RpcError> {
        let Some(raw) = self.get(name)? else {
            return Err(mismatch(&format!("`{name}` is missing; the body says {body:?}")));
        };
        if decode(name.as_str(), raw)? != body {
            return Err(mismatch(&format!("`{name}` is {raw:?}, the body says {body:?}")));
        }
        Ok(())
    }

    /// Holds the arguments of a call against the headers that mirror them.
    pub(super) fn arguments(self, mirrored: &[Mirrored], arguments: Option<&RawValue>) -> Result<(), RpcError> {
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
    fn version(&self, claim: &str) -> Result<(), RpcError> {
        self.equals(&VERSION, claim)
    }

    fn call(&self, method: &str, params: &Object<'_>) -> Result<(), RpcError> {
        // A method is never encoded.
        match self.get(&METHOD)? {
            Some(header) if header == method => {}
            Some(header) => {
                return Err(mismatch(&format!("`{METHOD}` is {header:?}, the body says {method:?}")));
            }
            None => return Err(mismatch(&format!("`{METHOD}` is missing; the body says {method:?}"))),
        }
        let field = match method {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
            _ => return Ok(()),
        };
        // Where the body lacks it, that is what is wrong.
        match params.get(field).and_then(text) {
            Some(name) => self.equals(&NAME, &name),
            None => Ok(()),
        }
    }
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
