//! A strict reader of the server's lines: panics on anything that is not a JSON-RPC 2.0 message.
//!
//! It does not use the parser under test, and never reads echoed text into a `String`: a JSON string may hold
//! half a surrogate pair, which is echoed verbatim.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// The members of an object without duplicate keys.
pub fn members(json: &str) -> Option<BTreeMap<String, &RawValue>> {
    serde_json::from_str(json).ok()
}

/// One message from the server.
#[derive(Debug)]
pub enum Said<'a> {
    /// A response: its id as [`key`] writes it, and the result unless it is an error.
    Answer {
        id: String,
        result: Option<&'a str>,
    },
    Notification,
    /// A request from the server.
    Question,
}

/// Reads a line: one message, or a batch of responses.
pub fn read(line: &str) -> Vec<Said<'_>> {
    assert!(!line.contains(['\n', '\r']), "more than a line: {line}");
    if !line.starts_with('[') {
        return vec![message(line)];
    }
    let list: Vec<&RawValue> = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert!(!list.is_empty(), "an empty list is no answer");
    let said: Vec<_> = list.into_iter().map(|raw| message(raw.get())).collect();
    assert!(said.iter().all(|said| matches!(said, Said::Answer { .. })), "a list has answers only: {line}");
    said
}

fn message(json: &str) -> Said<'_> {
    let members = members(json).unwrap_or_else(|| panic!("no object: {json}"));
    let get = |name: &str| members.get(name).map(|raw| raw.get());
    assert_eq!(get("jsonrpc"), Some("\"2.0\""), "{json}");
    let Some(id) = get("id") else {
        assert!(get("method").is_some_and(|method| method.starts_with("\"notifications/")), "{json}");
        let known = 2 + usize::from(get("params").is_some_and(|params| params.starts_with('{')));
        assert_eq!(members.len(), known, "a notification has a method and perhaps params: {json}");
        return Said::Notification;
    };
    if let Some(method) = get("method") {
        let asked = ["\"elicitation/create\"", "\"sampling/createMessage\"", "\"roots/list\""];
        assert!(asked.contains(&method) && id.starts_with("\"ask-") && members.len() == 4, "{json}");
        return Said::Question;
    }
    assert!(is_id(id) || id == "null", "{json}");
    assert_eq!(members.len(), 3, "an answer has an id, and a result or an error: {json}");
    match (get("result"), get("error")) {
        (Some(result), None) => {
            assert!(id != "null" && result.starts_with('{'), "{json}");
            Said::Answer { id: key(id), result: Some(result) }
        }
        (None, Some(error)) => {
            check_error(error);
            Said::Answer { id: key(id), result: None }
        }
        _ => panic!("a result or an error: {json}"),
    }
}

fn check_error(json: &str) {
    let error = members(json).unwrap_or_else(|| panic!("no object: {json}"));
    let number = |name: &str| error.get(name).and_then(|raw| raw.get().parse::<i32>().ok());
    assert!(number("code").is_some_and(|code| (-32768..=-32000).contains(&code)), "{json}");
    let message = error.get("message").and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    assert!(message.is_some_and(|message| !message.is_empty()), "{json}");
    assert!(error.keys().all(|name| ["code", "message", "data"].contains(&&**name)), "{json}");
}

/// Whether `raw` is the JSON of a string or of an integer, which may be written as `1.0`.
pub fn is_id(raw: &str) -> bool {
    let json = serde_json::from_str::<&RawValue>(raw).is_ok_and(|value| value.get() == raw);
    let number = whole(raw);
    json && (raw.starts_with('"')
        || !number.contains(['.', 'e', 'E']) && number.ends_with(|c: char| c.is_ascii_digit()))
}

/// A number without a fraction of zeros.
fn whole(number: &str) -> &str {
    match number.split_once('.') {
        Some((whole, fraction)) if fraction.trim_matches('0').is_empty() => whole,
        _ => number,
    }
}

/// A normal form, equal for every spelling of one id.
pub fn key(raw: &str) -> String {
    serde_json::from_str::<String>(raw).map_or_else(|_| whole(raw).to_owned(), |text| format!("{text:?}"))
}
