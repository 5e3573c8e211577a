//! Clients that close a pipe in the middle of something; `process.rs` has more of them.

use serde_json::{Value, json};

use super::start;

#[test]
fn truncated_line_at_eof_is_a_parse_error() {
    let mut server = start();
    server.serves();
    server.write(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"qui"#);
    let (rest, _) = server.finish();
    let [line] = &rest[..] else { panic!("{rest:?}") };
    let answer: Value = serde_json::from_str(line).unwrap();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32700)), "{answer}");
}

#[test]
fn truncated_utf8_at_eof_is_a_parse_error() {
    let mut server = start();
    server.serves();
    server.write(b"\"\xe5\x8c");
    let (rest, _) = server.finish();
    assert_eq!(rest, [super::error("null", -32700, "Parse error: the message is not UTF-8")]);
}

#[test]
fn closed_stdout_with_pending_responses_ends_the_process() {
    let mut server = start();
    server.call(1, "sleep", &json!({"ms": 20}));
    server.call(2, "block", &json!({"ms": 20}));
    server.close_output();
    server.close_input();
    assert!(server.ended().success());
}

#[test]
fn closed_stdout_during_log_flood_ends_the_process() {
    let mut server = start();
    server.call(1, "log", &json!({"messages": 1_000_000, "bytes": 1000}));
    assert_eq!(server.next()["params"]["data"]["number"], 0);
    server.close_output();
    server.close_input();
    assert!(server.ended().success());
}
