//! [`TestClient`]: a client of a server in this process, or at the other end of two streams. It tests servers, and the
//! command line runs on it.

mod builder;
mod call;
mod changes;
mod connect;
mod notifications;
mod pipe;
mod replies;
mod results;
mod rounds;
mod tasks;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

use builder::{Identity, Peer};
use pipe::{Inbox, Input, Output};
use replies::Replies;
use rounds::{Responder, ServerFactory};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tasks::running::RunningTasks;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::RecvError;
use tokio::task::JoinHandle;

use crate::error::{Result, ServerError};
use crate::jsonrpc::error::RpcError;
use crate::protocol::{PromptDescriptor, ResourceDescriptor, Revision, TemplateDescriptor, ToolDescriptor};
use crate::server::Server;
use crate::transport;
pub use builder::TestClientBuilder;
pub use call::Call;
pub use notifications::{Changes, LogMessage, Observed, ProgressNote};
pub use replies::{ElicitReply, ElicitRequest, SampleReply};
pub use results::{CallResponse, CompletionResponse, Message, PromptResponse, ReadContents, ReadResponse};
pub use tasks::{Task, TaskState};

/// A client of a [`Server`] in memory, in any revision. Its messages take the same path through parser, dispatcher and
/// encoder as those of a process on stdio. [`over`](Self::over) connects it to a server in another process.
///
/// ```
/// use mcp_runtime::{Revision, prelude::*};
/// use mcp_runtime::testing::TestClient;
///
/// /// Say hello.
/// #[tool]
/// fn hello(name: String) -> String {
///     format!("Hello, {name}!")
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<()> {
/// for revision in Revision::ALL.iter().copied() {
///     let server = Server::new("greeter", "1.0.0").tools(tools![hello]);
///     let client = TestClient::with_revision(server, revision).await?;
///     assert_eq!(client.call("hello", json!({"name": "you"})).await?.text(), "Hello, you!");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TestClient {
    identity: Identity,
    next_id: AtomicU64,
    input: Arc<mpsc::Sender<Vec<u8>>>,
    inbox: Arc<Inbox>,
    responder: Arc<Responder>,
    new_server: Option<ServerFactory>,
    /// The result of `initialize`, if there was one.
    initialized: Value,
    /// Whether the server is in another process, which is not to be polled all the time.
    is_remote: bool,
    running: RunningTasks,
    server: JoinHandle<Result<(), ServerError>>,
}

impl TestClient {
    /// Connects to `server` in the newest revision.
    pub async fn connect(server: Server) -> Result<Self, ServerError> {
        Self::builder(server).connect().await
    }

    /// Connects to `server` in this revision, with a handshake if the revision has one.
    pub async fn with_revision(server: Server, revision: Revision) -> Result<Self, ServerError> {
        Self::builder(server).revision(revision).connect().await
    }

    /// A builder, to set the client's name, capabilities and answers.
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    /// use mcp_runtime::testing::TestClient;
    ///
    /// /// Greet the client by its name.
    /// #[tool]
    /// fn whoami(ctx: &Context) -> Option<String> {
    ///     ctx.client_name().map(str::to_owned)
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// let server = Server::new("greeter", "1.0.0").tools(tools![whoami]);
    /// let client = TestClient::builder(server).name("editor").capability("roots", json!({})).connect().await?;
    /// assert_eq!(client.call("whoami", json!({})).await?.text(), "editor");
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder(server: Server) -> TestClientBuilder {
        TestClientBuilder::new(Peer::Server(Box::new(server)))
    }

    /// Connects without a handshake, for tests of the handshake itself.
    pub fn connect_raw(server: Server) -> Self {
        Self::serve(server, Identity::new(Revision::LATEST), Arc::default())
    }

