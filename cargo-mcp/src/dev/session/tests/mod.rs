//! A client and several children, without processes: what each of them reads.

mod failures;
mod streams;
mod swaps;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Action, ChildId, Note, Session};

/// A session, and what it did.
struct Bench {
    session: Session,
    now: Instant,
    client: Vec<Value>,
    children: Vec<(ChildId, Value)>,
    closed: Vec<ChildId>,
    starts: Vec<Duration>,
    notes: Vec<Note>,
}

impl Bench {
    fn new() -> Self {
        Bench {
            session: Session::new(),
            now: Instant::now(),
            client: Vec::new(),
            children: Vec::new(),
            closed: Vec::new(),
            starts: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn perform(&mut self) {
        for action in self.session.take() {
            match action {
                Action::ToClient(line) => self.client.push(serde_json::from_str(&line).expect("JSON")),
                Action::ToChild(child, line) => {
                    self.children.push((child, serde_json::from_str(&line).expect("JSON")));
                }
                Action::Close(child) => self.closed.push(child),
                Action::Start(delay) => self.starts.push(delay),
                Action::Say(note) => self.notes.push(note),
            }
        }
    }

    /// The client writes.
    fn client(&mut self, message: &Value) {
        self.session.client_line(&message.to_string(), self.now);
        self.perform();
    }

    /// A child writes.
    fn child(&mut self, child: ChildId, message: &Value) {
        self.session.child_line(child, &message.to_string(), self.now);
        self.perform();
    }

    fn start(&mut self, child: ChildId) {
        self.session.started(child, self.now, self.now);
        self.perform();
    }

    fn exit(&mut self, child: ChildId) {
        self.session.exited(child, "exit status: 101", self.now);
        self.perform();
    }

    /// Time passes.
    fn pass(&mut self, duration: Duration) {
        self.now += duration;
        self.session.expire(self.now);
        self.perform();
    }

    /// What the client read since the last time.
    fn read(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.client)
    }

    /// What a child read since the last time.
    fn read_child(&mut self, child: ChildId) -> Vec<Value> {
        let (read, rest) = std::mem::take(&mut self.children).into_iter().partition(|(id, _)| *id == child);
        self.children = rest;
        let read: Vec<(ChildId, Value)> = read;
        read.into_iter().map(|(_, message)| message).collect()
    }

    /// Answers every list the supervisor asks a child for; the tools have these names.
    fn answer_lists(&mut self, child: ChildId, tools: &[&str]) {
        for message in self.read_child(child) {
            let empty = match message["method"].as_str() {
                Some("tools/list") => {
                    let tools: Vec<_> = tools.iter().map(|name| json!({ "name": name })).collect();
                    json!({ "tools": tools })
                }
                Some("prompts/list") => json!({ "prompts": [] }),
                Some("resources/list") => json!({ "resources": [] }),
                Some("resources/templates/list") => json!({ "resourceTemplates": [] }),
                _ => {
                    self.children.push((child, message));
                    continue;
                }
            };
            self.child(child, &json!({ "jsonrpc": "2.0", "id": message["id"], "result": empty }));
        }
    }

    /// The first child serves a session of 2025-11-25.
    fn in_session(tools: &[&str]) -> Self {
        let mut bench = Bench::new();
        bench.start(1);
        bench.client(&initialize());
        bench.child(1, &initialized(&json!(0)));
        bench.client(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        bench.answer_lists(1, tools);
        bench.read();
        bench.read_child(1);
        bench
    }

    /// A new child answers everything that is replayed.
    fn swap(&mut self, child: ChildId, tools: &[&str]) {
        self.start(child);
        for message in self.read_child(child) {
            if message["method"] == "initialize" {
                self.child(child, &initialized(&message["id"]));
            } else {
                self.children.push((child, message));
            }
        }
        self.answer_lists(child, tools);
    }
}

fn initialize() -> Value {
    let client = json!({ "name": "bench", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": { "roots": {} }, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })
}

fn initialized(id: &Value) -> Value {
    let result = json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": {} });
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn call(id: u64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "add", "arguments": {} } })
}

fn modern(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn result(id: u64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [] } })
}

fn methods(messages: &[Value]) -> Vec<&str> {
    messages.iter().filter_map(|message| message["method"].as_str()).collect()
}
