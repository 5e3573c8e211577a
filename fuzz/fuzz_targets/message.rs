//! The parser alone: no panic, a parsed message survives printing and parsing, and a malformed one gets a
//! valid error response.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use mcp_fuzz::wire;
use mcp_runtime::fuzzing::{Parsed, id_in_prefix, members, parse, parse_batch};
use serde_json::value::RawValue;

fuzz_target!(|frame: &[u8]| {
    let message = parse(frame);
    check(&message);
    check_prefixes(frame, &message);
    match parse_batch(frame, 50) {
        Ok(messages) => messages.iter().for_each(check),
        Err(rejected) => check(&rejected),
    }
});

fn check(message: &Parsed<'_>) {
    if let Parsed::Rejected { id, line } = message {
        let line = str::from_utf8(line).expect("an answer is text");
        let said = wire::read(line.strip_suffix('\n').expect("an answer is a line"));
        assert!(
            matches!(&said[..], [wire::Said::Answer { id: told, result: None }] if *told == wire::key(id)),
            "{line}"
        );
        assert_eq!(parse(line.as_bytes()), Parsed::Response, "{line}");
        return;
    }
    if let Parsed::Request { params: Some(params), .. } | Parsed::Notification { params: Some(params), .. } = message {
        check_members(params);
    }
    let printed = print(message);
    assert_eq!(parse(printed.as_bytes()), *message, "{printed}");
    let batch = format!("[{printed}]");
    match (parse_batch(batch.as_bytes(), 1), message) {
        (Ok(again), Parsed::Request { id, method, .. }) if method == "initialize" || method == "shutdown" => {
            assert!(matches!(&again[..], [Parsed::Rejected { id: told, .. }] if told == id), "{batch}");
        }
        (Ok(again), _) => assert_eq!(again, std::slice::from_ref(message), "{batch}"),
        (Err(rejected), _) => panic!("{rejected:?}: {batch}"),
    }
}

/// The unchecked member iterator agrees with serde.
fn check_members(params: &str) {
    if !params.starts_with('{') {
        return;
    }
    let read: Option<BTreeMap<String, &RawValue>> = serde_json::from_str(params).ok();
    let taken: Option<BTreeMap<_, _>> = members(params).map(Vec::into_iter).map(Iterator::collect);
    match (&read, &taken) {
        (Some(read), Some(taken)) => {
            let read = read.iter().map(|(key, value)| (&**key, value.get()));
            assert!(read.eq(taken.iter().map(|(key, value)| (&**key, *value))), "{params}: {taken:?}");
        }
        (None, None) => {}
        _ => panic!("{params}: {read:?}, {taken:?}"),
    }
}

/// Prints a message as a client could have sent it.
fn print(message: &Parsed<'_>) -> String {
    let (id, method, params) = match message {
        Parsed::Request { id, method, params } => {
            assert!(wire::is_id(id), "{id}");
            (format!(r#","id":{id}"#), method, params)
        }
        Parsed::Notification { method, params } => (String::new(), method, params),
        Parsed::Response | Parsed::Rejected { .. } => return r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned(),
    };
    let method = serde_json::to_string(method).expect("a string is JSON");
    let params = params.map(|params| format!(r#","params":{params}"#)).unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0"{id},"method":{method}{params}}}"#)
}

/// Wherever a frame is truncated, an id found in the prefix is the id of the whole frame.
fn check_prefixes(frame: &[u8], whole: &Parsed<'_>) {
    // Checking all prefixes would be quadratic.
    let step = frame.len() / 64 + 1;
    for end in (0..=frame.len()).rev().step_by(step) {
        let Some(id) = id_in_prefix(&frame[..end]) else { continue };
        assert!(wire::is_id(id), "{id}");
        if let Parsed::Request { id: own, .. } = whole {
            assert_eq!(id, *own);
        }
        assert!(!matches!(whole, Parsed::Notification { .. }), "{id}");
    }
}