    /// Structured results are checked, unless the server was told not to.
    #[cfg_attr(not(feature = "auth"), allow(unused_mut))]
    fn serve(mut server: Server, identity: Identity, replies: Arc<Replies>) -> Self {
        #[cfg(feature = "auth")]
        server.auth.user.clone_from(&identity.user);
        server.shared.change(|catalog| *catalog.settings.validate_output.get_or_insert(true));
        // Here rather than in the task: mistakes in the set-up panic at the caller.
        let core = server.into_core();
        let serve = |input, output| tokio::spawn(transport::stdio::serve(core, input, output));
        Self::wire(identity, replies, serve)
    }

    /// A client of a server given by its input and output.
    fn wire(
        identity: Identity,
        replies: Arc<Replies>,
        serve: impl FnOnce(Input, Output) -> JoinHandle<Result<(), ServerError>>,
    ) -> Self {
        let (input, bytes) = mpsc::channel();
        let input = Arc::new(input);
        let responder = Arc::new(Responder::new(replies, &input));
        let inbox = Arc::new(Inbox::new(Arc::clone(&responder)));
        let server = serve(Input::new(bytes), Output::new(Arc::clone(&inbox)));
        TestClient {
            identity,
            next_id: AtomicU64::new(1),
            input,
            inbox,
            responder,
            new_server: None,
            initialized: Value::Null,
            is_remote: false,
            running: RunningTasks::default(),
            server,
        }
    }

    /// Lists the tools, all pages.
    pub async fn list_tools(&self) -> Result<Vec<ToolDescriptor>, ServerError> {
        self.list("tools/list", "tools").await
    }

    /// Calls a tool and waits for the result, also if the call becomes a task. A result with `isError` is
    /// `Ok`: see [`CallResponse::is_error`].
    pub async fn call(&self, name: &str, arguments: impl Serialize) -> Result<CallResponse, ServerError> {
        self.typed("tools/call", self.call_params(name, arguments).await?).await
    }

    /// Completes an argument of a prompt. `typed` is its text so far, `others` the arguments filled in
    /// already.
    pub async fn complete_prompt(
        &self,
        prompt: &str,
        argument: &str,
        typed: &str,
        others: impl Serialize,
    ) -> Result<CompletionResponse, ServerError> {
        self.complete(json!({"type": "ref/prompt", "name": prompt}), argument, typed, others).await
    }

    /// Completes a variable of a resource template. `typed` is its text so far, `others` the variables
    /// filled in already.
    pub async fn complete_template(
        &self,
        template: &str,
        variable: &str,
        typed: &str,
        others: impl Serialize,
    ) -> Result<CompletionResponse, ServerError> {
        self.complete(json!({"type": "ref/resource", "uri": template}), variable, typed, others).await
    }

    async fn complete(
        &self,
        of: Value,
        name: &str,
        value: &str,
        others: impl Serialize,
    ) -> Result<CompletionResponse, ServerError> {
        let argument = json!({"name": name, "value": value});
        let params = json!({"ref": of, "argument": argument, "context": {"arguments": others}});
        let mut result = self.request("completion/complete", params).await?;
        Ok(serde_json::from_value(result["completion"].take())?)
    }

    /// Lists the resources, all pages.
    pub async fn list_resources(&self) -> Result<Vec<ResourceDescriptor>, ServerError> {
        self.list("resources/list", "resources").await
    }

    /// Lists the resource templates, all pages.
    pub async fn list_templates(&self) -> Result<Vec<TemplateDescriptor>, ServerError> {
        self.list("resources/templates/list", "resourceTemplates").await
    }

    /// Reads the resource at this URI (`resources/read`).
    pub async fn read(&self, uri: &str) -> Result<ReadResponse, ServerError> {
        self.typed("resources/read", json!({"uri": uri})).await
    }

    /// Lists the prompts, all pages.
    pub async fn list_prompts(&self) -> Result<Vec<PromptDescriptor>, ServerError> {
        self.list("prompts/list", "prompts").await
    }

    /// Gets a prompt with these arguments (`prompts/get`).
    pub async fn get_prompt(&self, name: &str, arguments: impl Serialize) -> Result<PromptResponse, ServerError> {
        self.typed("prompts/get", json!({"name": name, "arguments": arguments})).await
    }

