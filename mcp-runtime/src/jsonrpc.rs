//! Bytes to messages: a JSON-RPC 2.0 frame, classified by which of its members are present.
//!
//! Nothing is copied: a message borrows its frame, `id` and `params` stay raw. What cannot be a
//! message becomes a [`Rejection`], an answer the peer gets while the connection lives on.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::RpcError;

/// One well-formed frame.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    Request(Request<'a>),
    Notification(Notification<'a>),
    /// An answer to a request of ours.
    Response,
}

/// A frame with a method and an id: it is owed exactly one answer.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) id: Id<'a>,
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Option<&'a RawValue>,
}

/// A frame with a method and no id: it is never answered.
#[derive(Debug)]
pub(crate) struct Notification<'a> {
    pub(crate) method: Cow<'a, str>,
}

/// The JSON text of a request id (a string or an integer), echoed byte for byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Id<'a>(&'a str);

impl<'a> Id<'a> {
    /// What an answer carries when the request's own id could not be read.
    pub(crate) const NULL: Id<'static> = Id("null");

    /// The id in `raw`, if it is a string or an integer; null, fractions and the rest are not ids.
    pub(crate) fn parse(raw: &'a str) -> Option<Self> {
        let usable = match raw.as_bytes().first()? {
            b'"' => true,
            b'-' | b'0'..=b'9' => !raw.contains(['.', 'e', 'E']),
            _ => false,
        };
        usable.then_some(Id(raw))
    }

    /// The id whose JSON text is `raw`, kept by [`Id::as_str`] when the frame went away.
    pub(crate) fn trusted(raw: &'a str) -> Self {
        Id(raw)
    }

    pub(crate) fn as_str(self) -> &'a str {
        self.0
    }
}

/// A frame that is no message: the error to answer with, and the id when one could be read.
#[derive(Debug)]
pub(crate) struct Rejection<'a> {
    pub(crate) id: Id<'a>,
    pub(crate) error: RpcError,
}

/// Reads one frame.
pub(crate) fn parse(frame: &[u8]) -> Result<Message<'_>, Rejection<'_>> {
    let text = std::str::from_utf8(frame).map_err(|_| reject(Id::NULL, RpcError::parse("the message is not UTF-8")))?;
    let wire: Wire<'_> = serde_json::from_str(text).map_err(|error| malformed(text, &error))?;
    wire.classify()
}

/// The members of a frame, before they are judged.
#[derive(serde::Deserialize)]
struct Wire<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<Key<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Key<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Keeps an explicit `null` apart from an absent member, which a plain `Option` would not.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'a> Wire<'a> {
    fn classify(self) -> Result<Message<'a>, Rejection<'a>> {
        let id = self.id.map(|raw| Id::parse(raw.get()));
        let echo = id.flatten().unwrap_or(Id::NULL);
        let invalid = |text: &'static str| reject(echo, RpcError::invalid_request(text));
        if self.jsonrpc.is_none_or(|Key(version)| version != "2.0") {
            return Err(invalid("every message carries \"jsonrpc\": \"2.0\""));
        }
        let answers = self.result.is_some() || self.error.is_some();
        match (self.method.map(|Key(method)| method), id) {
            (Some(_), _) if answers => Err(invalid("a message has a method, or a result or error, not both")),
            (Some(method), Some(Some(id))) => Ok(Message::Request(Request { id, method, params: self.params })),
            (Some(_), Some(None)) => Err(invalid("a request id is a string or an integer")),
            (Some(method), None) => Ok(Message::Notification(Notification { method })),
            (None, _) if answers => Ok(Message::Response),
            (None, _) => Err(invalid("a message has a method, a result or an error")),
        }
    }
}

fn reject(id: Id<'_>, error: RpcError) -> Rejection<'_> {
    Rejection { id, error }
}

/// The answer to a frame that is not JSON, or JSON of another shape than a message.
fn malformed<'a>(text: &'a str, error: &serde_json::Error) -> Rejection<'a> {
    if !error.is_data() {
        return reject(Id::NULL, RpcError::parse(&format!("the message is not valid JSON: {error}")));
    }
    match text.trim_start().as_bytes().first() {
        Some(b'[') => reject(
            Id::NULL,
            RpcError::invalid_request("batches are not part of this protocol revision; send one message per line"),
        ),
        Some(b'{') => match serde_json::from_str::<Object<'a>>(text) {
            Err(error) => reject(Id::NULL, RpcError::parse(&format!("the message is not valid JSON: {error}"))),
            Ok(object) => {
                let id = object.get("id").and_then(|raw| Id::parse(raw.get())).unwrap_or(Id::NULL);
                reject(
                    id,
                    RpcError::invalid_request(&format!(
                        "not a JSON-RPC message: {}",
                        crate::error::without_position(error)
                    )),
                )
            }
        },
        _ => reject(Id::NULL, RpcError::invalid_request("a message is a JSON object")),
    }
}

