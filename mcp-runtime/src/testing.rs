//! A client in memory, for testing a server the way a real client would use it.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use base64::Engine as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

use crate::error::{Error, Result, RpcError};
use crate::protocol::{PromptDescriptor, ResourceDescriptor, Revision, Role, TemplateDescriptor, ToolDescriptor};
use crate::server::Server;
use crate::transport;

/// A client in memory. It speaks to the server through the same lines, parser and encoder a
/// process on stdio would, in any revision.
///
/// ```
/// use mcp_runtime::{Revision, prelude::*};
///
/// /// Say hello.
/// #[tool]
/// fn hello(name: String) -> String {
///     format!("Hello, {name}!")
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<()> {
/// for revision in Revision::ALL {
///     let server = Server::new("greeter", "1.0.0").tools(tools![hello]);
///     let client = TestClient::with_revision(server, revision).await?;
///     assert_eq!(client.call("hello", json!({"name": "you"})).await?.text(), "Hello, you!");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TestClient {
    revision: Revision,
    next_id: AtomicU64,
    input: mpsc::Sender<Vec<u8>>,
    inbox: Arc<Inbox>,
    server: JoinHandle<Result<()>>,
}

impl TestClient {
    /// Connects to `server` in the newest revision.
    pub async fn connect(server: Server) -> Result<Self> {
        Self::with_revision(server, Revision::V2026_07_28).await
    }

    /// Connects to `server` in `revision`, with its handshake if it has one.
    pub async fn with_revision(server: Server, revision: Revision) -> Result<Self> {
        let client = Self::start(server, revision);
        if !revision.is_modern() {
            let hello = json!({
                "protocolVersion": revision,
                "capabilities": {},
                "clientInfo": {"name": "test-client", "version": env!("CARGO_PKG_VERSION")},
            });
            client.request("initialize", hello).await?;
            client.notify("notifications/initialized", &json!({}))?;
        }
        Ok(client)
    }

    /// Connects without a word: for tests of the first words themselves.
    pub fn silent(server: Server) -> Self {
        Self::start(server, Revision::V2026_07_28)
    }

    fn start(server: Server, revision: Revision) -> Self {
        let (input, bytes) = mpsc::channel();
        let inbox = Arc::new(Inbox::default());
        let output = Output { inbox: Arc::clone(&inbox), line: Vec::new() };
        let input_end = Input { bytes, current: io::Cursor::default() };
        let server = tokio::spawn(transport::stdio::serve(server.into_core(), input_end, output));
        TestClient { revision, next_id: AtomicU64::new(1), input, inbox, server }
    }

    /// The tools the server lists.
    pub async fn list_tools(&self) -> Result<Vec<ToolDescriptor>> {
        self.list("tools/list", "tools").await
    }

    /// Calls a tool. A result with `isError` is a result: see [`CallResult::is_error`].
    pub async fn call(&self, name: &str, arguments: impl Serialize) -> Result<CallResult> {
        self.typed("tools/call", json!({"name": name, "arguments": arguments})).await
    }

    /// The resources the server lists.
    pub async fn list_resources(&self) -> Result<Vec<ResourceDescriptor>> {
        self.list("resources/list", "resources").await
    }

    /// The resource templates the server lists.
    pub async fn list_templates(&self) -> Result<Vec<TemplateDescriptor>> {
        self.list("resources/templates/list", "resourceTemplates").await
    }

    /// Reads a resource.
    pub async fn read(&self, uri: &str) -> Result<ReadAnswer> {
        self.typed("resources/read", json!({"uri": uri})).await
    }

    /// The prompts the server lists.
    pub async fn list_prompts(&self) -> Result<Vec<PromptDescriptor>> {
        self.list("prompts/list", "prompts").await
    }

    /// Gets a prompt.
    pub async fn get_prompt(&self, name: &str, arguments: impl Serialize) -> Result<PromptAnswer> {
        self.typed("prompts/get", json!({"name": name, "arguments": arguments})).await
    }

    /// Makes any request, with what the revision asks every request to carry, and returns its
    /// `result`. An `error` is an [`Error`] with a [code](Error::code) and [data](Error::data).
    pub async fn request(&self, method: &str, mut params: Value) -> Result<Value> {
        if self.revision.is_modern() {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": self.revision,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "test-client", "version": env!("CARGO_PKG_VERSION")},
            });
            match &mut params["_meta"] {
                Value::Object(own) => own.extend(meta.as_object().cloned().unwrap_or_default()),
                absent => *absent = meta,
            }
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let answer = self.inbox.expect(id);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string())?;
        let answer = answer.await.map_err(|_| gone())?;
        let Response { result, error } = serde_json::from_value(answer)?;
        match error {
            Some(error) => Err(Error::protocol(error)),
            None => result.ok_or_else(|| Error::tool("the server sent neither a result nor an error")),
        }
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: &Value) -> Result<()> {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string())
    }

    /// Sends one line as it is: for messages no well-behaved client would send.
    pub fn send(&self, line: &str) -> Result<()> {
        self.send_bytes(format!("{line}\n"))
    }

    /// Sends bytes as they are, with or without newlines.
    pub fn send_bytes(&self, bytes: impl Into<Vec<u8>>) -> Result<()> {
        self.input.send(bytes.into()).map_err(|_| gone())
    }

    /// The next line from the server that answers none of this client's own requests.
    pub async fn receive(&self) -> Result<String> {
        self.inbox.next_line().await.ok_or_else(gone)
    }

    /// Sends one line as it is and returns the next from the server.
    pub async fn exchange(&self, line: &str) -> Result<String> {
        self.send(line)?;
        self.receive().await
    }

    /// Closes the client's side and waits for the server to finish; the lines nobody received.
    pub async fn close(self) -> Result<Vec<String>> {
        drop(self.input);
        self.server.await??;
        Ok(self.inbox.state().lines.drain(..).collect())
    }

    async fn list<T: DeserializeOwned>(&self, method: &str, member: &str) -> Result<Vec<T>> {
        let mut result = self.request(method, json!({})).await?;
        Ok(serde_json::from_value(result[member].take())?)
    }

    async fn typed<T: DeserializeOwned>(&self, method: &str, params: Value) -> Result<T> {
        Ok(serde_json::from_value(self.request(method, params).await?)?)
    }
}

