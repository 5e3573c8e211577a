//! The options of a [`Server`]: limits, timeouts, cache hints, stores and hooks.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::Server;
#[cfg(feature = "http")]
use super::Stores;
use super::hooks::{ConnectedClient, DisconnectReason, ProtocolError};
use crate::ask::sealed_state::StateSealer;
#[cfg(feature = "tracing-layer")]
use crate::call::telemetry::layer::ClientLogLayer;
use crate::call::telemetry::record::Observing;
use crate::call::telemetry::told::Telemetry;
use crate::catalog::Settings;
use crate::error::ServerError;
use crate::handler::custom;
use crate::limits::Limits;
use crate::observe::{Observer, Spans};
use crate::protocol::CacheHint;
use crate::store::TaskStore;
#[cfg(feature = "http")]
use crate::store::replica::Replica;
#[cfg(feature = "http")]
use crate::store::{Backend, DynBackend};
use crate::task::Tasks;
use crate::throttle::limiter::RateLimits;
use crate::throttle::rate::RateLimit;

impl Server {
    /// Adds an [`Observer`], which is told what became of each request: for metrics, logs, audits and tests. A closure is
    /// one; [`AccessLog`](crate::observe::AccessLog) is another.
    ///
    /// ```
    /// use mcp_runtime::Server;
    /// use mcp_runtime::observe::{AccessLog, Finished};
    ///
    /// let server = Server::new("notes", "1.0.0").observe(AccessLog).observe(|request: &Finished<'_>| {
    ///     if request.is_server_error() {
    ///         eprintln!("{} failed after {:?}", request.method, request.duration);
    ///     }
    /// });
    /// ```
    pub fn observe(mut self, observer: impl Observer) -> Self {
        self.telemetry().observers.push(Box::new(observer));
        self
    }

    /// Makes a `tracing` span of each request, by OpenTelemetry's conventions for MCP. See [`Spans`].
    ///
    /// ```
    /// use mcp_runtime::Server;
    /// use mcp_runtime::observe::Spans;
    ///
    /// let server = Server::new("notes", "1.0.0").spans(Spans::new());
    /// ```
    pub fn spans(mut self, spans: Spans) -> Self {
        self.telemetry().spans = Some(spans);
        self
    }

    fn telemetry(&mut self) -> &mut Telemetry {
        &mut self.observing.get_or_insert_with(Observing::new).telemetry
    }

    /// Sets who callers are and what they may call. Requires the feature `auth`.
    ///
    /// Over HTTP this is as [`HttpService::authorize`](crate::http::HttpService::authorize). On stdio there are no tokens:
    /// the caller has every scope, or those of [`Auth::local`](crate::auth::Auth::local). The hierarchy of scopes and the scopes of every call
    /// hold everywhere, also for [`TestClientBuilder::user`](crate::testing::TestClientBuilder::user).
    #[cfg(feature = "auth")]
    pub fn authorize(mut self, auth: crate::auth::Auth) -> Self {
        self.auth.auth = Some(auth);
        self
    }

    /// Sets the limits that keep one client from exhausting the server.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Limits how often requests are served. Call it again for further limits: all of them hold.
    ///
    /// Counted are calls, reads, prompts, completions, lists, task methods and custom methods, in a batch each of them.
    /// Not counted are `ping`, `initialize`, `server/discover`, subscriptions and notifications. The `rate` of a handler holds
    /// beside these limits.
    ///
    /// A request beyond a limit is answered with error `-32000` before anything of it runs. Its `data` has
    /// `retryAfterMs`, its text tells the model how long to wait. Over HTTP the status is 429, with `Retry-After`.
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    /// use mcp_runtime::{RateLimit, testing::TestClient};
    ///
    /// # #[tool]
    /// # fn add(a: i64, b: i64) -> i64 { a + b }
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// let server = Server::new("calculator", "1.0.0").tools(tools![add]).rate_limit(RateLimit::per_hour(2));
    /// let client = TestClient::connect(server).await?;
    /// for _ in 0..2 {
    ///     client.call("add", json!({"a": 1, "b": 2})).await?;
    /// }
    /// let error = client.call("add", json!({"a": 1, "b": 2})).await.unwrap_err();
    /// assert_eq!(error.code(), Some(-32000));
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn rate_limit(mut self, limit: RateLimit) -> Self {
        if let Some(problem) = limit.problem() {
            self.mistake(problem);
        }
        match &mut self.rate_limits {
            Some(limits) => limits.add(limit),
            none => *none = Some(Box::new(RateLimits::new(limit))),
        }
        self
    }

    /// Sets whether a client on stdio may stop the server with `shutdown` and `exit`. Enabled by default.
    ///
    /// MCP has no such messages: its clients close the server's input. Some clients send them
    /// nevertheless, as in the Language Server Protocol.
    pub fn allow_remote_shutdown(self, allowed: bool) -> Self {
        self.set(|settings| settings.remote_shutdown = allowed)
    }

