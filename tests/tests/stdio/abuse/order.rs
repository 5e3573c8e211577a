//! Well-formed messages at the wrong time.

use std::collections::HashSet;

use mcp_tests::process::Process;
use serde_json::{Value, json};

use super::{MISBEHAVING, MODERN, error, gets, start};

#[test]
fn notifications_and_responses_before_initialize_are_ignored() {
    let mut server = Process::silent(MISBEHAVING);
    for stray in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"panic"}}"#,
        r#"{"jsonrpc":"2.0","method":"$/setTrace","params":{"value":"off"}}"#,
        r#"{"jsonrpc":"2.0","id":0,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"x"}}"#,
    ] {
        server.write(stray);
        server.write("\n");
    }
    // The very next line is the answer to this.
    server.initialize("2025-11-25");
    server.serves();
    server.finish();
}

#[test]
fn requests_before_initialize_are_rejected() {
    let mut server = Process::silent(MISBEHAVING);
    server.call(1, "quick", &json!({}));
    let refused = server.answer(1);
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert_eq!(refused["error"]["data"]["supported"], json!(["2026-07-28"]), "{refused}");
    server.initialize("2024-11-05");
    server.serves();
    server.finish();
}

#[test]
fn second_initialize_is_rejected() {
    let mut server = Process::in_revision(MISBEHAVING, "2024-11-05");
    let again =
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;
    gets(&mut server, again, [&*error("1", -32600, "Invalid request: this connection is initialized already")]);
    // The session is what it was: in 2024-11-05 wrong arguments are an error of the request.
    server.call(2, "sleep", &json!({}));
    assert_eq!(server.answer(2)["error"]["code"], -32602);
    server.finish();
}

#[test]
fn duplicate_id_in_flight_is_rejected() {
    let mut server = start();
    let in_use = error("1", -32600, "Invalid request: a request with this id is still being answered");
    // In one write, so that the first is still waiting when the second is read.
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sleep","arguments":{"ms":500}}}"#;
    let other = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"quick"}}"#;
    gets(&mut server, format!("{call}\n{other}\n{call}"), [&*in_use, &*in_use]);
    assert_eq!(server.text(1), "slept 500", "the first is unharmed");
    server.call(1, "quick", &json!({}));
    assert_eq!(server.text(1), "quick", "and the id is free again");
    server.finish();
}

#[test]
fn requests_of_both_eras_may_interleave() {
    const PAIRS: u64 = 2000;
    let mut server = Process::in_revision(MISBEHAVING, "2024-11-05");
    let writer = server.write_beside(|input| {
        use std::io::Write as _;
        (0..PAIRS).try_for_each(|pair| {
            // Now and then one that waits, so that answers overtake each other.
            let tool = if pair % 100 == 7 { r#""sleep","arguments":{"ms":1}"# } else { r#""quick","arguments":{}"# };
            let (old, new) = (2 * pair + 1, 2 * pair + 2);
            writeln!(input, r#"{{"jsonrpc":"2.0","id":{old},"method":"tools/call","params":{{"name":{tool}}}}}"#)?;
            writeln!(
                input,
                r#"{{"jsonrpc":"2.0","id":{new},"method":"tools/call","params":{{"name":{tool},"_meta":{MODERN}}}}}"#
            )
        })
    });
    let mut seen = HashSet::new();
    for _ in 0..2 * PAIRS {
        let answer = server.next();
        let id = answer["id"].as_u64().unwrap();
        let kind = if id.is_multiple_of(2) { json!("complete") } else { Value::Null };
        assert_eq!(answer["result"]["resultType"], kind, "{answer}");
        assert!(seen.insert(id), "answered twice: {answer}");
    }
    server.rejoin(writer);
    server.serves();
    server.finish();
}
