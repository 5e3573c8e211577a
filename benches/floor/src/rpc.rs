//! JSON-RPC and the MCP methods: one line in, at most one line appended to the replies.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::tools;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
pub const INVALID_PARAMS: i32 = -32602;

/// The only revision this server supports, whatever the client requests.
const INITIALIZED: &[u8] =
    br#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}"#;

/// `Cow` because a client may write `tools\/call`; nothing is copied unless it does.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// Why a request failed.
pub struct Failure {
    pub code: i32,
    pub message: String,
}

impl Failure {
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

pub fn answer(line: &[u8], replies: &mut Vec<u8>) {
    let message = match parse(line) {
        Ok(message) => message,
        Err(failure) => return refuse("null", &failure, replies),
    };
    // Without an id it is a notification; none needs any action here.
    let Some(id) = message.id.map(RawValue::get) else {
        return;
    };
    let start = replies.len();
    replies.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    replies.extend_from_slice(id.as_bytes());
    replies.extend_from_slice(br#","result":"#);
    match result(&message, replies) {
        Ok(()) => replies.extend_from_slice(b"}\n"),
        Err(failure) => {
            replies.truncate(start);
            refuse(id, &failure, replies);
        }
    }
}

/// Checks the encoding once for the whole line, which is cheaper than string by string.
fn parse(line: &[u8]) -> Result<Message<'_>, Failure> {
    let line = str::from_utf8(line).map_err(|error| Failure::new(PARSE_ERROR, error.to_string()))?;
    serde_json::from_str(line).map_err(|error| {
        let code = if error.is_data() { INVALID_REQUEST } else { PARSE_ERROR };
        Failure::new(code, error.to_string())
    })
}

/// Appends the result of a request.
fn result(message: &Message<'_>, out: &mut Vec<u8>) -> Result<(), Failure> {
    if message.jsonrpc != "2.0" {
        return Err(Failure::new(INVALID_REQUEST, "jsonrpc must be \"2.0\""));
    }
    match &*message.method {
        "tools/call" => return tools::call(message.params, out),
        "tools/list" => out.extend_from_slice(tools::LIST.as_bytes()),
        "initialize" => out.extend_from_slice(INITIALIZED),
        "ping" => out.extend_from_slice(b"{}"),
        "" => return Err(Failure::new(INVALID_REQUEST, "a request needs a method")),
        other => {
            let text = format!("unknown method: {other}");
            return Err(Failure::new(METHOD_NOT_FOUND, text));
        }
    }
    Ok(())
}

fn refuse(id: &str, failure: &Failure, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(br#","error":{"code":"#);
    write_json(&failure.code, out);
    out.extend_from_slice(br#","message":"#);
    write_json(&failure.message, out);
    out.extend_from_slice(b"}}\n");
}

/// Appends a value as JSON.
pub fn write_json<T: serde::Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("plain data always has a JSON form");
}