    /// Sets whether calls with unknown arguments are rejected, and says so in the schemas
    /// (`additionalProperties: false`). Default: no.
    ///
    /// Without it, an unknown argument is accepted where the schema allows it. One that looks like a misspelt
    /// argument is logged.
    pub fn strict_arguments(self, strict: bool) -> Self {
        self.set(|settings| settings.arguments.strict = strict)
    }

    /// Sets whether arguments of the wrong type are read leniently, where the schema leaves one reading. Default:
    /// yes.
    ///
    /// Models send `"5"` for an integer, `"true"` for a boolean, a list or an object as JSON text, and a single value
    /// for a list. Such a call succeeds; a call whose arguments match costs nothing more.
    pub fn lenient_types(self, lenient: bool) -> Self {
        self.set(|settings| settings.arguments.exact_types = !lenient)
    }

    /// Sets whether structured results are checked against the `outputSchema` of their tool. A result that does not
    /// match fails the call. Default: in debug builds, and with a [`TestClient`](crate::testing::TestClient).
    pub fn validate_output(self, validate: bool) -> Self {
        self.set(|settings| settings.validate_output = Some(validate))
    }

    /// Sets the secrets that protect the request state: what a client of 2026-07-28 holds between the
    /// rounds of a call that [asks](crate::Context::elicit).
    ///
    /// The first secret seals new states; all of them open existing ones. To rotate, put the new secret
    /// first, and remove the old one after [`Limits::answer_timeout`](crate::Limits::answer_timeout).
    /// A secret has at least 32 random bytes, and all replicas of a server use the same ones.
    ///
    /// Default: one random secret per process. A retry that reaches another replica, or the same one
    /// after a restart, is then rejected.
    ///
    /// ```no_run
    /// use mcp_runtime::Server;
    ///
    /// let secret = std::env::var("MCP_SECRET").expect("MCP_SECRET: the output of `openssl rand -base64 32`");
    /// let server = Server::new("booking", "1.0.0").state_secrets([secret]);
    /// ```
    #[track_caller]
    pub fn state_secrets(mut self, secrets: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Self {
        let secrets = secrets.into_iter().map(|secret| secret.as_ref().into()).collect();
        match StateSealer::new(secrets) {
            Ok(secrets) => self.secrets = Arc::new(secrets),
            // Not in a closure: `track_caller` does not reach into closures.
            Err(problem) => self.mistake(problem),
        }
        self
    }

    /// Keeps tasks in this store. Default: in memory.
    ///
    /// Replicas that share a store must share a [`change_bus`](Self::change_bus), too. Answers for a task
    /// and its cancellation may reach any replica; the bus forwards them to the one that runs the task.
    pub fn task_store(mut self, store: Arc<impl TaskStore>) -> Self {
        self.tasks = Tasks::new(store);
        self
    }

    /// Shares sessions, events, tasks, changes and the state secret with other replicas, through Redis for example (crate
    /// `mcp-redis`). A load balancer may then send any request to any replica. Requires the feature `http`.
    ///
    /// Call it before any method that uses the [bus](Self::change_bus). Replicas have the same name. With
    /// [`state_secrets`](Self::state_secrets), those are used.
    ///
    /// ```
    /// use mcp_runtime::Server;
    /// use mcp_runtime::store::MemoryBackend;
    ///
    /// let backend = MemoryBackend::new();
    /// let replica = Server::new("notes", "1.0.0").backend(backend.clone());
    /// let another = Server::new("notes", "1.0.0").backend(backend);
    /// ```
    #[cfg(feature = "http")]
    #[track_caller]
    pub fn backend(mut self, backend: impl Backend) -> Self {
        let backend = Arc::new(backend);
        let (sessions, events) = (backend.sessions(), backend.events());
        let replica = Replica::new(backend.leases())
            .inspect_err(|error| tracing::error!(%error, "this replica has no id; others cannot tell that it lives"))
            .ok()
            .map(Arc::new);
        let (inbox, tasks, changes) = (backend.inbox(), backend.tasks(), backend.changes());
        let backend: Arc<dyn DynBackend> = backend;
        if !self.secrets.has_secrets() {
            self.secrets = Arc::new(StateSealer::agreeing(Arc::clone(&backend)));
        }
        self.stores = Some(Stores { sessions, events, inbox, replica: replica.clone(), backend });
        let mut server = self.task_store(tasks);
        server.tasks.replica = replica;
        server.change_bus(changes)
    }

    /// Leaves SIGTERM and Ctrl-C to the program. By default either of them shuts the server down
    /// gracefully; see [`ServerHandle::shutdown`](crate::ServerHandle::shutdown).
    pub fn disable_signals(mut self) -> Self {
        self.signals_disabled = true;
        self
    }

    /// Sets the timeout of calls whose handler has no `timeout`. Default: none.
    pub fn timeout(self, limit: Duration) -> Self {
        self.set(|settings| settings.timeout = Some(limit))
    }

    /// Splits lists into pages of at most `items` items. Default: one page.
    #[track_caller]
    pub fn page_size(mut self, items: usize) -> Self {
        if items == 0 {
            self.mistake("`page_size` must be at least 1");
        }
        self.set(|settings| settings.page_size = Some(items))
    }

    /// Sets how long clients may cache lists, resources, and the description of the server. The other
    /// `cache_hint_…` methods and the `ttl` of a resource take precedence.
    pub fn cache_hint(mut self, cache: CacheHint) -> Self {
        self.caches.server = cache;
        self
    }

    /// Sets how long clients may cache the list of tools.
    pub fn cache_hint_tools(mut self, cache: CacheHint) -> Self {
        self.caches.tools = Some(cache);
        self
    }

    /// Sets how long clients may cache the list of prompts.
    pub fn cache_hint_prompts(mut self, cache: CacheHint) -> Self {
        self.caches.prompts = Some(cache);
        self
    }

    /// Sets how long clients may cache the lists of resources and templates, and the contents of
    /// resources without a `ttl`.
    pub fn cache_hint_resources(mut self, cache: CacheHint) -> Self {
        self.caches.resources = Some(cache);
        self
    }

    /// Declares that the server supports a protocol extension, by its identifier
    /// (`vendor.example/name`), with its settings.
    ///
    /// ```
    /// use mcp_runtime::{Server, prelude::json};
    ///
    /// let server = Server::new("maps", "1.0.0").extension("com.example/tiles", json!({"zoom": 12}));
    /// ```
    #[track_caller]
    pub fn extension(mut self, id: &str, settings: Value) -> Self {
        if !custom::is_identifier(id) {
            self.mistake(format!(
                "extension `{id}`: an identifier is a name prefixed with a domain, like `vendor.example/name`"
            ));
        }
        if !settings.is_object() {
            self.mistake(format!("the settings of extension `{id}` must be an object; pass `{{}}` if it has none"));
        }
        self.set(|all| {
            all.extensions.insert(id.to_owned(), settings);
        })
    }

    /// Returns a `tracing` layer that sends the events of this server's handlers to the clients that
    /// called them, filtered by the client's log level. Requires the feature `tracing-layer`.
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
    /// // Add a layer that writes to standard error, too; standard output carries the protocol.
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
        self.shared.change(|catalog| catalog.settings.has_tracing_layer = true);
        ClientLogLayer
    }

