//! The program with a runtime API of Lambda that is made up: it hands out events, and takes responses as they come.
#![cfg(unix)]

mod event;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use event::event;
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(30);

/// A process that does not outlive the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An instance of the function: it is sent one event after the other.
struct Instance {
    events: Sender<Value>,
    /// Parts of responses; an empty one is the end of a response.
    parts: Receiver<Vec<u8>>,
    _process: Process,
}

impl Instance {
    fn start(variable: &str, value: &str) -> Self {
        let (events, pending) = channel();
        let (sender, parts) = channel();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let pending = Arc::new(Mutex::new(pending));
        thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let (pending, sender) = (Arc::clone(&pending), sender.clone());
                thread::spawn(move || while runtime_api(&connection, &pending, &sender).is_some() {});
            }
        });
        let process = Command::new(env!("CARGO_BIN_EXE_lambda"))
            .env("AWS_LAMBDA_RUNTIME_API", address)
            .env("AWS_LAMBDA_FUNCTION_NAME", "converter")
            .env("AWS_LAMBDA_FUNCTION_VERSION", "1")
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128")
            .env(variable, value)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Instance { events, parts, _process: Process(process) }
    }

    fn send(&self, event: Value) {
        self.events.send(event).unwrap();
    }

    /// What was received of a response when it has this text, or has ended.
    fn until(&self, text: &str) -> String {
        let mut received = String::new();
        loop {
            let part = self.parts.recv_timeout(SOON).unwrap_or_else(|_| panic!("nothing comes after {received}"));
            received.push_str(&String::from_utf8_lossy(&part));
            if part.is_empty() || (!text.is_empty() && received.contains(text)) {
                return received;
            }
        }
    }

    /// The whole response to an event.
    fn invoke(&self, event: Value) -> String {
        self.send(event);
        self.until("")
    }
}

/// Answers one request of the function. `None`: the connection has ended.
fn runtime_api(connection: &TcpStream, events: &Mutex<Receiver<Value>>, parts: &Sender<Vec<u8>>) -> Option<()> {
    let mut reader = BufReader::new(connection);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.to_lowercase();
    let mut answer = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned();
    if head.starts_with("get ") && head.contains("/invocation/next") {
        let event = events.lock().unwrap().recv().ok()?.to_string();
        answer = format!(
            "HTTP/1.1 200 OK\r\nlambda-runtime-aws-request-id: 1\r\nlambda-runtime-deadline-ms: 9999999999999\r\n\
             lambda-runtime-invoked-function-arn: arn:aws:lambda:eu-central-1:1:function:converter\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{event}",
            event.len()
        );
    } else if let Some(length) = head.lines().find_map(|line| line.strip_prefix("content-length: ")) {
        let mut body = vec![0; length.parse().ok()?];
        reader.read_exact(&mut body).ok()?;
        parts.send(body).ok()?;
        parts.send(Vec::new()).ok()?;
    } else {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let length = usize::from_str_radix(line.trim(), 16).ok()?;
            let mut chunk = vec![0; length + 2];
            reader.read_exact(&mut chunk).ok()?;
            chunk.truncate(length);
            parts.send(chunk).ok()?;
            if length == 0 {
                break;
            }
        }
    }
    (&*connection).write_all(answer.as_bytes()).ok()
}

#[test]
fn program_serves_by_itself() {
    let instance = Instance::start("STATE_SECRET", "an example of a secret, which has 32 bytes at least");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": "to_centimeters", "arguments": { "inches": 2 }, "_meta": meta });
    let headers =
        json!({ "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "to_centimeters" });
    for _ in 0..2 {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let response: Value = serde_json::from_str(&instance.invoke(event("POST", headers.clone(), &call))).unwrap();
        assert_eq!(response["statusCode"], 200, "{response}");
        assert!(response["body"].as_str().unwrap().contains("5.08"), "{response}");
    }
}

/// A Redis at a socket in this folder.
fn redis(folder: &Path) -> (Process, PathBuf) {
    let socket = folder.join("redis.sock");
    let mut command = Command::new("redis-server");
    command.args(["--port", "0", "--save", "", "--unixsocket"]).arg(&socket).current_dir(folder).stdout(Stdio::null());
    let process = Process(command.spawn().expect("this test needs `redis-server` on the PATH"));
    let begun = Instant::now();
    while !socket.exists() {
        assert!(begun.elapsed() < SOON, "redis-server does not start");
        thread::sleep(Duration::from_millis(10));
    }
    (process, socket)
}

/// An instance has one request at a time, so the answer to a question of its response has to reach another one.
#[test]
fn program_asks_in_a_session_of_two_instances() {
    let folder = std::env::temp_dir().join(format!("mcp-lambda-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (_redis, socket) = redis(&folder);
    let instances = [(); 2].map(|()| Instance::start("REDIS_URL", &format!("unix://{}", socket.display())));

    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} }, "clientInfo": { "name": "t", "version": "1" },
    });
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let opened = instances[0].invoke(event("POST", json!({}), &hello));
    // The head of a streamed response is JSON, and ends with eight zeros.
    let head: Value = serde_json::from_str(opened.split('\0').next().unwrap()).unwrap();
    let headers = json!({ "mcp-session-id": head["headers"]["mcp-session-id"], "mcp-protocol-version": "2025-11-25" });
    assert!(headers["mcp-session-id"].is_string(), "{opened}");

    let params = json!({ "name": "to_kelvin", "arguments": { "temperature": 20 } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    instances[0].send(event("POST", headers.clone(), &call));
    let asked = instances[0].until("elicitation/create");
    let question =
        asked.lines().find_map(|line| line.strip_prefix("data:").filter(|data| data.contains("elicitation")));
    let question: Value = serde_json::from_str(question.unwrap_or_else(|| panic!("{asked}"))).unwrap();

    let accepted = json!({ "action": "accept", "content": { "unit": "celsius" } });
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": accepted });
    let taken = instances[1].invoke(event("POST", headers, &answer));
    assert!(taken.contains(r#""statusCode":202"#), "{taken}");
    let answered = instances[0].until("");
    assert!(answered.contains("293.15"), "{answered}");
    let _ = std::fs::remove_dir_all(folder);
}
