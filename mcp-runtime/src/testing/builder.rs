//! Who a test client says it is, what it says it can, and what it answers.

use std::sync::{Arc, Mutex};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::TestClient;
use super::replies::{Answers, ElicitReply, ElicitRequest, SampleReply};
use super::rounds::Fresh;
use crate::era::TaskNegotiation;
use crate::error::{Result, ServerError};
use crate::protocol::{Revision, TASKS_EXTENSION};
use crate::server::Server;

/// What a client says of itself.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    pub(super) revision: Revision,
    /// Whether it wants tasks where it can have them.
    pub(super) tasks: bool,
    name: String,
    version: String,
    capabilities: Map<String, Value>,
    meta: Map<String, Value>,
}

impl Identity {
    pub(super) fn new(revision: Revision) -> Self {
        Identity {
            revision,
            tasks: false,
            name: "test-client".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            capabilities: Map::new(),
            meta: Map::new(),
        }
    }

    fn info(&self) -> Value {
        json!({"name": self.name, "version": self.version})
    }

    /// The same, for a call that is to be a task.
    pub(super) fn with_tasks(&self) -> Self {
        Identity { tasks: true, ..self.clone() }
    }

    /// What it says it can. In a session, a client of tasks says nothing of it.
    fn capabilities(&self) -> Value {
        let mut all = json!(self.capabilities);
        if self.tasks
            && self.revision.task_negotiation() == TaskNegotiation::ByServer
            && all["extensions"].get(TASKS_EXTENSION).is_none()
        {
            all["extensions"][TASKS_EXTENSION] = json!({});
        }
        all
    }

    /// The parameters of `initialize`.
    pub(super) fn initialize_params(&self) -> Value {
        json!({
            "protocolVersion": self.revision,
            "capabilities": self.capabilities(),
            "clientInfo": self.info(),
        })
    }

    /// Adds what every request carries; what the request says itself stays.
    pub(super) fn sign(&self, params: &mut Value) {
        let mut meta = self.meta.clone();
        if self.revision.is_stateless() {
            meta.extend([
                ("io.modelcontextprotocol/protocolVersion".to_owned(), json!(self.revision)),
                ("io.modelcontextprotocol/clientCapabilities".to_owned(), self.capabilities()),
                ("io.modelcontextprotocol/clientInfo".to_owned(), self.info()),
            ]);
        }
        if let (false, Value::Object(params)) = (meta.is_empty(), params) {
            match params.get_mut("_meta") {
                Some(Value::Object(own)) => {
                    meta.extend(std::mem::take(own));
                    *own = meta;
                }
                _ => {
                    params.insert("_meta".to_owned(), Value::Object(meta));
                }
            }
        }
    }
}

/// A [`TestClient`] to be, from [`TestClient::builder`].
#[derive(Debug)]
#[must_use = "it is no client until it connects"]
pub struct TestClientBuilder {
    server: Server,
    identity: Identity,
    answers: Answers,
    fresh: Option<Fresh>,
}

impl TestClientBuilder {
    pub(super) fn new(server: Server) -> Self {
        let identity = Identity::new(Revision::LATEST);
        TestClientBuilder { server, identity, answers: Answers::default(), fresh: None }
    }

    /// Speaks this revision; without, the newest.
    pub fn revision(mut self, revision: Revision) -> Self {
        self.identity.revision = revision;
        self
    }

