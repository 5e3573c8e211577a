//! An HTTP/1.1 client that sends any bytes, well-formed or not, and a listening server.

pub mod mortal;
pub mod server;

use std::net::SocketAddr;
use std::time::Duration;

use mcp_runtime::http::HttpService;
use mcp_runtime::{Result, Revision, Server, ServerError, ServerHandle};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Fails if the future takes longer than twenty seconds.
pub async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("this takes too long")
}

/// Waits until a condition holds.
pub async fn until(condition: impl Fn() -> bool) {
    soon(async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

/// A server listening on a free port.
#[derive(Debug)]
pub struct Site {
    /// Where it listens.
    pub address: SocketAddr,
    /// A handle on it.
    pub handle: ServerHandle,
    /// The task that serves it.
    pub serving: JoinHandle<Result<(), ServerError>>,
}

impl Site {
    /// Serves a server.
    pub async fn of(server: Server) -> Self {
        Self::serving(server.into_service()).await
    }

    /// Serves a service.
    pub async fn serving(service: HttpService) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, handle) = (listener.local_addr().unwrap(), service.handle());
        Site { address, handle, serving: tokio::spawn(service.serve_on(listener)) }
    }

    /// A connection.
    pub async fn open(&self) -> Wire {
        Wire::to(self.address).await
    }

    /// The response to a request on a connection of its own.
    pub async fn ask(&self, ask: &Ask) -> Response {
        let mut wire = self.open().await;
        wire.send(&ask.bytes()).await;
        wire.response().await
    }

    /// Sends a request on a connection of its own, and reads the head of its response.
    pub async fn begin(&self, ask: &Ask) -> (Response, Wire) {
        let mut wire = self.open().await;
        wire.send(&ask.bytes()).await;
        (wire.head().await, wire)
    }

    /// Opens a session and returns its id.
    pub async fn session(&self, revision: Revision) -> String {
        let response = self.ask(&initialize(revision.as_str())).await;
        assert_eq!(response.status, 200, "{response:?}");
        assert_eq!(response.json()["result"]["protocolVersion"], revision.as_str());
        let id = response.header("mcp-session-id").expect("a session has an id").to_owned();
        let ready = in_session(&id, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(self.ask(&ready).await.status, 202);
        id
    }

    /// Asserts that the server answers a valid request.
    pub async fn serves(&self) {
        let response = self.ask(&modern("server/discover", json!({}))).await;
        assert_eq!(response.status, 200, "{response:?}");
        assert_eq!(response.json()["result"]["resultType"], "complete");
    }
}

/// A request to be sent.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Like `POST`.
    pub method: String,
    /// Like `/mcp`.
    pub path: String,
    /// In order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Sent with its length, if there is one.
    pub body: Option<Vec<u8>>,
}

impl Ask {
    /// A request without a body.
    pub fn new(method: &str) -> Self {
        Ask {
            method: method.into(),
            path: "/mcp".into(),
            headers: vec![("Host".into(), b"localhost".into())],
            body: None,
        }
    }

    /// A POST with the headers every client sends.
    pub fn post(body: impl Into<Vec<u8>>) -> Self {
        let mut ask = Ask::new("POST")
            .with("Content-Type", "application/json")
            .with("Accept", "application/json, text/event-stream");
        ask.body = Some(body.into());
        ask
    }

    /// The same, to another path.
    pub fn at(mut self, path: &str) -> Self {
        self.path = path.into();
        self
    }

    /// Adds a header, even if there is one of that name already.
    pub fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.into(), value.as_ref().into()));
        self
    }

    /// Removes the headers of a name.
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// Replaces the headers of a name.
    pub fn but(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.without(name).with(name, value)
    }

    /// The request as bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = format!("{} {} HTTP/1.1\r\n", self.method, self.path).into_bytes();
        for (name, value) in &self.headers {
            out.extend_from_slice(format!("{name}: ").as_bytes());
            out.extend_from_slice(value);
            out.extend_from_slice(b"\r\n");
        }
        if let Some(body) = &self.body {
            out.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(self.body.as_deref().unwrap_or_default());
        out
    }
}

/// The `_meta` that every request of 2026-07-28 needs.
pub fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A request of 2026-07-28 with all its headers. A `_meta` in `params` extends the default one.
pub fn modern(method: &str, mut params: Value) -> Ask {
    let mut all = meta();
    if let Some(own) = params.get("_meta").and_then(Value::as_object) {
        all.as_object_mut().unwrap().extend(own.clone());
    }
    params["_meta"] = all;
    let name = match method {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        "tasks/get" | "tasks/update" | "tasks/cancel" => params["taskId"].as_str(),
        _ => None,
    };
    let ask = described(method, name);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    Ask { body: Some(body.to_string().into()), ..ask }
}

/// A request of 2026-07-28 with its headers, without a body.
pub fn described(method: &str, name: Option<&str>) -> Ask {
    let ask = Ask::post("").with("MCP-Protocol-Version", "2026-07-28").with("Mcp-Method", method);
    match name {
        Some(name) => ask.with("Mcp-Name", name),
        None => ask,
    }
}

/// A call of a tool in 2026-07-28.
pub fn call(name: &str, arguments: &Value) -> Ask {
    modern("tools/call", json!({"name": name, "arguments": arguments}))
}

