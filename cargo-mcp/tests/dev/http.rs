//! Over HTTP, in a session and without one.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, channel};
use std::thread::spawn;

use serde_json::{Value, json};

use crate::fixture::{self, Dev, Fixture, PATIENCE};

const MODERN: &str = "2026-07-28";

/// A response: its headers as written, and its body line by line.
struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    body: Box<dyn BufRead + Send>,
}

impl Response {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(each, _)| each.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The message, or the last one of a stream.
    fn message(mut self) -> Value {
        let mut text = String::new();
        self.body.read_to_string(&mut text).expect("a body");
        let last = text.lines().rev().find_map(|line| line.strip_prefix("data: ")).map(str::to_owned);
        serde_json::from_str(&last.unwrap_or(text)).expect("JSON")
    }

    /// The messages of a stream as they come.
    fn messages(self) -> Receiver<Value> {
        let (sender, messages) = channel();
        spawn(move || {
            for line in self.body.lines().map_while(Result::ok) {
                if let Some(data) = line.strip_prefix("data: ").filter(|data| !data.is_empty()) {
                    sender.send(serde_json::from_str(data).expect("JSON")).ok();
                }
            }
        });
        messages
    }
}

/// Decodes chunks as they come.
struct Chunks {
    stream: BufReader<TcpStream>,
    left: usize,
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 {
            let mut line = String::new();
            while line.trim().is_empty() {
                line.clear();
                if self.stream.read_line(&mut line)? == 0 {
                    return Ok(0);
                }
            }
            self.left = usize::from_str_radix(line.trim(), 16).expect("the length of a chunk");
            if self.left == 0 {
                return Ok(0);
            }
        }
        let most = buffer.len().min(self.left);
        let read = self.stream.read(&mut buffer[..most])?;
        self.left -= read;
        Ok(read)
    }
}

/// A client at an address.
struct Client {
    address: String,
    session: Option<String>,
    next: u64,
}

impl Client {
    /// Finds the address on standard error.
    fn new(dev: &Dev) -> Self {
        let note = dev.note("Serving");
        let (_, url) = note.split_once("http://").expect("a URL");
        let address = url.split('/').next().expect("an address").to_owned();
        Client { address, session: None, next: 0 }
    }

    fn send(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut request = format!(
            "{method} /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nConnection: close\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
            self.address,
            body.len()
        );
        for (name, value) in headers {
            request.extend([*name, ": ", *value, "\r\n"]);
        }
        stream.write_all(format!("{request}\r\n{body}").as_bytes()).expect("a request");
        let mut stream = BufReader::new(stream);
        let mut line = || {
            let mut line = String::new();
            stream.read_line(&mut line).expect("a line");
            line.trim().to_owned()
        };
        let status = line().split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        let mut headers = Vec::new();
        loop {
            let line = line();
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        let chunked = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("transfer-encoding"));
        let body: Box<dyn BufRead + Send> =
            if chunked { Box::new(BufReader::new(Chunks { stream, left: 0 })) } else { Box::new(stream) };
        Response { status, headers, body }
    }

    fn post(&mut self, method: &str, mut params: Value) -> Response {
        self.next += 1;
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let mut headers = match &self.session {
            Some(session) => vec![("Mcp-Session-Id", session.as_str()), ("MCP-Protocol-Version", "2025-11-25")],
            None if method == "initialize" => Vec::new(),
            None => {
                params["_meta"] = json!({
                    "io.modelcontextprotocol/protocolVersion": MODERN,
                    "io.modelcontextprotocol/clientCapabilities": {},
                });
                vec![("MCP-Protocol-Version", MODERN), ("Mcp-Method", method)]
            }
        };
        if !name.is_empty() && self.session.is_none() {
            headers.push(("Mcp-Name", &name));
        }
        let message = json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        self.send("POST", &headers, &message.to_string())
    }

    fn call(&mut self, tool: &str) -> Value {
        self.post("tools/call", json!({ "name": tool, "arguments": {} })).message()["result"].clone()
    }

    fn version(&mut self) -> String {
        let result = self.call("version");
        result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no version: {result}")).to_owned()
    }

