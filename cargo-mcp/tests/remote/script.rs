//! A server that follows a script: what it answers to each method, in 2025-11-25 and 2026-07-28. It keeps what it was sent.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(2 * 60);
/// What the script asks clients to wait between polls.
pub(crate) const INTERVAL: Duration = Duration::from_millis(300);

/// What a server was sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<(Instant, Value)>>>);

impl Log {
    fn push(&self, message: &Value) -> usize {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((Instant::now(), message.clone()));
        all.iter().filter(|(_, other)| other["method"] == message["method"]).count()
    }

    /// When each message of a method came, and the message.
    pub(crate) fn of(&self, method: &str) -> Vec<(Instant, Value)> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter(|(_, message)| message["method"] == method).cloned().collect()
    }

    pub(crate) fn wait_for(&self, method: &str) {
        wait_until(method, || !self.of(method).is_empty());
    }
}

pub(crate) fn wait_until(what: &str, happened: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !happened() {
        assert!(Instant::now() < end, "no {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The response to a request, which is the `count`th of its method; `None`: there is none.
fn answer(request: &Value, count: usize) -> Option<Value> {
    let id = request.get("id")?;
    let params = &request["params"];
    let modern = params["_meta"].get("io.modelcontextprotocol/protocolVersion").is_some();
    let interval = u64::try_from(INTERVAL.as_millis()).ok();
    let task = |status: &str, message: &str| {
        let (ttl, poll) = if modern { ("ttlMs", "pollIntervalMs") } else { ("ttl", "pollInterval") };
        json!({
            "taskId": "t1", "status": status, "statusMessage": message, poll: interval, ttl: 60_000,
            "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z",
        })
    };
    let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    let is_endless = params["name"] == "endless" || count > 1_000;
    let mut result = match request["method"].as_str()? {
        "server/discover" if modern => json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}),
        "initialize" => json!({
            "protocolVersion": "2025-11-25", "serverInfo": {"name": "script", "version": "1"},
            "capabilities": {"tools": {}, "tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}}},
        }),
        "tools/list" => {
            let tool = |name: &str| {
                let mut tool = json!({"name": name, "inputSchema": {"type": "object"}});
                if !modern && name != "hang" {
                    tool["execution"] = json!({"taskSupport": "optional"});
                }
                tool
            };
            json!({"tools": [tool("steps"), tool("endless"), tool("hang")]})
        }
        // Neither a task nor an answer.
        "tools/call" if params["name"] == "hang" => return None,
        "tools/call" if modern => {
            let mut created = task("working", "begun");
            created["resultType"] = "task".into();
            if is_endless {
                created["taskId"] = "endless".into();
            }
            created
        }
        "tools/call" => {
            let mut created = task("working", "begun");
            if is_endless {
                created["taskId"] = "endless".into();
            }
            json!({"task": created})
        }
        "tasks/get" if params["taskId"] == "endless" => task("working", "for ever"),
        "tasks/get" if count <= 3 => task("working", &format!("step {count}")),
        "tasks/get" => {
            let mut done = task("completed", "step 3");
            done["result"] = text("done");
            done
        }
        "tasks/result" if params["taskId"] == "endless" => return None,
        "tasks/result" => {
            thread::sleep(INTERVAL * 3);
            text("done")
        }
        _ => json!({}),
    };
    if modern && result.get("resultType").is_none() {
        result["resultType"] = "complete".into();
    }
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

/// Serves over HTTP for the rest of the test. Returns the URL.
pub(crate) fn over_http() -> (String, Log) {
    let log = Log::default();
    let kept = log.clone();
    let url = listen(move |mut stream, head| {
        let length = content_length(&head);
        let mut body = vec![0; length];
        stream.read_exact(&mut body).expect("a body");
        let Ok(message) = serde_json::from_slice(&body) else {
            return respond(stream.get_mut(), "405 Method Not Allowed", "");
        };
        let count = log.push(&message);
        match answer(&message, count) {
            Some(answer) => respond(stream.get_mut(), "200 OK", &answer.to_string()),
            None if message.get("id").is_none() => respond(stream.get_mut(), "202 Accepted", ""),
            // Held until the client leaves.
            None => drop(stream.read(&mut [0])),
        }
    });
    (url, kept)
}

/// Accepts connections for the rest of the test, each with one request, whose head is read.
pub(crate) fn listen(serve: impl Fn(BufReader<TcpStream>, String) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let serve = Arc::clone(&serve);
            thread::spawn(move || {
                let mut stream = BufReader::new(stream);
                let mut head = String::new();
                while stream.read_line(&mut head).is_ok_and(|count| count > 2) {}
                serve(stream, head);
            });
        }
    });
    url
}

pub(crate) fn content_length(head: &str) -> usize {
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    let mut lengths = lines.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    lengths.find_map(|(_, length)| length.trim().parse().ok()).unwrap_or_default()
}

pub(crate) fn respond(stream: &mut TcpStream, status: &str, body: &str) {
    let length = body.len();
    let kind = if body.starts_with('{') { "application/json" } else { "text/plain" };
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    // The client may have left.
    let _ = stream.write_all(text.as_bytes());
}

const LOG: &str = "SCRIPT_LOG";

/// Adds `-- COMMAND` of the script on stdio: this program, where [`serve`] is the only test. Its log is a file.
pub(crate) fn on_stdio(command: &mut Command, log: &Path) {
    let this = std::env::current_exe().expect("this program");
    command.env(LOG, log).arg("--").arg(this).args(["script::serve", "--exact", "--ignored", "--nocapture"]);
}

/// A file of this name, which does not exist yet.
pub(crate) fn fresh_file(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.log", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

#[test]
#[ignore = "no test: the script on stdio, started by tests"]
fn serve() {
    let Some(path) = std::env::var_os(LOG) else { return };
    let log = Log::default();
    let mut file = OpenOptions::new().create(true).append(true).open(path).expect("a log");
    for line in std::io::stdin().lines().map_while(Result::ok) {
        writeln!(file, "{line}").expect("the log is written");
        let Ok(message) = serde_json::from_str(&line) else { continue };
        let count = log.push(&message);
        let answering = move || {
            if let Some(answer) = answer(&message, count) {
                let _ = writeln!(std::io::stdout(), "{answer}");
            }
        };
        thread::spawn(answering);
    }
}
