//! [`RpcError`]: the `error` member of a response, and helpers for its texts.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The `error` member of a response.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RpcError {
    pub(crate) code: i32,
    pub(crate) message: Cow<'static, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// Boxed: errors are moved as often as results, and few have it.
    pub(crate) data: Option<Box<Value>>,
}

impl RpcError {
    pub(crate) const PARSE: i32 = -32700;
    pub(crate) const INVALID_REQUEST: i32 = -32600;
    pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
    pub(crate) const INVALID_PARAMS: i32 = -32602;
    pub(crate) const INTERNAL: i32 = -32603;
    /// The user said no. No revision has a code of the server's for that; this is the one clients use when the user
    /// rejects a request. <https://modelcontextprotocol.io/specification/2025-11-25/client/sampling#error-handling>
    pub(crate) const USER_DECLINED: i32 = -1;
    /// The caller lacks scopes. No revision has a code for that; over HTTP the status says it.
    pub(crate) const FORBIDDEN: i32 = -31403;
    /// A rate limit or a limit of concurrency. No revision has a code for that; this is the one other servers use.
    pub(crate) const THROTTLED: i32 = -32000;
    /// Resource not found, up to 2025-11-25.
    pub(crate) const RESOURCE_NOT_FOUND: i32 = -32002;
    /// The user has to open a URL first, in 2025-11-25.
    pub(crate) const URL_REQUIRED: i32 = -32042;
    /// The client does not declare a capability the call needs, from 2026-07-28.
    pub(crate) const MISSING_CAPABILITY: i32 = -32021;
    /// A header contradicts the body, from 2026-07-28.
    pub(crate) const HEADER_MISMATCH: i32 = -32020;
    /// Unsupported protocol version, from 2026-07-28.
    pub(crate) const UNSUPPORTED_VERSION: i32 = -32022;
    /// The codes that only servers of 2026-07-28 and later have.
    pub(crate) const OF_STATELESS_REVISIONS: [i32; 3] = [-32020, Self::MISSING_CAPABILITY, Self::UNSUPPORTED_VERSION];

    pub(crate) fn new(code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        RpcError { code, message: message.into(), data: None }
    }

    pub(crate) fn parse(detail: &str) -> Self {
        Self::new(Self::PARSE, format!("Parse error: {detail}"))
    }

    pub(crate) fn invalid_request(detail: &str) -> Self {
        Self::new(Self::INVALID_REQUEST, format!("Invalid request: {detail}"))
    }

    pub(crate) fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    /// A parameter that is missing or of the wrong type; `data` names it and both types.
    pub(crate) fn wrong_field(field: &str, expected: &str, actual: &str) -> Self {
        let message = match actual {
            "missing" => format!("Invalid params: `{field}` is missing; it is of type {expected}"),
            _ if actual == expected => format!("Invalid params: `{field}` is not a valid {expected}"),
            _ => format!("Invalid params: `{field}` must be of type {expected}, not {actual}"),
        };
        Self::invalid_params(message)
            .with_data(serde_json::json!({"field": field, "expectedType": expected, "actualType": actual}))
    }

    /// Reads an error that was stored. By hand: outside of tests, nothing else is deserialized from a `Value`, which is a
    /// third parser for serde.
    pub(crate) fn of_json(error: &Value) -> Option<Self> {
        let code = i32::try_from(error["code"].as_i64()?).ok()?;
        let message = error["message"].as_str()?.to_owned();
        Some(RpcError {
            data: error.get("data").filter(|data| !data.is_null()).cloned().map(Box::new),
            ..Self::new(code, message)
        })
    }

    pub(crate) fn with_data(mut self, data: Value) -> Self {
        self.data = Some(Box::new(data));
        self
    }
}

/// The text of a JSON error without "at line 1 column 7": the caller does not see the frame as text.
pub(crate) fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) if error.line() > 0 => shorten(&text[..end]).into_owned(),
        _ => shorten(&text).into_owned(),
    }
}

/// A text that quotes the caller. The middle of a long one is left out.
pub(crate) fn shorten(text: &str) -> Cow<'_, str> {
    const LONG: usize = 300;
    if text.len() <= LONG {
        return Cow::Borrowed(text);
    }
    let middle = text.len() - LONG / 2;
    let tail = (middle..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    Cow::Owned(format!("{}…{}", beginning(text, LONG / 2), &text[tail..]))
}

/// The beginning of a text, as many whole characters as fit into these bytes.
pub(crate) fn beginning(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(["", "a", "aé", "aé", "aéz", "aéz"], [0, 1, 3, 3, 4, 9].map(|bytes| beginning("aéz", bytes)));
        assert_eq!(beginning("aéz", 2), "a");
        let long = "é".repeat(200);
        let short = shorten(&long);
        assert_eq!(*short, format!("{0}…{0}", "é".repeat(75)));
        assert_eq!(*shorten(&format!("a{long}")), format!("a{}…{}", "é".repeat(74), "é".repeat(75)));
        assert_eq!(*shorten("short"), *"short");
    }
}