    /// Opens a session and its stream of notifications.
    fn open_session(&mut self) -> Receiver<Value> {
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let response = self.post("initialize", params);
        let session = response.header("Mcp-Session-Id").expect("a session").to_owned();
        let answer = response.message();
        assert_eq!(answer["result"]["capabilities"]["tools"]["listChanged"], true);
        let headers = [("Mcp-Session-Id", session.as_str()), ("MCP-Protocol-Version", "2025-11-25")];
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.send("POST", &headers, &ready.to_string()).status, 202);
        let stream = self.send("GET", &headers, "");
        assert_eq!(stream.status, 200);
        self.session = Some(session);
        stream.messages()
    }

    /// Listens without a session.
    fn listen(&mut self) -> Receiver<Value> {
        let answer = self.post("server/discover", json!({})).message();
        assert_eq!(answer["result"]["capabilities"]["tools"]["listChanged"], true);
        let stream = self.post("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
        assert_eq!(stream.status, 200);
        let messages = stream.messages();
        let acknowledged = messages.recv_timeout(PATIENCE).expect("an acknowledgement");
        assert_eq!(acknowledged["params"]["notifications"]["toolsListChanged"], true);
        messages
    }
}

fn changed(messages: &Receiver<Value>) {
    let message = messages.recv_timeout(PATIENCE).expect("a notification");
    assert_eq!(message["method"], "notifications/tools/list_changed", "{message}");
}

fn three_edits(name: &str, connect: impl Fn(&mut Client) -> Receiver<Value>) {
    let fixture = Fixture::new(name);
    let dev = fixture.dev(&["--http", "127.0.0.1:0"]);
    let mut client = Client::new(&dev);
    let messages = connect(&mut client);
    assert_eq!(client.version(), "1");

    let saved = fixture.write(2, "/// Counts.\n#[tool]\nfn count() -> u32 {\n    3\n}");
    changed(&messages);
    assert_eq!(client.call("count")["content"][0]["text"], "3");
    eprintln!("{name}: from save to callable {:.2} s", saved.elapsed().as_secs_f64());
    assert!(dev.note("Swapped").contains("+ tool `count`"));

    fixture.break_it();
    dev.note("build failed");
    let result = client.call("version");
    assert_eq!(result["isError"], true, "{result}");
    assert!(result["content"][0]["text"].as_str().is_some_and(|text| text.contains("mismatched types")));
    assert_eq!(client.version(), "2");

    let gate = fixture.directory.join("gate");
    let mut other = Client { address: client.address.clone(), session: client.session.clone(), next: 1_000 };
    let path = gate.clone();
    let waiting =
        spawn(move || other.post("tools/call", json!({ "name": "wait", "arguments": { "path": path } })).message());
    // A call is in flight when its tool has written the file beside the gate.
    let entered = fixture.directory.join("gate.entered");
    fixture::wait_for(&entered);
    let saved = fixture.write(3, "");
    changed(&messages);
    assert_eq!(client.version(), "3");
    eprintln!("{name}: from save to callable {:.2} s", saved.elapsed().as_secs_f64());
    fs::write(gate, "").expect("a file");
    let answer = waiting.join().expect("an answer");
    assert_eq!(answer["result"]["content"][0]["text"], "2", "the old version finishes its call: {answer}");
    #[cfg(unix)]
    assert!(dev.terminate().success());
}

#[test]
fn session_over_http_stays_open() {
    three_edits("http-session", Client::open_session);
}

#[test]
fn stream_over_http_stays_open() {
    three_edits("http-stateless", Client::listen);
}

#[cfg(unix)]
#[test]
fn supervisor_ends_also_if_its_clients_read_nothing() {
    let fixture = Fixture::new("http-unread");
    fixture.write(1, crate::stdio::FLOOD);
    let dev = fixture.dev(&["--http", "127.0.0.1:0"]);
    let mut client = Client::new(&dev);
    let _messages = client.open_session();
    let mut unread = Vec::new();
    for number in 0..2 {
        let entered = fixture.directory.join(format!("flooding-{number}"));
        let arguments = json!({ "path": entered });
        let params = json!({ "name": "flood", "arguments": arguments, "_meta": { "progressToken": number } });
        // The head is read, the stream is not.
        unread.push(client.post("tools/call", params));
        fixture::wait_for(&entered);
    }
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(dev.terminate().success());
    drop(unread);
}

#[test]
fn server_that_exits_is_started_again() {
    let fixture = Fixture::new("http-crash");
    let dev = fixture.dev(&["--http", "127.0.0.1:0"]);
    let mut client = Client::new(&dev);
    let _messages = client.open_session();
    let answer = client.post("tools/call", json!({ "name": "crash", "arguments": {} })).message();
    assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains("exit status: 7")), "{answer}");
    assert_eq!(client.version(), "1", "the session is opened again");
    assert!(dev.terminate().success());
}
