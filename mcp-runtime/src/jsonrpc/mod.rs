//! Bytes to messages: a JSON-RPC 2.0 frame is classified by the members it has.
//!
//! Nothing is copied: a message borrows from its frame; `id` and `params` stay raw. A malformed frame becomes a
//! [`Rejection`]: the client gets an error response, and the connection stays open.

pub(crate) mod depth;
pub(crate) mod error;
pub(crate) mod object;
#[cfg(test)]
pub(crate) mod properties;
pub(crate) mod raw;

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::object::JsonStr;
use crate::jsonrpc::raw::{Raw, string_end, type_of};

/// One well-formed frame.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    Request(Request<'a>),
    Notification(Notification<'a>),
    Response(Response<'a>),
}

/// A frame with a method and an id. It gets exactly one response.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) id: Id<'a>,
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Option<Raw<'a>>,
}

/// A frame with a method and no id. It never gets a response.
#[derive(Debug)]
pub(crate) struct Notification<'a> {
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Option<Raw<'a>>,
}

/// A frame without a method: the response to a request of the server's own, perhaps malformed.
#[derive(Debug)]
pub(crate) struct Response<'a> {
    pub(crate) id: Option<Id<'a>>,
    pub(crate) result: Option<Raw<'a>>,
    pub(crate) error: Option<Raw<'a>>,
}

/// A request id: the JSON text of a string or an integer, echoed byte for byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Id<'a>(&'a str);

impl<'a> Id<'a> {
    /// The id of a response to a frame without a readable id.
    pub(crate) const NULL: Id<'static> = Id("null");

    /// The id in `raw`, if it is a string or an integer. Some clients have only floats, and write the integer 1 as
    /// `1.0`, which JSON Schema counts as an integer, too.
    #[inline]
    pub(crate) fn parse(raw: &'a str) -> Option<Self> {
        let usable = match raw.as_bytes().first()? {
            b'"' => true,
            b'-' | b'0'..=b'9' => !raw.contains(['.', 'e', 'E']) || is_whole(raw),
            _ => false,
        };
        usable.then_some(Id(raw))
    }

    /// The id with the JSON text `raw`, which must come from [`Id::as_str`].
    pub(crate) fn new_unchecked(raw: &'a str) -> Self {
        Id(raw)
    }

    pub(crate) fn as_str(self) -> &'a str {
        self.0
    }
}

/// Whether a JSON number with a fraction is an integer after all, like `1.0`.
#[cold]
fn is_whole(number: &str) -> bool {
    number.split_once('.').is_some_and(|(_, fraction)| fraction.bytes().all(|digit| digit == b'0'))
}

/// The error response to a malformed frame, with its id if that is readable.
#[derive(Debug)]
pub(crate) struct Rejection<'a> {
    pub(crate) id: Id<'a>,
    pub(crate) error: RpcError,
}

/// Reads one frame.
pub(crate) fn parse(frame: &[u8]) -> Result<Message<'_>, Rejection<'_>> {
    let text = std::str::from_utf8(frame).map_err(|_| reject(Id::NULL, RpcError::parse("the message is not UTF-8")))?;
    let members: FrameMembers<'_> = serde_json::from_str(text).map_err(|error| malformed(text, &error))?;
    members.classify()
}

/// The error response to a frame nested deeper than `limit`; none if the frame is not a request.
pub(crate) fn refuse_deep(frame: &[u8], limit: usize) -> Option<Rejection<'_>> {
    let error = RpcError::invalid_request(&format!("the message is nested deeper than {limit} levels"));
    // Members stay raw, so parsing takes the same stack at any depth.
    match parse(frame) {
        Ok(Message::Request(request)) => Some(reject(request.id, error)),
        Ok(Message::Notification(_) | Message::Response(_)) => None,
        Err(rejection) if rejection.error.code == RpcError::PARSE => Some(rejection),
        Err(rejection) => Some(reject(rejection.id, error)),
    }
}

/// The members of a frame, not yet classified.
#[derive(Default)]
struct FrameMembers<'a> {
    jsonrpc: Option<Cow<'a, str>>,
    id: Option<Raw<'a>>,
    method: Option<Cow<'a, str>>,
    params: Option<Raw<'a>>,
    result: Option<Raw<'a>>,
    error: Option<Raw<'a>>,
}

/// The names of a frame's members.
#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Member {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    #[serde(other)]
    Other,
}

