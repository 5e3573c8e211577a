//! `client URL` works with the print shop in one session of 2025-11-25, and tells what it sees: who answers its calls, a
//! question and its answer, a long task. It repeats what failed because a replica died, as a client has to.

use std::env;
use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use ureq::http::Response;
use ureq::{Agent, Body};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const PAUSE: Duration = Duration::from_millis(300);
/// How long a replica that has died may be missed, with the time its work takes at another one.
const LONGEST: Duration = Duration::from_secs(90);

struct Client {
    agent: Agent,
    url: String,
    session: Option<String>,
    /// The id of the last request.
    id: u64,
    repeated: u32,
}

impl Client {
    fn open(url: String) -> Result<Self> {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_idle_connections(0) // each request may go elsewhere
            .timeout_recv_response(Some(Duration::from_secs(30)))
            .build();
        let mut client = Client { agent: agent.into(), url, session: None, id: 0, repeated: 0 };
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "fleet", "version": "1" },
        });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let response = client.send(&hello)?;
        let session = response.headers().get("mcp-session-id").ok_or("no session was opened")?;
        client.session = Some(session.to_str()?.to_owned());
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    /// Sends a message. What no replica has taken, or a replica took to its grave, is sent again: all that this client
    /// calls may be done twice.
    fn send(&mut self, message: &Value) -> Result<Response<Body>> {
        let begun = Instant::now();
        loop {
            let mut request = self
                .agent
                .post(&self.url)
                .header("Content-Type", "application/json")
                .header("Accept", "application/json, text/event-stream");
            if let Some(session) = &self.session {
                request = request.header("Mcp-Session-Id", session).header("MCP-Protocol-Version", "2025-11-25");
            }
            let failure = match request.send(message.to_string()) {
                Ok(response) if response.status().is_success() => return Ok(response),
                Ok(response) if response.headers().contains_key("retry-after") => response.status().to_string(),
                Ok(mut response) => {
                    return Err(format!("{}: {}", response.status(), response.body_mut().read_to_string()?).into());
                }
                Err(error) => error.to_string(),
            };
            if begun.elapsed() > LONGEST {
                return Err(failure.into());
            }
            self.repeated += 1;
            println!("  (sent again: {failure})");
            sleep(PAUSE);
        }
    }

    /// Sends a request and returns its result, answering the questions that come before it.
    fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.id += 1;
        let id = self.id;
        let response = self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        // One message as JSON, or several as events.
        for line in BufReader::new(response.into_body().into_reader()).lines() {
            let line = line?;
            let Ok(message) = serde_json::from_str::<Value>(line.strip_prefix("data:").unwrap_or(&line)) else {
                continue;
            };
            if message["method"] == "elicitation/create" {
                println!("  asked: {} answered: 3", message["params"]["message"].as_str().unwrap_or_default());
                let answer = json!({ "action": "accept", "content": { "copies": 3 } });
                self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": answer }))?;
            } else if message["id"] == id {
                return match message.get("result") {
                    Some(result) => Ok(result.clone()),
                    None => Err(message["error"].to_string().into()),
                };
            }
        }
        Err("the response ended too early".into())
    }

    /// Calls a tool, and returns its text.
    fn call(&mut self, tool: &str, arguments: &Value) -> Result<String> {
        let result = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        Ok(result["content"][0]["text"].as_str().unwrap_or_default().to_owned())
    }

    /// Starts a task, and watches it until it has ended. Meanwhile it calls another tool all the time.
    fn render(&mut self) -> Result<Value> {
        let params = json!({ "name": "render", "arguments": { "pages": 12 }, "task": { "ttl": 600_000 } });
        let task = self.request("tools/call", &params)?["task"].clone();
        let id = json!({ "taskId": task["taskId"] });
        let (mut shown, mut told, mut answered) = (String::new(), Instant::now(), Vec::new());
        loop {
            for _ in 0..3 {
                answered.push(self.call("who", &json!({}))?);
            }
            let task = self.request("tasks/get", &id)?;
            let ended = task["status"] == "completed" || task["status"] == "failed";
            let message = if task["status"] == "completed" { &Value::Null } else { &task["statusMessage"] };
            let status = message.as_str().or(task["status"].as_str()).unwrap_or_default().to_owned();
            if status != shown || told.elapsed() > Duration::from_secs(2) {
                println!("  {status} (meanwhile: {})", counted(&answered));
                (shown, told) = (status, Instant::now());
                answered.clear();
            }
            if ended {
                return Ok(task);
            }
            sleep(PAUSE);
        }
    }
}

/// Who has answered how many calls.
fn counted(answered: &[String]) -> String {
    let mut replicas = answered.to_vec();
    replicas.sort();
    replicas.dedup();
    format!("{} calls, answered by {}", answered.len(), replicas.join(" and "))
}

fn main() -> Result<()> {
    let mut client = Client::open(env::args().nth(1).ok_or("usage: client URL")?)?;
    println!("a session is open; six calls in it:");
    let replicas = (0..6).map(|_| client.call("who", &json!({}))).collect::<Result<Vec<_>>>()?;
    println!("  answered by {}", replicas.join(", "));

    println!("a call that asks:");
    println!("  {}", client.call("order", &json!({ "title": "Rust by Example" }))?);

    println!("a task, which any replica tells about:");
    let task = client.render()?;
    let result = client.request("tasks/result", &json!({ "taskId": task["taskId"] }))?;
    println!("  {}", result["content"][0]["text"].as_str().unwrap_or_default());
    println!("done: {} requests in one session, {} of them sent again, none lost", client.id, client.repeated);
    Ok(())
}