/// An `initialize` request.
pub fn initialize(version: &str) -> Ask {
    let params =
        json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "tester", "version": "1"}});
    Ask::post(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string())
}

/// A message in a session.
pub fn in_session(session: &str, message: &Value) -> Ask {
    Ask::post(message.to_string()).with("Mcp-Session-Id", session)
}

/// A call of a tool in a session.
pub fn call_in(session: &str, id: u64, name: &str, arguments: &Value) -> Ask {
    let params = json!({"name": name, "arguments": arguments, "_meta": {"progressToken": id}});
    in_session(session, &json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
}

/// The stream of a session.
pub fn stream_of(session: &str) -> Ask {
    Ask::new("GET").with("Accept", "text/event-stream").with("Mcp-Session-Id", session)
}

/// The head of a response, and as much of its body as was read.
#[derive(Debug)]
pub struct Response {
    /// Like 200.
    pub status: u16,
    /// With their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The part of the body that was read.
    pub body: Vec<u8>,
}

impl Response {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }

    /// The body as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// The body as JSON, which it must be.
    #[track_caller]
    pub fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The messages of a stream that has ended.
    #[track_caller]
    pub fn events(&self) -> Vec<Value> {
        assert_eq!(self.header("content-type"), Some("text/event-stream"), "{self:?}");
        self.text().split_terminator("\n\n").filter_map(data).collect()
    }

    /// The status, and the code of the JSON-RPC error, or zero.
    pub fn outcome(&self) -> (u16, i64) {
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        (self.status, body["error"]["code"].as_i64().unwrap_or_default())
    }
}

/// A connection.
#[derive(Debug)]
pub struct Wire {
    /// The socket.
    pub stream: TcpStream,
    read: Vec<u8>,
    /// The part of a stream that is not yet a whole event.
    told: String,
}

/// The message of an event, if it has one.
fn data(block: &str) -> Option<Value> {
    let data = block.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    let data = data.filter(|data| !data.is_empty()).collect::<Vec<_>>();
    assert!(data.len() <= 1, "a message is one line: {block:?}");
    data.first().map(|data| serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {block:?}")))
}

impl Wire {
    /// A connection to this address.
    pub async fn to(address: SocketAddr) -> Self {
        Wire::over(TcpStream::connect(address).await.unwrap())
    }

    /// A connection that was made already.
    pub fn over(stream: TcpStream) -> Self {
        Wire { stream, read: Vec::new(), told: String::new() }
    }

    /// Writes.
    pub async fn send(&mut self, bytes: &[u8]) {
        // After an early rejection the rest may be impossible to write.
        let _ = soon(self.stream.write_all(bytes)).await;
    }

    /// Reads more; false at the end.
    async fn more(&mut self) -> bool {
        soon(self.stream.read_buf(&mut self.read)).await.is_ok_and(|count| count > 0)
    }

    /// Reads up to and including `end`; `None` if the connection closes before.
    async fn up_to(&mut self, end: &[u8]) -> Option<Vec<u8>> {
        loop {
            if let Some(at) = self.read.windows(end.len()).position(|window| window == end) {
                return Some(self.read.drain(..at + end.len()).collect());
            }
            if !self.more().await {
                return None;
            }
        }
    }

    async fn exactly(&mut self, count: usize) -> Vec<u8> {
        while self.read.len() < count {
            let more = self.more().await;
            assert!(more, "the connection ended in the middle of a body, after {} of {count} bytes", self.read.len());
        }
        self.read.drain(..count).collect()
    }

    /// The head of a response; `None` if the connection is closed.
    pub async fn try_head(&mut self) -> Option<Response> {
        let head = String::from_utf8(self.up_to(b"\r\n\r\n").await?).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap().parse().unwrap();
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
        Some(Response { status, headers, body: Vec::new() })
    }

    /// The head of a response.
    pub async fn head(&mut self) -> Response {
        self.try_head().await.expect("the connection ended without a response")
    }

    /// A response, whole.
    pub async fn response(&mut self) -> Response {
        let mut response = self.head().await;
        if response.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk().await {
                response.body.extend_from_slice(&chunk);
            }
        } else if let Some(length) = response.header("content-length") {
            let length = length.parse().unwrap();
            response.body = self.exactly(length).await;
        }
        response
    }

    /// A chunk of a body; `None` at its end, or if the connection closes.
    pub async fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = String::from_utf8(self.up_to(b"\r\n").await?).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let mut chunk = self.exactly(size + 2).await;
        chunk.truncate(size);
        (size > 0).then_some(chunk)
    }

    /// The next message of a stream. Skips comments, and events without data.
    pub async fn event(&mut self) -> Option<Value> {
        loop {
            while let Some(end) = self.told.find("\n\n") {
                let block: String = self.told.drain(..end + 2).collect();
                let message = data(&block);
                if message.is_some() {
                    return message;
                }
            }
            let chunk = String::from_utf8(self.chunk().await?).unwrap();
            self.told.push_str(&chunk);
        }
    }

    /// Whether the server closes the connection without sending more.
    pub async fn is_closed(&mut self) -> bool {
        self.read.is_empty() && !self.more().await
    }
}
