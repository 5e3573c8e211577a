//! The headers that mean something here. Some repeat the body, so that proxies need not read it: they must say the
//! same.
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
/// What the header is called that names a session.
pub(crate) const SESSION: &str = "mcp-session-id";

/// The headers of a request that mean something here, found in one pass over all of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Headers<'a> {
    all: &'a HeaderMap,
    pub(crate) host: Field<'a>,
    pub(crate) origin: Field<'a>,
    pub(crate) accept: Field<'a>,
    pub(crate) content_type: Field<'a>,
    pub(crate) session: Field<'a>,
    version: Field<'a>,
    method: Field<'a>,
    name: Field<'a>,
}

/// A header, and what became of it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field<'a> {
    Absent,
    Once(&'a HeaderValue),
    /// More than once: which of them counts, readers would not agree on.
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
                VERSION => &mut headers.version,
                METHOD => &mut headers.method,
                NAME => &mut headers.name,
                _ => continue,
            };
            field.add(value);
        }
        headers
    }

    /// The revision the request names, if it does.
    pub(crate) fn version(&self) -> Result<Option<&'a str>, RpcError> {
        text(VERSION, self.version)
    }

    /// All headers of a name.
    pub(crate) fn every(&self, name: HeaderName) -> impl Iterator<Item = &'a HeaderValue> + use<'a> {
        self.all.get_all(name).iter()
    }

    /// What of the headers every request repeats is missing: all of it, so that it is told once.
    fn missing(&self, version: Option<&str>, method: &str, params: &Object<'_>) -> RpcError {
        let name = subject(method, params);
        let wanted =
            [(VERSION, self.version, version), (METHOD, self.method, Some(method)), (NAME, self.name, name.as_deref())];
        let missing = wanted.into_iter().filter(|(_, field, _)| !field.is_there());
        let missing = missing.filter_map(|(header, _, body)| Some(format!("`{header}` (the body says {:?})", body?)));
        mismatch(&format!("missing {}", missing.collect::<Vec<_>>().join(", ")))
    }

    /// Holds the arguments of a call against the headers that mirror them.
    pub(crate) fn arguments(&self, header_args: &[HeaderArg], arguments: Option<Raw<'_>>) -> Result<(), RpcError> {
        for mirror in header_args {
            let name = format!("mcp-param-{}", mirror.header);
            let mut field = Field::Absent;
            self.all.get_all(&name).iter().for_each(|value| field.add(value));
            let raw = text(&name, field)?;
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

impl HeaderCheck for Headers<'_> {
    fn version(&self, claim: &str, method: &str, params: &Object<'_>) -> Result<(), RpcError> {
        let header = text(VERSION, self.version)?.ok_or_else(|| self.missing(Some(claim), method, params))?;
        equal(VERSION, header, claim)
    }

    fn call(&self, method: &str, params: &Object<'_>) -> Result<(), RpcError> {
        let header = text(METHOD, self.method)?.ok_or_else(|| self.missing(None, method, params))?;
        // A method is never encoded.
        if header != method {
            return Err(mismatch(&format!("`{METHOD}` is {header:?}, the body says {method:?}")));
        }
        // Where the body lacks it, that is what is wrong.
        let Some(name) = subject(method, params) else { return Ok(()) };
        let header = text(NAME, self.name)?.ok_or_else(|| self.missing(None, method, params))?;
        equal(NAME, header, &name)
    }
}

/// The text of a header, without the white space around it.
fn text<'a>(name: &str, field: Field<'a>) -> Result<Option<&'a str>, RpcError> {
    match field {
        Field::Absent => Ok(None),
        // Visible ASCII only: intermediaries read other bytes as they like.
        Field::Once(value) => match value.to_str() {
            Ok(text) => Ok(Some(text.trim_ascii())),
            Err(_) => Err(mismatch(&format!("`{name}` is not plain ASCII; encode it as `=?base64?…?=`"))),
        },
        Field::Twice => Err(mismatch(&format!("`{name}` is there twice"))),
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

fn equal(name: &str, raw: &str, body: &str) -> Result<(), RpcError> {
    if decode(name, raw)? != body {
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

pub(crate) fn mismatch(detail: &str) -> RpcError {
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