fn gone() -> Error {
    Error::tool("the server has closed the connection")
}

#[derive(Deserialize)]
struct Response {
    result: Option<Value>,
    error: Option<RpcError>,
}

/// What a tool answered.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallResult {
    content: Vec<Value>,
    #[serde(default)]
    structured_content: Option<Value>,
    #[serde(default)]
    is_error: bool,
    #[serde(rename = "_meta", default)]
    meta: Value,
}

impl CallResult {
    /// The text blocks, joined by newlines.
    pub fn text(&self) -> String {
        texts(&self.content)
    }

    /// The content blocks as they came.
    pub fn content(&self) -> &[Value] {
        &self.content
    }

    /// The structured result, read as a `T`.
    pub fn structured<T: DeserializeOwned>(&self) -> Result<T> {
        let value = self.structured_content.clone().ok_or("the result has no structured content")?;
        Ok(serde_json::from_value(value)?)
    }

    /// Whether the tool failed.
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// The result's `_meta`.
    pub fn meta(&self) -> &Value {
        &self.meta
    }
}

/// What a read answered.
#[derive(Debug, Clone, Deserialize)]
pub struct ReadAnswer {
    contents: Vec<ReadContents>,
}

/// One of the contents of a read.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadContents {
    /// Where it is.
    pub uri: String,
    /// Its media type.
    pub mime_type: Option<String>,
    /// Its text, if it is text.
    pub text: Option<String>,
    /// Its bytes in base64, if it is not.
    pub blob: Option<String>,
}

impl ReadAnswer {
    /// The contents as they came.
    pub fn contents(&self) -> &[ReadContents] {
        &self.contents
    }

    /// The text of the contents, joined by newlines.
    pub fn text(&self) -> String {
        self.contents.iter().filter_map(|contents| contents.text.as_deref()).collect::<Vec<_>>().join("\n")
    }

    /// The bytes of the first binary contents.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        let blob = self.contents.iter().find_map(|contents| contents.blob.as_deref());
        Ok(base64::engine::general_purpose::STANDARD.decode(blob.ok_or("the contents are not binary")?)?)
    }
}

/// What a prompt answered.
#[derive(Debug, Clone, Deserialize)]
pub struct PromptAnswer {
    /// What this particular prompt is.
    #[serde(default)]
    pub description: Option<String>,
    messages: Vec<Message>,
}

/// One message of a prompt.
#[derive(Debug, Clone, Deserialize)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// The content block as it came.
    pub content: Value,
}

impl PromptAnswer {
    /// The messages.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The texts of the messages, joined by newlines.
    pub fn text(&self) -> String {
        texts(self.messages.iter().map(|message| &message.content))
    }
}

fn texts<'a>(blocks: impl IntoIterator<Item = &'a Value>) -> String {
    blocks.into_iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// The server's input: what the client sent.
struct Input {
    bytes: mpsc::Receiver<Vec<u8>>,
    current: io::Cursor<Vec<u8>>,
}

impl Read for Input {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.current.read(out)?;
            if count > 0 {
                return Ok(count);
            }
            match self.bytes.recv() {
                Ok(bytes) => self.current = io::Cursor::new(bytes),
                Err(mpsc::RecvError) => return Ok(0),
            }
        }
    }
}

/// The server's output: lines for the inbox.
struct Output {
    inbox: Arc<Inbox>,
    line: Vec<u8>,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.pop_if(|byte| *byte == b'\n').is_some() {
                self.inbox.deliver(String::from_utf8_lossy(&self.line).into_owned());
                self.line.clear();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.inbox.close();
    }
}

/// What the server said and nobody has read.
#[derive(Default)]
struct Inbox {
    state: Mutex<State>,
    arrived: Notify,
}

#[derive(Default)]
struct State {
    expected: HashMap<u64, oneshot::Sender<Value>>,
    lines: VecDeque<String>,
    closed: bool,
}

impl Inbox {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn expect(&self, id: u64) -> oneshot::Receiver<Value> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state();
        if !state.closed {
            state.expected.insert(id, sender);
        }
        receiver
    }

    /// Hands a line to the request it answers, or keeps it.
    fn deliver(&self, line: String) {
        let message: Option<Value> = serde_json::from_str(&line).ok();
        let mut state = self.state();
        let waiting =
            message.as_ref().and_then(|message| message["id"].as_u64()).and_then(|id| state.expected.remove(&id));
        match (waiting, message) {
            // A request that was given up does not want its answer any more.
            (Some(waiting), Some(message)) => drop(waiting.send(message)),
            _ => state.lines.push_back(line),
        }
        drop(state);
        self.arrived.notify_waiters();
    }

    async fn next_line(&self) -> Option<String> {
        loop {
            let arrived = self.arrived.notified();
            {
                let mut state = self.state();
                if let Some(line) = state.lines.pop_front() {
                    return Some(line);
                }
                if state.closed {
                    return None;
                }
            }
            arrived.await;
        }
    }

    fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.expected.clear();
        drop(state);
        self.arrived.notify_waiters();
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("unread", &self.state().lines.len()).finish_non_exhaustive()
    }
}
