//! How a server is served: its bounds, its hints, and what its author is told.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::Server;
use super::hooks::{ConnectedClient, DisconnectReason, ProtocolError};
use crate::ask::sealed_state::StateSealer;
#[cfg(feature = "tracing-layer")]
use crate::call::telemetry::layer::ClientLogLayer;
use crate::catalog::Settings;
use crate::error::ServerError;
use crate::handler::custom;
use crate::limits::Limits;
use crate::protocol::CacheHint;
use crate::store::TaskStore;
use crate::task::Tasks;

impl Server {
    /// Sets the bounds that keep one client from exhausting the server.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Whether a client on stdio may end the server with `shutdown` and `exit`, as some do that know
    /// them from the Language Server Protocol. MCP itself has no such messages: clients close the
    /// server's input. They may, unless this says no.
    pub fn allow_remote_shutdown(self, ends: bool) -> Self {
        self.set(|settings| settings.ends_on_request = ends)
    }

    /// Sets the secrets for what a client of 2026-07-28 keeps between the rounds of a call that
    /// [asks](crate::Context::elicit). The first seals, all of them open: to replace one, put the new one in
    /// front and take the old one out when no call of its time is under way
    /// ([`Limits::answer_timeout`](crate::Limits::answer_timeout)). Each is at least 32 bytes, random, and
    /// the same for all replicas of a server.
    ///
    /// Without, there is one per process: a retry that reaches another process, or the same one after a
    /// restart, is refused.
    ///
    /// ```no_run
    /// use mcp_runtime::Server;
    ///
    /// let secret = std::env::var("MCP_SECRET").expect("MCP_SECRET: the output of `openssl rand -base64 32`");
    /// let server = Server::new("booking", "1.0.0").secrets([secret]);
    /// ```
    #[track_caller]
    pub fn state_secrets(mut self, secrets: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Self {
        let secrets = secrets.into_iter().map(|secret| secret.as_ref().into()).collect();
        match StateSealer::new(secrets) {
            Ok(secrets) => self.secrets = Arc::new(secrets),
            // Not in a closure: those do not know who called.
            Err(mistake) => panic!("{mistake}"),
        }
        self
    }

    /// Keeps tasks in this store; without, they are in the memory of the process.
    ///
    /// Replicas that share a store share a [`change_bus`](Self::change_bus), too: answers to a task and its cancellation
    /// may come in anywhere, and the bus tells the replica that runs it.
    pub fn task_store(mut self, store: Arc<impl TaskStore>) -> Self {
        self.tasks = Tasks::new(store);
        self
    }

    /// Leaves SIGTERM and Ctrl-C to the program, which ends the server with its
    /// [handle](crate::ServerHandle::shutdown) if it wants to.
    pub fn disable_signals(mut self) -> Self {
        self.keep_signals = true;
        self
    }

    /// Limits how long a call may take, where its handler has no `timeout` of its own.
    pub fn timeout(self, limit: Duration) -> Self {
        self.set(|settings| settings.timeout = Some(limit))
    }

    /// Gives lists in pages of at most so many items. Without, every list is one page.
    #[track_caller]
    pub fn page_size(self, items: usize) -> Self {
        assert!(items > 0, "a page has at least one item");
        self.set(|settings| settings.page_size = Some(items))
    }

    /// Says how long clients may keep what they are told: lists, resources, and what the server is.
    pub fn cache_hint(mut self, cache: CacheHint) -> Self {
        self.caches.server = cache;
        self
    }

    /// Says how long clients may keep the list of tools.
    pub fn cache_hint_tools(mut self, cache: CacheHint) -> Self {
        self.caches.tools = Some(cache);
        self
    }

    /// Says how long clients may keep the list of prompts.
    pub fn cache_hint_prompts(mut self, cache: CacheHint) -> Self {
        self.caches.prompts = Some(cache);
        self
    }

    /// Says how long clients may keep the lists of resources and templates, and the contents of
    /// resources that say nothing of their own.
    pub fn cache_hint_resources(mut self, cache: CacheHint) -> Self {
        self.caches.resources = Some(cache);
        self
    }

    /// Declares an extension of the protocol the server supports, by its identifier
    /// (`vendor.example/name`), with its settings.
    ///
    /// ```
    /// use mcp_runtime::{Server, prelude::json};
    ///
    /// let server = Server::new("maps", "1.0.0").extension("com.example/tiles", json!({"zoom": 12}));
    /// ```
    #[track_caller]
    pub fn extension(self, id: &str, settings: Value) -> Self {
        assert!(
            custom::is_identifier(id),
            "extension `{id}`: an identifier is a name with a domain in front, like `vendor.example/name`"
        );
        assert!(settings.is_object(), "the settings of extension `{id}` must be an object; `{{}}` is none");
        self.set(|all| {
            all.extensions.insert(id.to_owned(), settings);
        })
    }

    /// A `tracing` layer that sends what this server's handlers say to the clients that called them,
    /// as far as they want to know. For the feature `tracing-layer`.
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    /// use mcp_runtime::testing::TestClient;
    /// use tracing_subscriber::prelude::*;
    ///
    /// /// Fetch a page.
    /// #[tool]
    /// async fn fetch(url: String) -> String {
    ///     tracing::info!(url, "fetching"); // reaches the client that called
    ///     format!("the page at {url}")
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// let server = Server::new("web", "1.0.0").tools(tools![fetch]);
    /// // Beside it, a layer that writes to standard error; standard output is the protocol's.
    /// tracing_subscriber::registry().with(server.tracing_layer()).init();
    ///
    /// let client = TestClient::connect(server).await?;
    /// let call = client.observe("fetch", json!({"url": "https://example.com"})).await?;
    /// assert_eq!(call.logs()[0].data, json!({"message": "fetching", "url": "https://example.com"}));
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "tracing-layer")]
    pub fn tracing_layer(&self) -> ClientLogLayer {
        self.shared.change(|catalog| catalog.settings.forwards_logs = true);
        ClientLogLayer
    }

    /// Has `hook` called when a client has opened its session. Clients of 2026-07-28 have none. As of
    /// every hook, there is one: a second takes its place.
    ///
    /// ```
    /// use mcp_runtime::hooks::DisconnectReason;
    /// use mcp_runtime::Server;
    ///
    /// let server = Server::new("watched", "1.0.0")
    ///     .on_initialized(|peer| eprintln!("{:?} speaks {}", peer.name(), peer.revision()))
    ///     .on_disconnected(|reason| match reason {
    ///         DisconnectReason::Eof => eprintln!("the client has gone"),
    ///         other => eprintln!("ended: {other:?}"),
    ///     })
    ///     .on_protocol_error(|error| eprintln!("{} {}: {}", error.code(), error.text(), error.message()))
    ///     .on_transport_error(|error| eprintln!("{error}"));
    /// ```
    pub fn on_initialized(mut self, hook: impl Fn(&ConnectedClient<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.initialized = Some(Box::new(hook));
        self
    }

    /// Has `hook` called when a connection has ended, with the reason.
    pub fn on_disconnected(mut self, hook: impl Fn(&DisconnectReason) + Send + Sync + 'static) -> Self {
        self.hooks.disconnected = Some(Box::new(hook));
        self
    }

    /// Has `hook` called when reading or writing fails.
    pub fn on_transport_error(mut self, hook: impl Fn(&ServerError) + Send + Sync + 'static) -> Self {
        self.hooks.transport_error = Some(Box::new(hook));
        self
    }

    /// Has `hook` called when a message cannot be served: no JSON, no JSON-RPC, an answer nobody
    /// asked for, or a notification whose handling failed. The client has its answer, if it is owed one.
    pub fn on_protocol_error(mut self, hook: impl Fn(&ProtocolError<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.protocol_error = Some(Box::new(hook));
        self
    }

    pub(super) fn set(self, change: impl FnOnce(&mut Settings)) -> Self {
        self.shared.change(|catalog| change(&mut catalog.settings));
        self
    }
}
