//! A whole conversation with the server, as a real client has it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// The client's messages and the responses it expects; `null` after a notification, which has none.
fn conversation() -> Vec<(Value, Value)> {
    serde_json::from_str(include_str!("conversation.json")).unwrap()
}

/// Drops two differences clients do not notice: `isError: false`, which is the default, and the details of
/// capabilities, which depend on the server.
fn comparable(mut message: Value) -> Value {
    if let Some(result) = message["result"].as_object_mut() {
        if result.get("isError") == Some(&json!(false)) {
            result.remove("isError");
        }
        if let Some(capabilities) = result.get_mut("capabilities").and_then(Value::as_object_mut) {
            capabilities.retain(|name, _| ["tools", "resources", "prompts"].contains(&&**name));
            capabilities.values_mut().for_each(|details| *details = json!({}));
        }
    }
    message
}

#[test]
fn responses_match_the_conversation() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_weather"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut input = server.stdin.take().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    for (message, expected) in conversation() {
        writeln!(input, "{message}").unwrap();
        if expected.is_null() {
            continue;
        }
        let answer: Value = serde_json::from_str(&lines.next().expect("an answer").unwrap()).unwrap();
        assert_eq!(comparable(answer), comparable(expected), "to {message}");
    }
    drop(input);
    assert!(lines.next().is_none(), "nothing more is said");
    assert!(server.wait().unwrap().success());
}

#[test]
fn conversation_covers_every_phase() {
    let methods: Vec<Value> = conversation().into_iter().map(|(message, _)| message["method"].clone()).collect();
    for method in
        ["initialize", "notifications/initialized", "tools/list", "tools/call", "resources/list", "resources/read"]
    {
        assert!(methods.contains(&json!(method)), "{method} is missing");
    }
}
