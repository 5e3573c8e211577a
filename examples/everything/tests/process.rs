//! The server as a process, on both transports.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};

const DISCOVER: &str = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

/// A process that does not outlive the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn everything(arguments: &[&str]) -> Server {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everything"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Server(command.spawn().expect("the server starts"))
}

fn first_line(stderr: Option<ChildStderr>) -> String {
    let mut line = String::new();
    BufReader::new(stderr.unwrap()).read_line(&mut line).unwrap();
    line
}

#[test]
fn http_prints_its_address_and_serves() {
    let mut server = everything(&["--http", "127.0.0.1:0"]);
    let said = first_line(server.0.stderr.take());
    let address = said.trim().strip_prefix("listening on http://").and_then(|rest| rest.strip_suffix("/mcp"));
    let mut stream = TcpStream::connect(address.expect("an address")).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: application/json, \
         text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: server/discover\r\ncontent-length: \
         {}\r\nconnection: close\r\n\r\n{DISCOVER}",
        DISCOVER.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains(r#""supportedVersions":"#), "{answer}");
}

#[test]
fn stdio_serves_until_eof() {
    let mut server = everything(&["--stdio"]);
    let mut input = server.0.stdin.take().unwrap();
    let mut lines = BufReader::new(server.0.stdout.take().unwrap()).lines();
    writeln!(input, "{DISCOVER}").unwrap();
    let answer = lines.next().expect("an answer").unwrap();
    assert!(answer.contains(r#""supportedVersions":"#), "{answer}");
    drop(input);
    assert!(server.0.wait().unwrap().success());
}

#[test]
fn unknown_command_is_told_apart() {
    let mut server = everything(&["carrier-pigeon"]);
    let said = first_line(server.0.stderr.take());
    assert!(said.contains("no command `carrier-pigeon`; `--help` lists them"), "{said}");
    assert_eq!(server.0.wait().unwrap().code(), Some(2));
}