// Not derived: a derived implementation would also accept a list, and take an explicit `null` for an absent member.
impl<'de> Deserialize<'de> for FrameMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Frame;
        impl<'de> Visitor<'de> for Frame {
            type Value = FrameMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON-RPC message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = FrameMembers::default();
                while let Some(member) = map.next_key()? {
                    let is_duplicate = match member {
                        Member::Jsonrpc => members.jsonrpc.replace(map.next_value::<JsonStr<'_>>()?.0).is_some(),
                        Member::Id => members.id.replace(map.next_value()?).is_some(),
                        Member::Method => members.method.replace(map.next_value::<JsonStr<'_>>()?.0).is_some(),
                        Member::Params => members.params.replace(map.next_value()?).is_some(),
                        Member::Result => members.result.replace(map.next_value()?).is_some(),
                        Member::Error => members.error.replace(map.next_value()?).is_some(),
                        Member::Other => map.next_value::<IgnoredAny>().map(|_| false)?,
                    };
                    if is_duplicate {
                        return Err(A::Error::custom("duplicate member"));
                    }
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Frame)
    }
}

impl<'a> FrameMembers<'a> {
    fn classify(self) -> Result<Message<'a>, Rejection<'a>> {
        let id = self.id.map(|raw| Id::parse(raw.get()));
        let echo = id.flatten().unwrap_or(Id::NULL);
        let invalid = |text: &'static str| reject(echo, RpcError::invalid_request(text));
        let is_response = self.result.is_some() || self.error.is_some();
        if is_response && self.method.is_none() {
            // A response is never answered, even a malformed one.
            return Ok(Message::Response(Response { id: id.flatten(), result: self.result, error: self.error }));
        }
        if self.jsonrpc.as_deref() != Some("2.0") {
            return Err(invalid("every message carries \"jsonrpc\": \"2.0\""));
        }
        match (self.method, id) {
            (Some(_), _) if is_response => Err(invalid("a message has a method, or a result or error, not both")),
            (Some(method), Some(Some(id))) => Ok(Message::Request(Request { id, method, params: self.params })),
            (Some(_), Some(None)) => Err(invalid("a request id is a string or an integer")),
            (Some(method), None) => Ok(Message::Notification(Notification { method, params: self.params })),
            (None, _) => Err(invalid("a message has a method, a result or an error")),
        }
    }
}

fn reject(id: Id<'_>, error: RpcError) -> Rejection<'_> {
    Rejection { id, error }
}

/// The error response to a frame that is not JSON, or not a message.
fn malformed<'a>(text: &'a str, error: &serde_json::Error) -> Rejection<'a> {
    let not_json = |error: &serde_json::Error| {
        reject(Id::NULL, RpcError::parse(&format!("the message is not valid JSON: {error}")))
    };
    if !error.is_data() {
        return not_json(error);
    }
    // The first error is about the shape; the rest of the frame may still be invalid JSON.
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        return not_json(&error);
    }
    match type_of(text.trim_ascii_start()) {
        "object" => {
            let id = only_id(Raw::new_unchecked(text.trim_ascii())).unwrap_or(Id::NULL);
            let why = crate::jsonrpc::error::without_position(error);
            reject(id, RpcError::invalid_request(&format!("not a JSON-RPC message: {why}")))
        }
        "array" => reject(
            Id::NULL,
            RpcError::invalid_request("batches are not part of this protocol revision; send one message per line"),
        ),
        _ => reject(Id::NULL, RpcError::invalid_request("a message is a JSON object")),
    }
}

