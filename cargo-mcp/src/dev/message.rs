//! [`Message`]: a JSON-RPC message, read as far as a supervisor has to; the rest stays as it was written.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The `_meta` key that makes a request one of 2026-07-28 or later.
pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// The `_meta` key of what arrives on a `subscriptions/listen` stream.
pub(crate) const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// JSON-RPC's "internal error": the only code for what goes wrong between client and server.
const INTERNAL_ERROR: i32 = -32603;
/// JSON-RPC's "method not found".
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;

/// The id of a request, the same however it was written: `1` and `"1"` differ, `"1"` and `"\u0031"` do not.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Id(String);

impl Id {
    pub(crate) fn of(value: &Value) -> Self {
        Id(value.to_string())
    }

    /// As JSON.
    pub(crate) fn json(&self) -> &str {
        &self.0
    }
}

/// A JSON-RPC message that borrows from its line.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Message<'a> {
    #[serde(skip)]
    line: &'a str,
    #[serde(borrow, rename = "id")]
    raw_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) params: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) error: Option<&'a RawValue>,
}

/// What a message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Request(Id),
    Notification,
    Response(Id),
    /// Unknown: passed through.
    Other,
}

impl<'a> Message<'a> {
    /// Reads a JSON object; arrays and malformed lines are not messages.
    pub(crate) fn read(line: &'a str) -> Option<Self> {
        let mut message: Message<'a> = serde_json::from_str(line).ok()?;
        message.line = line;
        Some(message)
    }

    pub(crate) fn kind(&self) -> Kind {
        let id = self.raw_id.and_then(|raw| serde_json::from_str(raw.get()).ok()).map(|id: Value| Id::of(&id));
        match (id, &self.method) {
            (Some(id), Some(_)) => Kind::Request(id),
            (None, Some(_)) => Kind::Notification,
            (Some(id), None) if self.result.is_some() || self.error.is_some() => Kind::Response(id),
            _ => Kind::Other,
        }
    }

    pub(crate) fn method(&self) -> &str {
        self.method.as_deref().unwrap_or_default()
    }

    /// A copy of the parameters to look at; `null` if there are none.
    pub(crate) fn params(&self) -> Value {
        value(self.params)
    }

    /// The code of an error response.
    pub(crate) fn error_code(&self) -> Option<i64> {
        value(Some(self.error?)).get("code")?.as_i64()
    }

    /// The message of an error response.
    pub(crate) fn error_message(&self) -> String {
        let error = value(self.error);
        error.get("message").and_then(Value::as_str).unwrap_or("no error message").to_owned()
    }

    /// The line with another id.
    pub(crate) fn with_id(&self, id: &str) -> String {
        self.raw_id.map_or_else(|| self.line.to_owned(), |raw| self.splice(raw, id))
    }

    /// The line with another result.
    pub(crate) fn with_result(&self, result: &Value) -> String {
        self.result.map_or_else(|| self.line.to_owned(), |raw| self.splice(raw, &result.to_string()))
    }

    /// The line with other parameters.
    pub(crate) fn with_params(&self, params: &Value) -> String {
        self.params.map_or_else(|| self.line.to_owned(), |raw| self.splice(raw, &params.to_string()))
    }

    /// Replaces a part of the line, so that everything around it keeps its bytes.
    fn splice(&self, part: &RawValue, text: &str) -> String {
        let start = part.get().as_ptr() as usize - self.line.as_ptr() as usize;
        let end = start + part.get().len();
        [&self.line[..start], text, &self.line[end..]].concat()
    }
}

/// A copy of raw JSON to look at.
pub(crate) fn value(raw: Option<&RawValue>) -> Value {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or(Value::Null)
}

/// Whether the parameters of a request are those of 2026-07-28 or later.
pub(crate) fn is_modern(params: &Value) -> bool {
    params.pointer("/_meta").and_then(|meta| meta.get(VERSION_KEY)).is_some()
}

/// The stream a notification belongs to.
pub(crate) fn subscription(params: &Value) -> Option<Id> {
    params.pointer("/_meta").and_then(|meta| meta.get(SUBSCRIPTION_KEY)).map(Id::of)
}

/// An error response of the supervisor.
pub(crate) fn error(id: &Id, text: &str) -> String {
    let error = json!({ "code": INTERNAL_ERROR, "message": text });
    format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, id.json())
}

/// A response of the supervisor.
pub(crate) fn response(id: &Id, result: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.json())
}

/// A request of the supervisor.
pub(crate) fn request(id: &str, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// A notification of the supervisor.
pub(crate) fn notification(method: &str, params: &Value) -> String {
    if params.is_null() {
        json!({ "jsonrpc": "2.0", "method": method }).to_string()
    } else {
        json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
    }
}