    /// Has this name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.identity.name = name.into();
        self
    }

    /// Says that it can do something, with these settings: `capability("sampling", json!({}))`.
    pub fn capability(mut self, name: impl Into<String>, settings: impl Serialize) -> Self {
        self.identity.capabilities.insert(name.into(), json!(settings));
        self
    }

    /// Puts an entry into the `_meta` of every request.
    pub fn meta(mut self, key: impl Into<String>, value: impl Serialize) -> Self {
        self.identity.meta.insert(key.into(), json!(value));
        self
    }

    /// Answers what the server asks a person: with the content of the form, as JSON, or with a
    /// [`ElicitReply`]. The client says that it can, unless a [capability](Self::capability) does.
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    /// use mcp_runtime::testing::TestClient;
    /// use mcp_runtime::testing::{ElicitRequest, ElicitReply};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let server = || Server::new("notes", "1.0.0");
    /// let sure = TestClient::builder(server()).on_elicit(|_: &ElicitRequest| json!({"sure": true})).connect().await?;
    /// let unsure = TestClient::builder(server()).on_elicit(|question: &ElicitRequest| match question.url() {
    ///     Some(_) => ElicitReply::decline(),
    ///     None => ElicitReply::accept(json!({"sure": question.message().ends_with("really?")})),
    /// });
    /// # drop((sure, unsure.connect().await?));
    /// # Ok(())
    /// # }
    /// ```
    pub fn on_elicit<R: Into<ElicitReply>>(
        mut self,
        mut answer: impl FnMut(&ElicitRequest) -> R + Send + 'static,
    ) -> Self {
        self.answers.elicit = Some(Mutex::new(Box::new(move |question: &ElicitRequest| answer(question).into())));
        self
    }

    /// Answers what the server asks the client's model, from the parameters of
    /// `sampling/createMessage`: with a text, or with the result as JSON. The client says that it can,
    /// unless a [capability](Self::capability) does.
    pub fn on_sample<R: Into<SampleReply>>(mut self, mut answer: impl FnMut(&Value) -> R + Send + 'static) -> Self {
        self.answers.sample = Some(Mutex::new(Box::new(move |params: &Value| answer(params).into())));
        self
    }

    /// Works in these directories, of which it tells the server: their URIs and names. The client says
    /// that it can, unless a [capability](Self::capability) does.
    pub fn roots<U: Into<String>, N: Into<String>>(mut self, roots: impl IntoIterator<Item = (U, N)>) -> Self {
        let root = |(uri, name): (U, N)| json!({"uri": uri.into(), "name": name.into()});
        self.answers.roots = Some(roots.into_iter().map(root).collect());
        self
    }

    /// Has calls become tasks where the revision and the tool allow it, and waits for what comes of them:
    /// in 2026-07-28 by saying that it can, in 2025-11-25 by calling for a task what is listed as one.
    ///
    /// ```
    /// use mcp_runtime::{Revision, prelude::*};
    /// use mcp_runtime::testing::TestClient;
    ///
    /// /// Tell whether this is a task.
    /// #[tool(task)]
    /// async fn long(ctx: &Context) -> bool {
    ///     ctx.is_task()
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// for revision in Revision::ALL.iter().copied() {
    ///     let server = Server::new("worker", "1.0.0").tools(tools![long]);
    ///     let client = TestClient::builder(server).revision(revision).tasks().connect().await?;
    ///     let is_task = revision >= Revision::V2025_11_25;
    ///     assert_eq!(client.call("long", json!({})).await?.text(), is_task.to_string());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn tasks(mut self) -> Self {
        self.identity.tasks = true;
        self
    }

    /// Sends every round after the first to a server of its own, as a fleet without memory would serve
    /// it. Only 2026-07-28 has rounds; the servers need a secret in common to read each other's state.
    pub fn new_server_per_round(mut self, server: impl Fn() -> Server + Send + Sync + 'static) -> Self {
        self.fresh = Some(Fresh(Box::new(server)));
        self
    }

    /// Connects, with the handshake of the revision if it has one.
    pub async fn connect(self) -> Result<TestClient, ServerError> {
        let client = self.open(TestClient::serve);
        if !client.identity.revision.is_stateless() {
            client.request("initialize", client.identity.initialize_params()).await?;
            client.notify("notifications/initialized", &json!({}))?;
        }
        Ok(client)
    }

    /// Connects without a word.
    pub(super) fn open(self, serve: impl FnOnce(Server, Identity, Arc<Answers>) -> TestClient) -> TestClient {
        let TestClientBuilder { server, mut identity, answers, fresh } = self;
        answers.declare(identity.revision, &mut identity.capabilities);
        TestClient { fresh, ..serve(server, identity, Arc::new(answers)) }
    }
}
