//! A client of any revision, which sends each message on a connection of its own, so that it reaches another replica.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::Result;
use crate::http::{self, Reply};

/// The revisions with sessions.
pub(crate) const LEGACY: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];

pub(crate) const MODERN: &str = "2026-07-28";

/// A client, and its session if its revision has them.
#[derive(Debug)]
pub(crate) struct Client {
    address: SocketAddr,
    pub(crate) revision: &'static str,
    session: Option<String>,
    ids: AtomicU64,
}

/// What this client can be asked.
fn capabilities(revision: &str) -> Value {
    let mut all = json!({ "roots": {}, "sampling": {} });
    if revision >= "2025-06-18" {
        all["elicitation"] = json!({});
    }
    if revision == MODERN {
        all["extensions"] = json!({ "io.modelcontextprotocol/tasks": {} });
    }
    all
}

impl Client {
    /// A client of 2026-07-28, which has no session.
    pub(crate) fn modern(address: SocketAddr) -> Self {
        Client { address, revision: MODERN, session: None, ids: AtomicU64::new(1) }
    }

    /// Opens a session.
    pub(crate) async fn open(address: SocketAddr, revision: &'static str) -> Result<Self> {
        let mut client = Client { address, revision, session: None, ids: AtomicU64::new(1) };
        let params = json!({
            "protocolVersion": revision,
            "capabilities": capabilities(revision),
            "clientInfo": { "name": "fleet", "version": "1" },
        });
        let (id, mut reply) = client.request("initialize", params).await?;
        if reply.status != 200 {
            return Err(format!("initialize: HTTP {}", reply.status).into());
        }
        client.session = reply.session.clone();
        let answer = answer(&mut reply, id).await?;
        if answer["result"]["protocolVersion"] != revision || client.session.is_none() {
            return Err(format!("initialize: {answer}").into());
        }
        client.notify("notifications/initialized", json!({})).await?;
        Ok(client)
    }

    /// The id of its session, if it has one.
    pub(crate) fn into_session(self) -> Option<String> {
        self.session
    }

    /// Another client like this one, with a session of its own.
    pub(crate) async fn reopened(&self) -> Result<Self> {
        Self::open(self.address, self.revision).await
    }

    /// Sends a request. Returns its id and the response, of which the head was read.
    pub(crate) async fn request(&self, method: &str, mut params: Value) -> io::Result<(u64, Reply)> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        if self.revision == MODERN {
            let mut meta = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": capabilities(MODERN),
            });
            if let (Some(all), Some(Value::Object(own))) = (meta.as_object_mut(), params.get_mut("_meta")) {
                all.append(own);
            }
            params["_meta"] = meta;
        }
        let name = ["name", "taskId", "uri"].into_iter().find_map(|key| params[key].as_str()).map(str::to_owned);
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string();
        Ok((id, self.post(&body, method, name.as_deref()).await?))
    }

    /// Sends a request, and reads its answer.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Result<Value> {
        let (id, mut reply) = self.request(method, params).await?;
        let answer = answer(&mut reply, id).await?;
        match answer.get("result") {
            Some(result) => Ok(result.clone()),
            None => Err(format!("{method}: HTTP {}: {}", reply.status, answer["error"]).into()),
        }
    }

    /// Calls a tool that asks for progress, and returns its stream.
    pub(crate) async fn start(&self, tool: &str, arguments: Value) -> io::Result<(u64, Reply)> {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": "t" } });
        self.request("tools/call", params).await
    }

    /// Calls a tool, and returns the text of its result.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<String> {
        Ok(text(&self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await?))
    }

    pub(crate) async fn notify(&self, method: &str, params: Value) -> Result<()> {
        self.say(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await
    }

    /// Responds to a request of the server.
    pub(crate) async fn respond(&self, question: &Value, result: Value) -> Result<()> {
        self.say(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })).await
    }

    /// Lets the next request go to another replica than this one, which served a request before.
    pub(crate) async fn avoid(&self, replica: Option<usize>) -> Result<()> {
        let anybody = Client::modern(self.address);
        for _ in 0..20 {
            // Turns are taken in order: after this replica's comes another's.
            if anybody.request("server/discover", json!({})).await?.1.replica == replica {
                return Ok(());
            }
        }
        Err("no replica serves all the time".into())
    }

    async fn say(&self, message: &Value) -> Result<()> {
        let reply = self.post(&message.to_string(), "", None).await?;
        if reply.status == 202 { Ok(()) } else { Err(format!("{message}: HTTP {}", reply.status).into()) }
    }

    async fn post(&self, body: &str, method: &str, name: Option<&str>) -> io::Result<Reply> {
        let mut headers = self.headers();
        if self.revision == MODERN {
            headers.push(("Mcp-Method", method));
            headers.extend(name.map(|name| ("Mcp-Name", name)));
        }
        http::send(self.address, "POST", &headers, Some(body)).await
    }

    /// Opens the stream of the session, or resumes another one after an event.
    pub(crate) async fn listen(&self, after: Option<&str>) -> io::Result<Reply> {
        let mut headers = self.headers();
        headers.extend(after.map(|id| ("Last-Event-ID", id)));
        http::send(self.address, "GET", &headers, None).await
    }

    /// Ends the session.
    pub(crate) async fn delete(&self) -> io::Result<Reply> {
        http::send(self.address, "DELETE", &self.headers(), None).await
    }

    fn headers(&self) -> Vec<(&str, &str)> {
        let mut headers = vec![];
        if self.session.is_some() || self.revision == MODERN {
            headers.push(("MCP-Protocol-Version", self.revision));
        }
        headers.extend(self.session.as_deref().map(|session| ("Mcp-Session-Id", session)));
        headers
    }
}

/// Reads until the response with this id.
pub(crate) async fn answer(reply: &mut Reply, id: u64) -> Result<Value> {
    Ok(until(reply, |message| message["id"] == id && message.get("method").is_none()).await?.1)
}

/// Reads until a message of a kind; returns those before it, too.
pub(crate) async fn until(reply: &mut Reply, is: impl Fn(&Value) -> bool) -> Result<(Vec<Value>, Value)> {
    let mut before = Vec::new();
    loop {
        match reply.next().await? {
            Some(message) if is(&message) => return Ok((before, message)),
            Some(message) => before.push(message),
            None => return Err(format!("HTTP {}: it ended after {before:?}", reply.status).into()),
        }
    }
}

/// Reads until a request or a notification of this method.
pub(crate) async fn until_method(reply: &mut Reply, method: &str) -> Result<Value> {
    Ok(until(reply, |message| message["method"] == method).await?.1)
}

/// The text of the result of a call.
pub(crate) fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}