    /// Reads a resource; its result as received, after the server's questions are answered.
    #[cfg(feature = "cli")]
    pub(crate) async fn read_raw(&self, uri: &str) -> Result<Value, ServerError> {
        self.typed("resources/read", json!({"uri": uri})).await
    }

    /// Gets a prompt; its result as received, after the server's questions are answered.
    #[cfg(feature = "cli")]
    pub(crate) async fn get_raw(&self, name: &str, arguments: impl Serialize) -> Result<Value, ServerError> {
        self.typed("prompts/get", json!({"name": name, "arguments": arguments})).await
    }

    /// Sends any request, with the `_meta` its revision requires, and returns its `result`. An `error`
    /// becomes a [`ServerError`] with a [code](ServerError::code) and [data](ServerError::data). Questions in
    /// the result are left to the test.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, ServerError> {
        let (id, answer) = self.begin();
        self.send_request(id, method, params)?;
        result(answer.await)
    }

    /// Reserves the id of a request; the receiver yields its response.
    fn begin(&self) -> (u64, oneshot::Receiver<Value>) {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        (id, self.inbox.expect(id))
    }

    /// Sends the request.
    fn send_request(&self, id: u64, method: &str, mut params: Value) -> Result<(), ServerError> {
        self.identity.sign(&mut params);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string())
    }

    /// Sends a notification, to which there is no response.
    pub fn notify(&self, method: &str, params: &Value) -> Result<(), ServerError> {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string())
    }

    /// Sends a line verbatim, for malformed messages.
    pub fn send(&self, line: &str) -> Result<(), ServerError> {
        self.send_bytes(format!("{line}\n"))
    }

    /// Sends bytes verbatim, with or without newlines.
    pub fn send_bytes(&self, bytes: impl Into<Vec<u8>>) -> Result<(), ServerError> {
        self.input.send(bytes.into()).map_err(|_| disconnected())
    }

    /// Waits for the next line from the server that is not a response to a request of this client.
    pub async fn receive(&self) -> Result<String, ServerError> {
        self.inbox.next_line().await.ok_or_else(disconnected)
    }

    /// Sends a line verbatim and returns the next one from the server.
    pub async fn exchange(&self, line: &str) -> Result<String, ServerError> {
        self.send(line)?;
        self.receive().await
    }

    /// Closes the connection, waits for the server to finish, and returns the lines not yet received.
    pub async fn close(self) -> Result<Vec<String>, ServerError> {
        drop(self.input);
        self.server.await.map_err(std::io::Error::other)??;
        Ok(self.inbox.unread())
    }

    async fn list<T: DeserializeOwned>(&self, method: &str, member: &str) -> Result<Vec<T>, ServerError> {
        let (mut items, mut params) = (Vec::new(), json!({}));
        loop {
            let mut page = self.request(method, params).await?;
            items.extend(serde_json::from_value::<Vec<T>>(page[member].take())?);
            match page["nextCursor"].take() {
                Value::Null => return Ok(items),
                cursor => params = json!({"cursor": cursor}),
            }
        }
    }

    /// The deserialized result of a request, after the server's questions are answered.
    async fn typed<T: DeserializeOwned>(&self, method: &str, params: Value) -> Result<T, ServerError> {
        let first = self.request(method, params.clone()).await;
        Ok(serde_json::from_value(self.settled(method, &params, first, None).await?)?)
    }
}

/// The `result` of a response, or its `error`.
fn result(answer: Result<Value, RecvError>) -> Result<Value, ServerError> {
    let Response { result, error } = serde_json::from_value(answer.map_err(|_| disconnected())?)?;
    match error {
        Some(error) => Err(ServerError::protocol(error)),
        None => result.ok_or_else(|| ServerError::msg("the server sent neither a result nor an error")),
    }
}

fn disconnected() -> ServerError {
    ServerError::msg("the server has closed the connection")
}

#[derive(Deserialize)]
struct Response {
    result: Option<Value>,
    error: Option<RpcError>,
}