/// The id of a malformed message, if it has exactly one.
fn only_id(frame: Raw<'_>) -> Option<Id<'_>> {
    let mut ids = frame.members().filter_map(Result::ok).filter(|(name, _)| name == "id");
    match (ids.next(), ids.next()) {
        (Some((_, id)), None) => Id::parse(id.get()),
        _ => None,
    }
}

/// The id in the first part of a frame that is too long to be read, so that its sender gets an error response.
pub(crate) fn id_in_prefix(prefix: &[u8]) -> Option<Id<'_>> {
    let value = member_in_prefix(prefix, &[r#""id""#])?;
    let is_string = value.starts_with('"');
    let length = if is_string { string_end(value.as_bytes(), 0)? } else { value.find([',', '}'])? };
    // It will be echoed, and has not been validated as JSON yet.
    let raw: Raw<'_> = serde_json::from_str(&value[..length]).ok()?;
    Id::parse(raw.get())
}

/// Whether the first part of a frame that is too long shows that it is a response, which is never answered.
pub(crate) fn prefix_is_response(prefix: &[u8]) -> bool {
    member_in_prefix(prefix, &[r#""result""#, r#""error""#]).is_some()
        && member_in_prefix(prefix, &[r#""method""#]).is_none()
}

/// The text that follows the first of these names in the outermost object.
fn member_in_prefix<'a>(prefix: &'a [u8], names: &[&str]) -> Option<&'a str> {
    let text = match std::str::from_utf8(prefix) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&prefix[..error.valid_up_to()]).ok()?,
    };
    let (mut depth, mut rest) = (0_usize, text);
    while let Some(at) = rest.find(['{', '}', '[', ']', '"']) {
        match rest.as_bytes()[at] {
            b'{' | b'[' => depth += 1,
            b'"' => {
                let end = string_end(rest.as_bytes(), at)?;
                let value = rest[end..].trim_start().strip_prefix(':').map(str::trim_start);
                if depth == 1 && value.is_some() && names.contains(&&rest[at..end]) {
                    return value;
                }
                rest = &rest[end..];
                continue;
            }
            _ => depth = depth.checked_sub(1)?,
        }
        rest = &rest[at + 1..];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(frame: &str) -> (String, i32) {
        let Err(Rejection { id, error }) = parse(frame.as_bytes()) else { panic!("{frame} was accepted") };
        (id.as_str().to_owned(), error.code)
    }

    #[test]
    fn messages_are_classified_by_their_members() {
        assert!(matches!(parse(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), Ok(Message::Request(_))));
        assert!(matches!(parse(br#"{"jsonrpc":"2.0","method":"ping"}"#), Ok(Message::Notification(_))));
        assert!(matches!(parse(br#"{"jsonrpc":"2.0","id":1,"result":null}"#), Ok(Message::Response(_))));
        assert!(matches!(parse(br#"{"jsonrpc":"2.0","id":"a","error":{}}"#), Ok(Message::Response(_))));
    }

    #[test]
    fn ids_are_echoed_byte_for_byte() {
        for id in ["1", "-7", "\"a\\u0062\"", "123456789012345678901234567890"] {
            let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping","params":null}}"#);
            let Ok(Message::Request(request)) = parse(frame.as_bytes()) else { panic!("{frame}") };
            assert_eq!(request.id.as_str(), id);
        }
    }

    #[test]
    fn malformed_messages_are_rejected_with_their_id() {
        assert_eq!(rejected("{"), ("null".into(), -32700));
        assert_eq!(rejected("nonsense"), ("null".into(), -32700));
        assert_eq!(rejected("5"), ("null".into(), -32600));
        assert_eq!(rejected("[]"), ("null".into(), -32600));
        assert_eq!(rejected(r#"["2.0",1,"ping"]"#), ("null".into(), -32600));
        assert_eq!(rejected("[1,"), ("null".into(), -32700));
        assert_eq!(rejected("5 6"), ("null".into(), -32700));
        assert_eq!(rejected(r#"{"id":3,"method":"x"}"#), ("3".into(), -32600));
        assert_eq!(rejected(r#"{"jsonrpc":"1.0","id":3,"method":"x"}"#), ("3".into(), -32600));
        assert_eq!(rejected(r#"{"jsonrpc":2,"id":3,"method":"x"}"#), ("3".into(), -32600));
        assert_eq!(rejected(r#"{"jsonrpc":"2.0","id":3,"method":5}"#), ("3".into(), -32600));
        assert_eq!(rejected(r#"{"jsonrpc":"2.0","id":3}"#), ("3".into(), -32600));
        assert_eq!(rejected(r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#), ("null".into(), -32600));
        assert_eq!(rejected(r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#), ("null".into(), -32600));
        assert_eq!(rejected(r#"{"jsonrpc":"2.0","id":3,"id":4,"method":"x"}"#), ("null".into(), -32600));
        assert_eq!(rejected(r#"{"jsonrpc":"2.0","id":3,"method":"x","result":{}}"#), ("3".into(), -32600));
    }

    #[test]
    fn id_is_found_in_a_prefix() {
        let id = |text: &str| id_in_prefix(text.as_bytes()).map(|id| id.as_str().to_owned());
        assert_eq!(id(r#"{"jsonrpc":"2.0","id": 77 ,"method":"x","params":{"a":"yyy"#), Some("77".into()));
        assert_eq!(id(r#"{"a":["{\"id\":1}",{"id":2}],"id":"a\"b","params":"zz"#), Some(r#""a\"b""#.into()));
        assert_eq!(id(r#"{"method":"x","params":{"id":5,"text":"yyy"#), None, "the id of an argument");
        assert_eq!(id(r#"{"id":7"#), None, "perhaps 77");
        assert_eq!(id(r#"{"id":{"x":1},"method":"#), None);
        assert_eq!(id(r#"{"x":"id","y":"id"#), None);
        assert_eq!(id("}}}"), None);
        for invalid in ["-", "7x", "01", "7\u{a0}", "\"\t\"", "\"\\q\""] {
            assert_eq!(id(&format!(r#"{{"id":{invalid},"params":"#)), None, "{invalid}");
        }
        assert_eq!(id(""), None);
        assert_eq!(id_in_prefix(b"{\"id\":1,\"m\":\"\xff"), Some(Id("1")));
    }

    #[test]
    fn deep_nesting_is_rejected_without_exhausting_the_stack() {
        let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
        let rejected =
            |frame: &str| refuse_deep(frame.as_bytes(), 128).map(|it| (it.id.as_str().to_owned(), it.error.code));
        let params = format!(r#""method":"x","params":{open}{close}"#);
        assert_eq!(rejected(&format!(r#"{{"jsonrpc":"2.0",{params},"id":7}}"#)), Some(("7".into(), -32600)));
        assert_eq!(rejected(&format!(r#"{{"jsonrpc":"1.0",{params},"id":7}}"#)), Some(("7".into(), -32600)));
        assert_eq!(rejected(&format!(r#"{{"jsonrpc":"2.0",{params}}}"#)), None, "a notification");
        assert_eq!(rejected(&format!(r#"{{"jsonrpc":"2.0","id":7,"result":{open}{close}}}"#)), None, "a response");
        assert_eq!(rejected(&format!("{open}{close}")), Some(("null".into(), -32600)));
        assert_eq!(rejected(&open), Some(("null".into(), -32700)), "not JSON at all");
    }
}
