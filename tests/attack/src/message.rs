//! The requests of both eras, as bytes.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::target::Target;

/// A request, ready to be sent many times.
pub(crate) type Bytes = Arc<[u8]>;

/// The revision of the sessions.
const LEGACY: &str = "2025-11-25";

const MODERN: &str = "2026-07-28";

/// Text that nearly fills the longest message a server takes by default, which is 4 MiB.
pub(crate) fn filler() -> String {
    "x".repeat(4 * 1024 * 1024 - 4096)
}

/// A request of 2026-07-28, which describes itself. A `_meta` in `params` extends that of every request.
pub(crate) fn modern(target: &Target, method: &str, mut params: Value) -> Bytes {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": { "name": "attack", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    if let (Some(all), Some(Value::Object(own))) = (meta.as_object_mut(), params.get_mut("_meta")) {
        all.append(own);
    }
    params["_meta"] = meta;
    let mut head = target.post() + &format!("Mcp-Protocol-Version: {MODERN}\r\nMcp-Method: {method}\r\n");
    let name = if method.starts_with("tasks/") { &params["taskId"] } else { &params["name"] };
    if let Some(name) = name.as_str() {
        let _ = write!(head, "Mcp-Name: {name}\r\n");
    }
    whole(&head, &request(method, &params))
}

/// A call of a tool in 2026-07-28.
pub(crate) fn call(target: &Target, tool: &str, arguments: &Value) -> Bytes {
    modern(target, "tools/call", json!({ "name": tool, "arguments": arguments }))
}

/// The same from a client that knows tasks.
pub(crate) fn task(target: &Target, method: &str, mut params: Value) -> Bytes {
    let capabilities = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    params["_meta"] = json!({ "io.modelcontextprotocol/clientCapabilities": capabilities });
    modern(target, method, params)
}

/// An `initialize` whose client has these capabilities, and this name.
pub(crate) fn initialize(target: &Target, name: &str, capabilities: &Value) -> Bytes {
    let who = json!({ "name": name, "version": "1" });
    let params = json!({ "protocolVersion": LEGACY, "capabilities": capabilities, "clientInfo": who });
    whole(&target.post(), &request("initialize", &params))
}

/// The head of what is sent in a session, up to the length.
fn session_head(target: &Target, session: &str) -> String {
    target.post() + &format!("Mcp-Protocol-Version: {LEGACY}\r\nMcp-Session-Id: {session}\r\n")
}

/// A message in a session.
pub(crate) fn in_session(target: &Target, session: &str, body: &str) -> Bytes {
    whole(&session_head(target, session), body)
}

/// A request without its head, to be sent in many sessions.
pub(crate) fn request(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A DELETE, which ends a session.
pub(crate) fn end_session(target: &Target, session: &str) -> Bytes {
    session_head(target, session).replacen("POST", "DELETE", 1).into_bytes().into_iter().chain(*b"\r\n").collect()
}

/// The head of a request whose body is never finished.
pub(crate) fn unfinished(target: &Target, length: usize) -> Bytes {
    let head =
        target.post() + &format!("Mcp-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\nMcp-Name: add\r\n");
    format!("{head}Content-Length: {length}\r\n\r\n{{").into_bytes().into()
}

fn whole(head: &str, body: &str) -> Bytes {
    format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes().into()
}

/// The message in a body: the body itself, or what the last event with anything in it carries.
pub(crate) fn answer(body: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(body).ok()?.trim();
    if text.starts_with('{') {
        return serde_json::from_str(text).ok();
    }
    let mut data = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    serde_json::from_str(data.rfind(|data| !data.is_empty())?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{answer, modern};
    use crate::target::Target;

    #[test]
    fn bodies_and_events_are_read() {
        assert_eq!(answer(b""), None);
        assert_eq!(answer(br#"{"id":1}"#), Some(json!({"id": 1})));
        assert_eq!(answer(b"id: 0\ndata:\n\ndata: {\"id\":2}\n\n"), Some(json!({"id": 2})));
    }

    #[test]
    fn modern_requests_have_their_headers_and_their_length() {
        let params = json!({"name": "add", "_meta": {"progressToken": 7}});
        let bytes = modern(&Target::local(80), "tools/call", params);
        let text = std::str::from_utf8(&bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("\r\nMcp-Method: tools/call\r\nMcp-Name: add\r\n"), "{head}");
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{head}");
        let meta = &answer(body.as_bytes()).unwrap()["params"]["_meta"];
        assert_eq!((&meta["progressToken"], meta.as_object().unwrap().len()), (&json!(7), 4));
    }
}
