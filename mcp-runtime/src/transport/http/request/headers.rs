//! The headers the transport reads. Some repeat parts of the body, so that proxies can route without parsing
//! it; these must match the body.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#standard-headers>

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::era::HeaderCheck;
use crate::handler::header_args::HeaderArg;
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::Raw;

const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
/// The header with the id of a session.
pub(crate) const SESSION: &str = "mcp-session-id";

/// The headers of a request that the transport reads, found in one pass over all headers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Headers<'a> {
    all: &'a HeaderMap,
    pub(crate) host: Field<'a>,
    pub(crate) origin: Field<'a>,
    pub(crate) accept: Field<'a>,
    pub(crate) content_type: Field<'a>,
    pub(crate) session: Field<'a>,
    #[cfg(feature = "auth")]
    pub(crate) authorization: Field<'a>,
    #[cfg(feature = "auth")]
    pub(crate) dpop: Field<'a>,
    version: Field<'a>,
    method: Field<'a>,
    name: Field<'a>,
}

/// How often a header was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field<'a> {
    Absent,
    Once(&'a HeaderValue),
    /// More than once: proxies and servers disagree on which one counts.
    Twice,
}

impl<'a> Field<'a> {
    fn add(&mut self, value: &'a HeaderValue) {
        *self = if self.is_there() { Field::Twice } else { Field::Once(value) };
    }

    pub(crate) fn is_there(self) -> bool {
        !matches!(self, Field::Absent)
    }
}

impl<'a> Headers<'a> {
    pub(crate) fn of(all: &'a HeaderMap) -> Self {
        let absent = Field::Absent;
        let mut headers = Headers {
            all,
            host: absent,
            origin: absent,
            accept: absent,
            content_type: absent,
            session: absent,
            #[cfg(feature = "auth")]
            authorization: absent,
            #[cfg(feature = "auth")]
            dpop: absent,
            version: absent,
            method: absent,
            name: absent,
        };
        for (name, value) in all {
            let field = match name.as_str() {
                "host" => &mut headers.host,
                "origin" => &mut headers.origin,
                "accept" => &mut headers.accept,
                "content-type" => &mut headers.content_type,
                SESSION => &mut headers.session,
                #[cfg(feature = "auth")]
                "authorization" => &mut headers.authorization,
                #[cfg(feature = "auth")]
                "dpop" => &mut headers.dpop,
                VERSION => &mut headers.version,
                METHOD => &mut headers.method,
                NAME => &mut headers.name,
                _ => continue,
            };
            field.add(value);
        }
        headers
    }

    /// The protocol version in the headers, if there is one.
    pub(crate) fn version(&self) -> Result<Option<&'a str>, RpcError> {
        text(VERSION, self.version)
    }

    /// All values of a header.
    pub(crate) fn every(&self, name: HeaderName) -> impl Iterator<Item = &'a HeaderValue> + use<'a> {
        self.all.get_all(name).iter()
    }

    /// An error that names every standard header that is missing, so that the client can add all at once.
    fn missing(&self, version: Option<&str>, method: &str, params: &Object<'_>) -> RpcError {
        let name = name_param(method, params);
        let wanted =
            [(VERSION, self.version, version), (METHOD, self.method, Some(method)), (NAME, self.name, name.as_deref())];
        let missing = wanted.into_iter().filter(|(_, field, _)| !field.is_there());
        let missing = missing.filter_map(|(header, _, body)| Some(format!("`{header}` (the body says {:?})", body?)));
        mismatch(&format!("missing {}", missing.collect::<Vec<_>>().join(", ")))
    }

    /// Checks the `mcp-param-*` headers against the arguments they repeat.
    pub(crate) fn arguments(&self, header_args: &[HeaderArg], arguments: Option<Raw<'_>>) -> Result<(), RpcError> {
        for arg in header_args {
            let name = format!("mcp-param-{}", arg.header);
            let mut field = Field::Absent;
            self.all.get_all(&name).iter().for_each(|value| field.add(value));
            let raw = text(&name, field)?;
            match (arg.value(arguments), raw) {
                (None, None) => {}
                (None, Some(raw)) => {
                    return Err(mismatch(&format!("`{name}` is {raw:?}, but the body has no such argument")));
                }
                (Some(body), None) => {
                    return Err(mismatch(&format!("`{name}` is missing; the body says {body}")));
                }
                (Some(body), Some(raw)) => {
                    let text = decode(&name, raw)?;
                    if !body.equals(&text) {
                        return Err(mismatch(&format!("`{name}` is {raw:?}, but the body says {body}")));
                    }
                }
            }
        }
        Ok(())
    }
}

impl HeaderCheck for Headers<'_> {
    fn version(&self, claim: &str, method: &str, params: &Object<'_>) -> Result<(), RpcError> {
        let header = text(VERSION, self.version)?.ok_or_else(|| self.missing(Some(claim), method, params))?;
        equal(VERSION, header, claim)
    }

    fn call(&self, method: &str, params: &Object<'_>) -> Result<(), RpcError> {
        let header = text(METHOD, self.method)?.ok_or_else(|| self.missing(None, method, params))?;
        // Methods are never encoded.
        if header != method {
            return Err(mismatch(&format!("`{METHOD}` is {header:?}, but the body says {method:?}")));
        }
        // A body without the parameter is rejected later, for that.
        let Some(name) = name_param(method, params) else { return Ok(()) };
        let header = text(NAME, self.name)?.ok_or_else(|| self.missing(None, method, params))?;
        equal(NAME, header, &name)
    }
}

/// The text of a header, trimmed.
fn text<'a>(name: &str, field: Field<'a>) -> Result<Option<&'a str>, RpcError> {
    match field {
        Field::Absent => Ok(None),
        // Visible ASCII only: intermediaries disagree on the encoding of other bytes.
        Field::Once(value) => match value.to_str() {
            Ok(text) => Ok(Some(text.trim_ascii())),
            Err(_) => Err(mismatch(&format!("`{name}` is not plain ASCII; encode it as `=?base64?…?=`"))),
        },
        Field::Twice => Err(mismatch(&format!("`{name}` was sent more than once; send it once"))),
    }
}

/// The parameter that `mcp-name` repeats, for methods that have one.
fn name_param<'a>(method: &str, params: &Object<'a>) -> Option<Cow<'a, str>> {
    let field = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    params.get(field).and_then(Raw::text)
}

fn equal(name: &str, raw: &str, body: &str) -> Result<(), RpcError> {
    if decode(name, raw)? != body {
        return Err(mismatch(&format!("`{name}` is {raw:?}, but the body says {body:?}")));
    }
    Ok(())
}

/// Decodes the text of a header: it is literal, or base64 of UTF-8 between `=?base64?` and `?=`.
fn decode<'a>(name: &str, raw: &'a str) -> Result<Cow<'a, str>, RpcError> {
    let Some(encoded) = raw.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Ok(Cow::Borrowed(raw));
    };
    let text = BASE64.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.map(Cow::Owned).ok_or_else(|| mismatch(&format!("`{name}` is {raw:?}, which is not base64 of UTF-8 text")))
}

pub(crate) fn mismatch(detail: &str) -> RpcError {
    RpcError::new(RpcError::HEADER_MISMATCH, format!("Header mismatch: {detail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_text_is_decoded_and_other_text_is_literal() {
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