    /// Calls `hook` when a client has initialized its session. Clients of 2026-07-28 have no session.
    ///
    /// There is one hook of each kind: setting it again replaces it.
    ///
    /// ```
    /// use mcp_runtime::hooks::DisconnectReason;
    /// use mcp_runtime::Server;
    ///
    /// let server = Server::new("watched", "1.0.0")
    ///     .on_initialized(|client| eprintln!("{:?} speaks {}", client.name(), client.revision()))
    ///     .on_disconnected(|reason| match reason {
    ///         DisconnectReason::Eof => eprintln!("the client disconnected"),
    ///         other => eprintln!("connection ended: {other:?}"),
    ///     })
    ///     .on_protocol_error(|error| eprintln!("{} {}: {}", error.code(), error.message(), error.received()))
    ///     .on_transport_error(|error| eprintln!("{error}"));
    /// ```
    pub fn on_initialized(mut self, hook: impl Fn(&ConnectedClient<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.initialized = Some(Box::new(hook));
        self
    }

    /// Calls `hook` when a connection has ended, with the reason.
    pub fn on_disconnected(mut self, hook: impl Fn(&DisconnectReason) + Send + Sync + 'static) -> Self {
        self.hooks.disconnected = Some(Box::new(hook));
        self
    }

    /// Calls `hook` when reading or writing fails.
    pub fn on_transport_error(mut self, hook: impl Fn(&ServerError) + Send + Sync + 'static) -> Self {
        self.hooks.transport_error = Some(Box::new(hook));
        self
    }

    /// Calls `hook` when a message cannot be handled: malformed JSON or JSON-RPC, an unsolicited
    /// response, or a notification whose handler failed. An error response that JSON-RPC requires is sent
    /// regardless.
    pub fn on_protocol_error(mut self, hook: impl Fn(&ProtocolError<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.protocol_error = Some(Box::new(hook));
        self
    }

    pub(super) fn set(self, change: impl FnOnce(&mut Settings)) -> Self {
        self.shared.change(|catalog| change(&mut catalog.settings));
        self
    }
}
