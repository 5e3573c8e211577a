//! The builder of a test client: its identity, capabilities and replies.

use std::fmt;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::TestClient;
use super::replies::{ElicitReply, ElicitRequest, Replies, SampleReply};
use super::rounds::ServerFactory;
#[cfg(feature = "auth")]
use crate::auth::User;
use crate::era::TaskNegotiation;
use crate::protocol::{Revision, Root, TASKS_EXTENSION};
use crate::server::Server;

/// The identity a client declares.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    pub(super) revision: Revision,
    /// Whether calls become tasks where possible.
    pub(super) tasks: bool,
    name: String,
    version: String,
    pub(super) capabilities: Map<String, Value>,
    meta: Map<String, Value>,
    /// Who calls, instead of the person who has started the server.
    #[cfg(feature = "auth")]
    pub(super) user: Option<User>,
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
            #[cfg(feature = "auth")]
            user: None,
        }
    }

    fn info(&self) -> Value {
        json!({"name": self.name, "version": self.version})
    }

    /// The same identity, with support for tasks.
    pub(super) fn with_tasks(&self) -> Self {
        Identity { tasks: true, ..self.clone() }
    }

    /// The declared capabilities. Legacy revisions request tasks per call instead of declaring them.
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

    /// Adds the `_meta` every request carries. Entries of the request itself take precedence.
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

/// The server's side of a connection.
pub(super) enum Peer {
    /// In this process.
    Server(Box<Server>),
    /// In another: its output, and its input.
    Streams { output: Box<dyn Read + Send>, input: Box<dyn Write + Send> },
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Peer::Server(_) => "Server",
            Peer::Streams { .. } => "Streams",
        })
    }
}

/// Builds a [`TestClient`]; created by [`TestClient::builder`].
#[derive(Debug)]
#[must_use = "a builder does nothing until `connect` is called"]
pub struct TestClientBuilder {
    peer: Peer,
    pub(super) identity: Identity,
    pub(super) replies: Replies,
    new_server: Option<ServerFactory>,
    /// Whether the server decides about the revision.
    pub(super) negotiates: bool,
}

impl TestClientBuilder {
    pub(super) fn new(peer: Peer) -> Self {
        let identity = Identity::new(Revision::LATEST);
        let negotiates = matches!(peer, Peer::Streams { .. });
        TestClientBuilder { peer, identity, replies: Replies::default(), new_server: None, negotiates }
    }

    /// Sets the revision. Default: the newest; in another process, the newest that both sides know.
    pub fn revision(mut self, revision: Revision) -> Self {
        self.identity.revision = revision;
        self.negotiates = false;
        self
    }

    /// Sets the client's name. Default: `test-client`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.identity.name = name.into();
        self
    }

    /// Declares a capability with these settings, for example `capability("sampling", json!({}))`.
    pub fn capability(mut self, name: impl Into<String>, settings: impl Serialize) -> Self {
        self.identity.capabilities.insert(name.into(), json!(settings));
        self
    }

    /// Adds an entry to the `_meta` of every request.
    pub fn meta(mut self, key: impl Into<String>, value: impl Serialize) -> Self {
        self.identity.meta.insert(key.into(), json!(value));
        self
    }

    /// Answers the server's elicitations: with the content of the form as JSON, or with an
    /// [`ElicitReply`]. Declares the `elicitation` capability, unless [`capability`](Self::capability) does.
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
        self.replies.elicit = Some(Mutex::new(Box::new(move |question: &ElicitRequest| answer(question).into())));
        self
    }

    /// Answers the server's sampling requests, given the parameters of `sampling/createMessage`: with a
    /// text, or with the result as JSON. Declares the `sampling` capability, unless
    /// [`capability`](Self::capability) does.
    pub fn on_sample<R: Into<SampleReply>>(mut self, mut answer: impl FnMut(&Value) -> R + Send + 'static) -> Self {
        self.replies.sample = Some(Mutex::new(Box::new(move |params: &Value| answer(params).into())));
        self
    }

    /// Answers `roots/list` with these roots. Pairs are URIs and names. Declares the `roots` capability,
    /// unless [`capability`](Self::capability) does.
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    /// use mcp_runtime::protocol::Root;
    /// use mcp_runtime::testing::TestClient;
    ///
    /// # let server = || Server::new("files", "1.0.0");
    /// let named = TestClient::builder(server()).roots([("file:///home/ann", "Home")]);
    /// let unnamed = TestClient::builder(server()).roots([Root::new("file:///tmp")]);
    /// ```
    pub fn roots(mut self, roots: impl IntoIterator<Item: Into<Root>>) -> Self {
        self.replies.roots = Some(roots.into_iter().map(Into::into).collect());
        self
    }

    /// Makes calls become tasks where the revision and the tool support it, and waits for their results. In
    /// 2026-07-28 the client declares the capability; in 2025-11-25 it requests a task for tools listed as
    /// supporting one.
    ///
    /// ```
    /// use mcp_runtime::{Revision, prelude::*};
    /// use mcp_runtime::testing::TestClient;
    ///
    /// /// Report whether the call is a task.
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

    /// Calls as this user, with these scopes: what they lack is denied, as over HTTP, with a JSON-RPC error. Without it,
    /// the caller has every scope. The server must be in this process. Requires the feature `auth`.
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    /// use mcp_runtime::testing::TestClient;
    ///
    /// /// Delete a note.
    /// #[tool(scopes("notes:write"))]
    /// fn delete_note(ctx: &Context, id: u64) -> Result<String> {
    ///     Ok(format!("note {id} of {} is gone", ctx.user()?.subject()))
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// let server = || Server::new("notes", "1.0.0").tools(tools![delete_note]);
    /// let alice = TestClient::builder(server()).user("alice", ["notes:write"]).connect().await?;
    /// assert_eq!(alice.call("delete_note", json!({"id": 1})).await?.text(), "note 1 of alice is gone");
    ///
    /// let bob = TestClient::builder(server()).user("bob", ["notes:read"]).connect().await?;
    /// assert!(bob.list_tools().await?.is_empty());
    /// let denied = bob.call("delete_note", json!({"id": 1})).await.unwrap_err();
    /// assert_eq!(denied.data().unwrap()["missingScopes"], json!(["notes:write"]));
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "auth")]
    pub fn user(self, subject: impl Into<String>, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.user_is(User::new(subject).with_scopes(scopes))
    }

    /// Like [`user`](Self::user), with an issuer, a client or claims.
    #[cfg(feature = "auth")]
    pub fn user_is(mut self, user: User) -> Self {
        self.identity.user = Some(user);
        self
    }

    /// The answers are a person's: the client does not stand still meanwhile.
    #[cfg(feature = "cli")]
    pub(crate) fn asks_a_person(mut self) -> Self {
        self.replies.asks_a_person = true;
        self
    }

    /// Sends every round after the first to a new server, as replicas without shared memory would serve it.
    /// Only 2026-07-28 has rounds. The servers need a common
    /// [state secret](crate::Server::state_secrets) to read each other's state.
    pub fn new_server_per_round(mut self, server: impl Fn() -> Server + Send + Sync + 'static) -> Self {
        self.new_server = Some(ServerFactory(Box::new(server)));
        self
    }

    /// Connects without a handshake.
    pub(super) fn open(self, wire: impl FnOnce(Peer, Identity, Arc<Replies>) -> TestClient) -> TestClient {
        let TestClientBuilder { peer, mut identity, replies, new_server, negotiates: _ } = self;
        replies.declare(identity.revision, &mut identity.capabilities);
        TestClient { new_server, ..wire(peer, identity, Arc::new(replies)) }
    }
}