/// A JSON object read one level deep: its keys, each with its raw value, in the sender's order.
///
/// The one shape for `params`, `arguments` and `_meta`: values are decoded where they are used,
/// straight into the type that is wanted there.
#[derive(Debug, Default)]
pub(crate) struct Object<'a> {
    members: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> Object<'a> {
    /// The first value under `key`.
    pub(crate) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.members.iter().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.members.iter().map(|(name, value)| (&**name, *value))
    }
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(4);
                while let Some(Key(name)) = map.next_key()? {
                    members.push((name, map.next_value()?));
                }
                Ok(Object { members })
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// A string that borrows from the frame unless it has escapes.
#[derive(serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct Key<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// The name JSON Schema gives the type of a raw value, for error texts.
pub(crate) fn type_of(raw: &str) -> &'static str {
    match raw.as_bytes().first() {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(b'n') => "null",
        Some(_) if raw.contains(['.', 'e', 'E']) => "number",
        Some(_) => "integer",
        None => "missing",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(frame: &str) -> (String, i32) {
        let Err(Rejection { id, error }) = parse(frame.as_bytes()) else { panic!("{frame} was accepted") };
        (id.as_str().to_owned(), error.code)
    }

    #[test]
    fn presence_of_members_decides() {
        assert!(matches!(parse(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), Ok(Message::Request(_))));
        assert!(matches!(parse(br#"{"jsonrpc":"2.0","method":"ping"}"#), Ok(Message::Notification(_))));
        assert!(matches!(parse(br#"{"jsonrpc":"2.0","id":1,"result":null}"#), Ok(Message::Response)));
        assert!(matches!(parse(br#"{"jsonrpc":"2.0","id":"a","error":{}}"#), Ok(Message::Response)));
    }

    #[test]
    fn ids_are_echoed_as_they_came() {
        for id in ["1", "-7", "\"a\\u0062\"", "123456789012345678901234567890"] {
            let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping","params":null}}"#);
            let Ok(Message::Request(request)) = parse(frame.as_bytes()) else { panic!("{frame}") };
            assert_eq!(request.id.as_str(), id);
        }
    }

    #[test]
    fn what_is_no_message_is_rejected_with_the_id_if_there_is_one() {
        assert_eq!(rejected("{"), ("null".into(), -32700));
        assert_eq!(rejected("nonsense"), ("null".into(), -32700));
        assert_eq!(rejected("5"), ("null".into(), -32600));
        assert_eq!(rejected("[]"), ("null".into(), -32600));
        assert_eq!(rejected(r#"{"id":3,"method":"x"}"#), ("3".into(), -32600));
        assert_eq!(rejected(r#"{"jsonrpc":"1.0","id":3,"method":"x"}"#), ("3".into(), -32600));
        assert_eq!(rejected(r#"{"jsonrpc":2,"id":3,"method":"x"}"#), ("3".into(), -32600));
        assert_eq!(rejected(r#"{"jsonrpc":"2.0","id":3,"method":5}"#), ("3".into(), -32600));
        assert_eq!(rejected(r#"{"jsonrpc":"2.0","id":3}"#), ("3".into(), -32600));
        assert_eq!(rejected(r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#), ("null".into(), -32600));
        assert_eq!(rejected(r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#), ("null".into(), -32600));
        assert_eq!(rejected(r#"{"jsonrpc":"2.0","id":3,"id":3,"method":"x"}"#), ("3".into(), -32600));
        assert_eq!(rejected(r#"{"jsonrpc":"2.0","id":3,"method":"x","result":{}}"#), ("3".into(), -32600));
    }

    #[test]
    fn depth_alone_does_not_exhaust_the_stack() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{}{}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        assert!(parse(deep.as_bytes()).is_ok());
    }
}
