//! Malformed lines and messages.

use super::{MODERN, error, gets, gets_nothing, start};

const NO_ID: &str = "Invalid request: a request id is a string or an integer";
const NO_VERSION: &str = r#"Invalid request: every message carries "jsonrpc": "2.0""#;

/// The response to malformed JSON.
fn not_json(why: &str) -> String {
    error("null", -32700, &format!("Parse error: the message is not valid JSON: {why}"))
}

/// A parameter of the wrong type, or missing.
fn wrong(id: u32, message: &str, field: &str, expected: &str, actual: &str) -> String {
    let data = format!(r#"{{"field":"{field}","expectedType":"{expected}","actualType":"{actual}"}}"#);
    error(&id.to_string(), -32602, message).replace("\"}}", &format!(r#"","data":{data}}}}}"#))
}

#[test]
fn invalid_json_is_a_parse_error() {
    let mut server = start();
    gets(&mut server, "{", [&*not_json("EOF while parsing an object at line 1 column 1")]);
    gets(&mut server, "nonsense", [&*not_json("expected ident at line 1 column 2")]);
    let two = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    gets(&mut server, two, [&*not_json("trailing characters at line 1 column 41")]);
    gets(&mut server, "\0", [&*not_json("expected value at line 1 column 1")]);
    // Ten malformed lines in a row are ten errors, and the connection stays open.
    let expected = vec![not_json("EOF while parsing an object at line 1 column 1"); 10];
    gets(&mut server, ["{"; 10].join("\n"), expected.iter().map(String::as_str));
    server.finish();
}

#[test]
fn invalid_utf8_is_a_parse_error() {
    let mut server = start();
    let answer = error("null", -32700, "Parse error: the message is not UTF-8");
    gets(&mut server, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\xff\"}", [&*answer]);
    gets(&mut server, b"\x80\x81\x82", [&*answer]);
    // UTF-16, as some shells write it: every second byte is zero, and half a newline is left over.
    gets(&mut server, b"\xff\xfe{\0}\0", [&*answer]);
    server.finish();
}

#[test]
fn duplicate_keys_are_rejected() {
    let mut server = start();
    let twice = "Invalid request: not a JSON-RPC message: duplicate member";
    let frame = r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#;
    gets(&mut server, frame, [&*error("1", -32600, twice)]);
    // The id is ambiguous.
    let frame = r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#;
    gets(&mut server, frame, [&*error("null", -32600, twice)]);
    let frame = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"quick","name":"panic"}}"#;
    gets(&mut server, frame, [&*error("3", -32600, "Invalid request: `params`: duplicate key `name`")]);
    let frame =
        r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"sleep","arguments":{"ms":1,"ms":60000}}}"#;
    gets(&mut server, frame, [&*error("4", -32600, "Invalid request: `arguments`: duplicate key `ms`")]);
    server.finish();
}

#[test]
fn missing_or_wrong_jsonrpc_member_is_rejected() {
    let mut server = start();
    for version in ["", r#""jsonrpc":"1.0","#, r#""jsonrpc":"2","#, r#""JSONRPC":"2.0","#] {
        gets(&mut server, format!(r#"{{{version}"id":1,"method":"ping"}}"#), [&*error("1", -32600, NO_VERSION)]);
    }
    for (version, what) in [("2.0", "floating point `2.0`"), ("null", "null"), ("[]", "sequence")] {
        let text = format!("Invalid request: not a JSON-RPC message: invalid type: {what}, expected a string");
        let frame = format!(r#"{{"jsonrpc":{version},"id":1,"method":"ping"}}"#);
        gets(&mut server, frame, [&*error("1", -32600, &text)]);
    }
    server.finish();
}

#[test]
fn invalid_ids_are_rejected() {
    let mut server = start();
    for id in ["null", "1.5", "1.01", "1.0e3", "1e3", "true", "{}", r#"{"a":1}"#, "[1]"] {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        gets(&mut server, frame, [&*error("null", -32600, NO_ID)]);
    }
    server.finish();
}

#[test]
fn huge_ids_are_echoed_verbatim() {
    let mut server = start();
    for id in ["9".repeat(1000), format!("-{}", "8".repeat(1000)), format!(r#""{}""#, r"\u0061".repeat(20_000))] {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        gets(&mut server, frame, [&*format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)]);
        // Also after the line itself was freed.
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"sleep","arguments":{{"ms":5}}}}}}"#
        );
        let result = r#"{"content":[{"type":"text","text":"slept 5"}]}"#;
        gets(&mut server, call, [&*format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)]);
    }
    server.finish();
}

#[test]
fn params_must_be_an_object() {
    let mut server = start();
    for (params, kind) in [("[]", "array"), ("[1,2]", "array"), (r#""x""#, "string"), ("7", "integer")] {
        let message = format!("Invalid params: `params` must be of type object, not {kind}");
        let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{params}}}"#);
        gets(&mut server, frame, [&*wrong(1, &message, "params", "object", kind)]);
    }
    server.finish();
}

#[test]
fn malformed_params_name_the_field() {
    let mut server = start();
    let missing = |field, kind| format!("Invalid params: `{field}` is missing; it is of type {kind}");
    let not = |field, kind, actual| format!("Invalid params: `{field}` must be of type {kind}, not {actual}");
    for (id, method, params, (field, expected, actual)) in [
        (1, "tools/call", "{}", ("name", "string", "missing")),
        (2, "tools/call", r#"{"name":7}"#, ("name", "string", "integer")),
        (3, "tools/call", r#"{"name":"quick","arguments":[]}"#, ("arguments", "object", "array")),
        (4, "tools/list", r#"{"cursor":{}}"#, ("cursor", "string", "object")),
        (5, "logging/setLevel", "{}", ("level", "string", "missing")),
        (6, "logging/setLevel", r#"{"level":1}"#, ("level", "string", "integer")),
    ] {
        let message = if actual == "missing" { missing(field, expected) } else { not(field, expected, actual) };
        let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        gets(&mut server, frame, [&*wrong(id, &message, field, expected, actual)]);
    }
    server.finish();
}

#[test]
fn notifications_with_an_id_are_rejected() {
    let mut server = start();
    for name in ["initialized", "cancelled", "progress", "roots/list_changed", "unheard-of"] {
        let text = format!("Invalid request: `notifications/{name}` is a notification; it carries no id");
        let frame = format!(r#"{{"jsonrpc":"2.0","id":5,"method":"notifications/{name}"}}"#);
        gets(&mut server, frame, [&*error("5", -32600, &text)]);
        let frame =
            format!(r#"{{"jsonrpc":"2.0","id":6,"method":"notifications/{name}","params":{{"_meta":{MODERN}}}}}"#);
        gets(&mut server, frame, [&*error("6", -32600, &text)]);
    }
    server.finish();
}

#[test]
fn unsolicited_responses_are_ignored() {
    let mut server = start();
    for response in [
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{},"error":{}}"#,
        r#"{"jsonrpc":"1.0","result":7}"#,
    ] {
        gets_nothing(&mut server, response);
    }
    server.finish();
}
