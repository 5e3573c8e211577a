//! A client in memory, for testing a server the way a real client would use it.

mod answers;
mod pipe;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

pub use answers::{CallResult, Message, PromptAnswer, ReadAnswer, ReadContents};
use pipe::{Inbox, Input, Output};

use crate::error::{Error, Result, RpcError};
use crate::protocol::{PromptDescriptor, ResourceDescriptor, Revision, TemplateDescriptor, ToolDescriptor};
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
        let output = Output::new(Arc::clone(&inbox));
        let server = tokio::spawn(transport::stdio::serve(server.into_core(), Input::new(bytes), output));
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
        Ok(self.inbox.unread())
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
