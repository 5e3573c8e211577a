//! The application as a process: graceful shutdown.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A process that does not outlive the test.
struct App(Child);

impl Drop for App {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a request to one of the servers.
fn send(address: &str, method: &str, headers: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let accept = "accept: application/json, text/event-stream";
    let length = body.len();
    write!(
        stream,
        "{method} /counter HTTP/1.1\r\nhost: localhost\r\n{accept}\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    stream
}

#[test]
fn signals_end_the_process_despite_open_streams() {
    for signal in ["TERM", "INT"] {
        let command = &mut Command::new(env!("CARGO_BIN_EXE_axum-app"));
        let mut app = App(command.arg("127.0.0.1:0").stderr(Stdio::piped()).spawn().unwrap());
        let mut said = String::new();
        BufReader::new(app.0.stderr.take().unwrap()).read_line(&mut said).unwrap();
        let address = said.trim().strip_prefix("listening on http://").expect("an address");

        // A stream without end.
        let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
        let mut opened = send(address, "POST", "content-type: application/json\r\nconnection: close\r\n", hello);
        let mut answer = String::new();
        opened.read_to_string(&mut answer).unwrap();
        let session = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("a session");
        let mut stream = send(address, "GET", &format!("mcp-session-id: {session}\r\n"), "");
        let mut first = [0; 15];
        stream.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 200 OK", "{:?}", String::from_utf8_lossy(&first));

        let sent = Command::new("sh").args(["-c", &format!("kill -{signal} {}", app.0.id())]).status().unwrap();
        assert!(sent.success());
        let begun = Instant::now();
        let ended = loop {
            if let Some(status) = app.0.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "{signal} does not end it");
            std::thread::sleep(Duration::from_millis(10));
        };
        assert_eq!(ended.code(), Some(0), "{signal}");
    }
}
