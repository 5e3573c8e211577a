//! One running server: starting it, talking to it as a client does, ending it.

use std::{
    collections::HashSet,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use crate::{Result, subject::Subject, work::Tool};

const REVISION: &str = "2025-11-25";

pub struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
    next_id: u64,
}

impl Server {
    /// Starts the command and completes the handshake.
    pub fn start(mut command: Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().ok_or("no stdin")?;
        let output = BufReader::with_capacity(64 * 1024, child.stdout.take().ok_or("no stdout")?);
        let mut server = Self { child, input, output, line: String::new(), next_id: 1 };
        server.handshake()?;
        Ok(server)
    }

    fn handshake(&mut self) -> Result<()> {
        let client = json!({ "name": "bench", "version": "1" });
        let params = json!({ "protocolVersion": REVISION, "capabilities": {}, "clientInfo": client });
        let result = self.request("initialize", &params)?;
        if result["protocolVersion"] != REVISION {
            return Err(format!("the server does not speak {REVISION}: {result}").into());
        }
        self.input.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok(())
    }

    /// Sends one request and returns its result.
    fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        let id = self.take_id();
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.input.write_all(format!("{request}\n").as_bytes())?;
        let mut response = self.receive()?;
        if response["id"] != id || !response["result"].is_object() {
            return Err(format!("`{method}` failed: {response}").into());
        }
        Ok(response["result"].take())
    }

    /// One call at a time: the next request leaves when the answer is there.
    pub fn call_sequentially(&mut self, tool: Tool, calls: usize) -> Result<()> {
        for _ in 0..calls {
            let id = self.take_id();
            self.input.write_all(tool.request(id).as_bytes())?;
            let response = self.receive()?;
            if response["id"] != id {
                return Err(format!("expected the answer to {id}: {response}").into());
            }
            tool.verify(id, &response)?;
        }
        Ok(())
    }

    /// Keeps up to `window` calls in flight; answers may come in any order.
    pub fn call_pipelined(&mut self, tool: Tool, calls: usize, window: usize) -> Result<()> {
        let mut unsent = calls;
        let mut in_flight = HashSet::new();
        let mut batch = String::new();
        while unsent > 0 || !in_flight.is_empty() {
            while unsent > 0 && in_flight.len() < window {
                let id = self.take_id();
                batch.push_str(&tool.request(id));
                in_flight.insert(id);
                unsent -= 1;
            }
            self.input.write_all(batch.as_bytes())?;
            batch.clear();
            self.accept(tool, &mut in_flight)?;
            while self.output.buffer().contains(&b'\n') {
                self.accept(tool, &mut in_flight)?;
            }
        }
        Ok(())
    }

    /// Receives one answer and crosses it off.
    fn accept(&mut self, tool: Tool, in_flight: &mut HashSet<u64>) -> Result<()> {
        let response = self.receive()?;
        match response["id"].as_u64() {
            Some(id) if in_flight.remove(&id) => tool.verify(id, &response),
            _ => Err(format!("an answer nobody waits for: {response}").into()),
        }
    }

    fn receive(&mut self) -> Result<Value> {
        self.line.clear();
        if self.output.read_line(&mut self.line)? == 0 {
            return Err(format!("the server closed its output: {}", self.child.wait()?).into());
        }
        serde_json::from_str(&self.line).map_err(|error| format!("{error} in: {}", self.line).into())
    }

    fn take_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Closes its input, which ends a stdio server, and waits.
    pub fn stop(self) -> Result<()> {
        let Self { mut child, input, output, .. } = self;
        drop(input);
        let status = child.wait()?;
        drop(output);
        if status.success() { Ok(()) } else { Err(format!("the server ended with {status}").into()) }
    }
}

/// Checks the methods that no measurement uses, so that what is compared is a whole server.
pub fn smoke_test(subject: Subject) -> Result<()> {
    let inquire = || -> Result<()> {
        let mut server = Server::start(subject.program()?.command())?;
        server.request("ping", &json!({}))?;
        let listed = server.request("tools/list", &json!({}))?;
        let tools = listed["tools"].as_array().ok_or("no tools")?;
        for tool in Tool::ALL {
            let name = tool.to_string();
            let found = tools.iter().find(|found| found["name"] == name).ok_or("a tool is not listed")?;
            let structured = matches!(tool, Tool::Stats);
            if found["inputSchema"]["type"] != "object" || found["outputSchema"].is_object() != structured {
                return Err(format!("wrong schemas: {found}").into());
            }
            server.call_sequentially(tool, 3)?;
        }
        server.stop()
    };
    inquire().map_err(|error| format!("{subject}: {error}").into())
}
