//! Clients that do not read standard error, where the log goes.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::{MISBEHAVING, start};

/// A server whose standard error is not read, unless the test does so.
struct Unread {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Unread {
    fn start(log: Stdio) -> Self {
        let mut command = Command::new(MISBEHAVING);
        let mut child = command
            .env("RUST_BACKTRACE", "1")
            .env("RUST_LOG", "trace")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut server = Unread { child, input, output };
        server.request("initialize", &json!({"protocolVersion": "2025-11-25"}));
        server
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        writeln!(self.input, "{message}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))["result"].clone()
    }
}

/// Much more than a pipe or the buffer holds: by the handler, by panics, by output that goes astray.
fn answers_every_call(server: &mut Unread) {
    for _ in 0..3 {
        assert_eq!(server.call("grumble", &json!({"lines": 20_000}))["content"][0]["text"], "20000");
        for _ in 0..5 {
            assert_eq!(server.call("panic", &json!({}))["isError"], true);
            assert_eq!(server.call("noisy", &json!({}))["content"][0]["text"], "said nothing");
        }
    }
}

#[test]
fn unread_log_delays_no_call() {
    let mut server = Unread::start(Stdio::piped());
    answers_every_call(&mut server);
    // Whoever reads it late gets the oldest part, and is told what is missing.
    let mut unread = server.child.stderr.take().unwrap();
    let log = std::thread::spawn(move || {
        let mut log = Vec::new();
        unread.read_to_end(&mut log).unwrap();
        String::from_utf8_lossy(&log).into_owned()
    });
    drop(server.input);
    assert!(server.child.wait().unwrap().success());
    let log = log.join().unwrap();
    assert!(log.starts_with(&format!("{:>99}\n{:>99}\n", 0, 1)), "{}", &log[..300]);
    assert!(log.contains("bytes of this log were dropped"));
    assert!(log.len() < 2 * 1024 * 1024, "{}", log.len());
}

/// As Node starts its children.
#[test]
fn unread_log_in_a_socket_delays_no_call() {
    let (log, _unread) = UnixStream::pair().unwrap();
    let mut server = Unread::start(Stdio::from(std::os::fd::OwnedFd::from(log)));
    answers_every_call(&mut server);
    drop(server.input);
    assert!(server.child.wait().unwrap().success(), "the process ends, too");
}

#[test]
fn closed_log_delays_no_call() {
    let mut server = Unread::start(Stdio::piped());
    drop(server.child.stderr.take());
    answers_every_call(&mut server);
    drop(server.input);
    assert!(server.child.wait().unwrap().success());
}

/// Nothing is lost of a log that is read, nor of its last lines.
#[test]
fn log_that_is_read_is_complete() {
    for _ in 0..10 {
        let mut server = start();
        server.call(1, "grumble", &json!({"lines": 9_000}));
        let (rest, log) = server.finish();
        assert_eq!(rest.len(), 1, "{rest:?}");
        let lines: Vec<String> = (0..9_000).map(|number| format!("{number:>99}\n")).collect();
        let expected = lines.concat();
        assert!(log == expected, "{} of {} bytes", log.len(), expected.len());
    }
}
