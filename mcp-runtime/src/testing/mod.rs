//! A client in memory, for testing a server the way a real client would use it.

mod builder;
mod call;
mod changes;
pub mod contract;
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

use builder::Identity;
use pipe::{Inbox, Input, Output};
use replies::Answers;
use rounds::{Fresh, Responder};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
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

/// A client in memory. It speaks to the server through the same lines, parser and encoder a
/// process on stdio would, in any revision.
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
    fresh: Option<Fresh>,
    server: JoinHandle<Result<(), ServerError>>,
}

impl TestClient {
    /// Connects to `server` in the newest revision.
    pub async fn connect(server: Server) -> Result<Self, ServerError> {
        Self::builder(server).connect().await
    }

    /// Connects to `server` in `revision`, with its handshake if it has one.
    pub async fn with_revision(server: Server, revision: Revision) -> Result<Self, ServerError> {
        Self::builder(server).revision(revision).connect().await
    }

    /// A client to be, which can say more of itself.
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
        TestClientBuilder::new(server)
    }

    /// Connects without a word: for tests of the first words themselves.
    pub fn connect_raw(server: Server) -> Self {
        Self::serve(server, Identity::new(Revision::LATEST), Arc::default())
    }

    fn serve(server: Server, identity: Identity, answers: Arc<Answers>) -> Self {
        let serve = |input, output| tokio::spawn(transport::stdio::serve(server.into_core(), input, output));
        Self::wire(identity, answers, serve)
    }

    /// A client of whatever reads these lines and writes those.
    fn wire(
        identity: Identity,
        answers: Arc<Answers>,
        serve: impl FnOnce(Input, Output) -> JoinHandle<Result<(), ServerError>>,
    ) -> Self {
        let (input, bytes) = mpsc::channel();
        let input = Arc::new(input);
        let responder = Arc::new(Responder::new(answers, &input));
        let inbox = Arc::new(Inbox::new(Arc::clone(&responder)));
        let server = serve(Input::new(bytes), Output::new(Arc::clone(&inbox)));
        TestClient { identity, next_id: AtomicU64::new(1), input, inbox, responder, fresh: None, server }
    }

    /// The tools the server lists.
    pub async fn list_tools(&self) -> Result<Vec<ToolDescriptor>, ServerError> {
        self.list("tools/list", "tools").await
    }

    /// Calls a tool, and waits for what comes of it if the call becomes a task. A result with `isError`
    /// is a result: see [`CallResponse::is_error`].
    pub async fn call(&self, name: &str, arguments: impl Serialize) -> Result<CallResponse, ServerError> {
        self.typed("tools/call", self.call_params(name, arguments).await?).await
    }

    /// What completes an argument of a prompt, of which `typed` is there. `others` are the
    /// arguments that are filled in already.
    pub async fn complete_prompt(
        &self,
        prompt: &str,
        argument: &str,
        typed: &str,
        others: impl Serialize,
    ) -> Result<CompletionResponse, ServerError> {
        self.complete(json!({"type": "ref/prompt", "name": prompt}), argument, typed, others).await
    }

    /// What completes a variable of a resource template, of which `typed` is there. `others` are the
    /// variables that are filled in already.
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

    /// The resources the server lists.
    pub async fn list_resources(&self) -> Result<Vec<ResourceDescriptor>, ServerError> {
        self.list("resources/list", "resources").await
    }

    /// The resource templates the server lists.
    pub async fn list_templates(&self) -> Result<Vec<TemplateDescriptor>, ServerError> {
        self.list("resources/templates/list", "resourceTemplates").await
    }

    /// Reads a resource.
    pub async fn read(&self, uri: &str) -> Result<ReadResponse, ServerError> {
        self.typed("resources/read", json!({"uri": uri})).await
    }

    /// The prompts the server lists.
    pub async fn list_prompts(&self) -> Result<Vec<PromptDescriptor>, ServerError> {
        self.list("prompts/list", "prompts").await
    }

    /// Gets a prompt.
    pub async fn get_prompt(&self, name: &str, arguments: impl Serialize) -> Result<PromptResponse, ServerError> {
        self.typed("prompts/get", json!({"name": name, "arguments": arguments})).await
    }

    /// Makes any request, with what the revision asks every request to carry, and returns its
    /// `result`. An `error` is an [`ServerError`] with a [code](ServerError::code) and [data](ServerError::data). What
    /// a result asks for is left to the test.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, ServerError> {
        let (id, answer) = self.begin();
        self.go(id, method, params)?;
        result(answer.await)
    }

    /// The id of a request to be made, and its answer when it comes.
    fn begin(&self) -> (u64, oneshot::Receiver<Value>) {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        (id, self.inbox.expect(id))
    }

    /// Makes the request.
    fn go(&self, id: u64, method: &str, mut params: Value) -> Result<(), ServerError> {
        self.identity.sign(&mut params);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string())
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: &Value) -> Result<(), ServerError> {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string())
    }

    /// Sends one line as it is: for messages no well-behaved client would send.
    pub fn send(&self, line: &str) -> Result<(), ServerError> {
        self.send_bytes(format!("{line}\n"))
    }

    /// Sends bytes as they are, with or without newlines.
    pub fn send_bytes(&self, bytes: impl Into<Vec<u8>>) -> Result<(), ServerError> {
        self.input.send(bytes.into()).map_err(|_| gone())
    }

    /// The next line from the server that answers none of this client's own requests.
    pub async fn receive(&self) -> Result<String, ServerError> {
        self.inbox.next_line().await.ok_or_else(gone)
    }

    /// Sends one line as it is and returns the next from the server.
    pub async fn exchange(&self, line: &str) -> Result<String, ServerError> {
        self.send(line)?;
        self.receive().await
    }

    /// Closes the client's side and waits for the server to finish; the lines nobody received.
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

    /// The result of a request that may ask first.
    async fn typed<T: DeserializeOwned>(&self, method: &str, params: Value) -> Result<T, ServerError> {
        let first = self.request(method, params.clone()).await;
        Ok(serde_json::from_value(self.settled(method, &params, first).await?)?)
    }
}

/// What a request's answer says.
fn result(answer: Result<Value, RecvError>) -> Result<Value, ServerError> {
    let Response { result, error } = serde_json::from_value(answer.map_err(|_| gone())?)?;
    match error {
        Some(error) => Err(ServerError::protocol(error)),
        None => result.ok_or_else(|| ServerError::msg("the server sent neither a result nor an error")),
    }
}

fn gone() -> ServerError {
    ServerError::msg("the server has closed the connection")
}

#[derive(Deserialize)]
struct Response {
    result: Option<Value>,
    error: Option<RpcError>,
}
