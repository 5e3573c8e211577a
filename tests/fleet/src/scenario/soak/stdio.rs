//! Servers on stdio: one that is talked to all the time, and others that come and go.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::Result;
use crate::client::{LEGACY, MODERN, text};

/// How long a server may take to answer, or to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server, and the two ends of its streams. It ends with this value.
#[derive(Debug)]
pub(super) struct Conversation {
    process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    revision: &'static str,
    id: u64,
}

impl Conversation {
    /// Starts a server that shares nothing, for a client of 2025-11-25.
    pub(super) async fn start(program: &Path) -> Result<Self> {
        Self::of(program, LEGACY[2]).await
    }

    async fn of(program: &Path, revision: &'static str) -> Result<Self> {
        let mut command = Command::new(program);
        command.env_remove("REDIS_URL").kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn()?;
        let (input, output) = (process.stdin.take(), process.stdout.take());
        let (input, output) = (input.ok_or("no input")?, BufReader::new(output.ok_or("no output")?).lines());
        let mut conversation = Conversation { process, input, output, revision, id: 0 };
        if revision != MODERN {
            let client = json!({ "name": "soak", "version": "1" });
            let params =
                json!({ "protocolVersion": revision, "capabilities": { "sampling": {} }, "clientInfo": client });
            conversation.request("initialize", params).await?;
            conversation.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string()).await?;
        }
        Ok(conversation)
    }

    /// The id of the process.
    pub(super) fn id(&self) -> u32 {
        self.process.id().unwrap_or_default()
    }

    /// Everything a client says on stdio: calls, lists, answers, a call that is cancelled, lines that are no messages.
    pub(super) async fn exchange(&mut self) -> Result<()> {
        let greeted = self.call("greet", json!({ "name": "you" })).await?;
        if text(&greeted["result"]) != "Hello, you!" {
            return Err(format!("stdio {}: {greeted}", self.revision).into());
        }
        self.request("tools/list", json!({})).await?;
        let failed = self.call("test_error_handling", json!({})).await?;
        if failed["result"]["isError"] != true {
            return Err(format!("stdio {}: {failed}", self.revision).into());
        }
        let asked = if self.revision == MODERN { self.asked_in_rounds().await? } else { self.asked().await? };
        if !text(&asked["result"]).ends_with("hello") {
            return Err(format!("stdio {}: {asked}", self.revision).into());
        }
        let cancelled = self.begin("tools/call", json!({ "name": "test_tool_with_progress", "arguments": {} })).await?;
        let params = json!({ "requestId": cancelled });
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }).to_string())
            .await?;
        for line in ["{", "[]", "null", "{\"jsonrpc\":\"2.0\"}", "\u{0}\u{1}"] {
            self.send(line).await?;
        }
        // Answered after all of that, and so it was survived.
        self.call("greet", json!({ "name": "again" })).await.map(drop)
    }

    /// A call that asks this client's model.
    async fn asked(&mut self) -> Result<Value> {
        let params = json!({ "name": "test_sampling", "arguments": { "prompt": "Hello?" } });
        let id = self.begin("tools/call", params).await?;
        let question = self.read("a question", |message| message["method"] == "sampling/createMessage").await?;
        self.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": sampled() }).to_string()).await?;
        self.read("an answered call", |message| message["id"] == id && message.get("method").is_none()).await
    }

    /// The same in 2026-07-28: the question is a result, and the call is made again with the answer.
    async fn asked_in_rounds(&mut self) -> Result<Value> {
        let tool = "test_input_required_result_sampling";
        let first = self.call(tool, json!({})).await?;
        let Some(asked) = first["result"]["inputRequests"].as_object() else { return Ok(first) };
        let responses: serde_json::Map<_, _> = asked.keys().map(|key| (key.clone(), sampled())).collect();
        let state = &first["result"]["requestState"];
        let params = json!({ "name": tool, "arguments": {}, "inputResponses": responses, "requestState": state });
        self.request("tools/call", params).await
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Result<Value> {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// Sends a request, and reads its answer.
    async fn request(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.begin(method, params).await?;
        self.read(method, |message| message["id"] == id && message.get("method").is_none()).await
    }

    /// Reads until a message of a kind.
    async fn read(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> Result<Value> {
        timeout(PATIENCE, async {
            while let Some(line) = self.output.next_line().await? {
                let message: Value = serde_json::from_str(&line)?;
                if is(&message) {
                    return Ok(message);
                }
            }
            Err(format!("stdio {}: the server ended before {what}", self.revision).into())
        })
        .await
        .unwrap_or_else(|_| Err(format!("stdio {}: nothing comes of {what}", self.revision).into()))
    }

    async fn begin(&mut self, method: &str, mut params: Value) -> Result<u64> {
        self.id += 1;
        if self.revision == MODERN {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": { "sampling": {} },
            });
        }
        let id = self.id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()).await?;
        Ok(id)
    }

    async fn send(&mut self, line: &str) -> Result<()> {
        Ok(self.input.write_all(format!("{line}\n").as_bytes()).await?)
    }

    /// Closes the input, and waits for the server to end.
    async fn finish(mut self) -> Result<()> {
        drop(self.input);
        let status = timeout(PATIENCE, self.process.wait()).await.map_err(|_| "a server on stdio does not end")??;
        if status.success() { Ok(()) } else { Err(format!("a server on stdio ended with {status}").into()) }
    }
}

/// What the client's model says.
fn sampled() -> Value {
    json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "hello" } })
}

/// A server for each revision, from its start to its end.
pub(super) async fn visit(program: &Path) -> Result<()> {
    for revision in ["2024-11-05", LEGACY[0], LEGACY[1], LEGACY[2], MODERN] {
        let mut conversation = Conversation::of(program, revision).await?;
        conversation.exchange().await?;
        conversation.finish().await?;
    }
    Ok(())
}
