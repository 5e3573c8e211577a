//! The server as a process that answers over stdio.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

#[test]
fn add_is_answered_over_stdio() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_hello"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut input = server.stdin.take().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut ask = |message: &str| {
        writeln!(input, "{message}").unwrap();
        lines.next().expect("an answer").unwrap()
    };

    let answer = ask(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
    );
    assert!(answer.contains(r#""serverInfo":{"name":"hello","version":"0.1.0"}"#), "{answer}");
    let answer =
        ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":3}}}"#);
    assert_eq!(answer, r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"5"}]}}"#);

    drop(input); // end of input: the server exits
    assert!(server.wait().unwrap().success());
}
