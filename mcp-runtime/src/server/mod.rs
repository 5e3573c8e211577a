//! [`Server`], the builder: the server's identity, its handlers and its options.

#[cfg(feature = "auth")]
pub(crate) mod auth;
pub(crate) mod core;
pub(crate) mod handle;
pub(crate) mod hooks;
mod lint;
#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP has clients who do not trust each other"))]
pub(crate) mod memory;
#[cfg(not(all(feature = "cli", feature = "http", feature = "tracing-layer")))]
mod missing_feature;
mod options;
#[cfg_attr(not(feature = "http"), allow(dead_code, unreachable_pub, reason = "only HTTP requests have a peer"))]
pub(crate) mod peer;
pub(crate) mod state;
mod surface;

#[cfg(feature = "http")]
use std::any::Any;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

#[cfg(feature = "http")]
use crate::ask::FleetClaims;
use crate::ask::sealed_state::StateSealer;
use crate::ask::{MemoryClaims, OnceClaims};
use crate::call::context::Context;
use crate::call::run::BlockingThreads;
use crate::call::telemetry::record::Observing;
use crate::catalog::Catalog;
use crate::era::server_info::{CacheHints, ServerInfo};
use crate::error::{PAGE, Result, sections};
use crate::handler::custom::CustomMethod;
use crate::handler::handlers::{IntoHandlers, IntoResource};
use crate::handler::prompt::Prompt;
use crate::handler::tool::Tool;
use crate::limits::Limits;
use crate::protocol::{Icon, Implementation};
#[cfg(feature = "auth")]
use crate::server::auth::ServerAuth;
use crate::server::core::Core;
use crate::server::handle::ServerHandle;
use crate::server::hooks::Hooks;
use crate::server::memory::MemoryBudget;
use crate::server::state::ServerState;
use crate::store::ChangeBus;
#[cfg(feature = "http")]
use crate::store::replica::Replica;
use crate::store::sweeper::Sweeper;
#[cfg(feature = "http")]
use crate::store::{DynBackend, DynEventStore, DynInbox, DynSessionStore};
use crate::task::Tasks;
use crate::throttle::limiter::Limiter;
use crate::throttle::table::RateTables;

/// The stores that only HTTP needs.
#[cfg(feature = "http")]
#[derive(Debug)]
pub(crate) struct Stores {
    pub(crate) sessions: Arc<dyn DynSessionStore>,
    pub(crate) events: Arc<dyn DynEventStore>,
    pub(crate) inbox: Arc<dyn DynInbox>,
    /// This replica, as others know it.
    pub(crate) replica: Option<Arc<Replica>>,
    /// All of them in one.
    pub(crate) backend: Arc<dyn DynBackend>,
}

/// An MCP server. Configure it by chaining methods, then serve it.
///
/// Mistakes in the set-up, such as a duplicate tool name or a default that its schema rejects, are collected: serving
/// panics with a list of all of them, each with the line that made it.
///
/// ```no_run
/// use mcp_runtime::prelude::*;
///
/// /// Add two integers.
/// #[tool(read_only)]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// #[tokio::main]
/// async fn main() -> Result<(), ServerError> {
///     Server::new("calculator", "1.0.0").tools(tools![add]).serve_stdio().await
/// }
/// ```
#[derive(Debug)]
#[must_use = "a server does nothing until it is served"]
pub struct Server {
    pub(crate) info: Implementation,
    instructions: Option<String>,
    limits: Limits,
    /// How often requests are served, if that is limited.
    rate_limits: Option<Box<dyn Limiter>>,
    caches: CacheHints,
    hooks: Hooks,
    /// Who is told of requests.
    observing: Option<Observing>,
    pub(crate) signals_disabled: bool,
    /// Who callers are, and what they may do.
    #[cfg(feature = "auth")]
    pub(crate) auth: ServerAuth,
    secrets: Arc<StateSealer>,
    tasks: Tasks,
    /// The stores of sessions and events, if there is a backend.
    #[cfg(feature = "http")]
    pub(crate) stores: Option<Stores>,
    /// What is set on the service that the server becomes: the transport's, whose types are not named here.
    #[cfg(feature = "http")]
    pub(crate) http: Option<Box<dyn Any + Send + Sync>>,
    /// What is wrong with the set-up, with the lines that made it so.
    mistakes: Vec<(String, &'static Location<'static>)>,
    pub(crate) shared: Arc<ServerState>,
}

impl Server {
    /// Creates a server without handlers. Clients see its name and version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let info = Implementation { name: name.into(), version: version.into(), ..Implementation::default() };
        let shared = Arc::new(ServerState::default());
        shared.change(|catalog| catalog.settings.remote_shutdown = true);
        Server {
            info,
            instructions: None,
            limits: Limits::default(),
            rate_limits: None,
            caches: CacheHints::default(),
            hooks: Hooks::default(),
            observing: None,
            signals_disabled: false,
            #[cfg(feature = "auth")]
            auth: ServerAuth::default(),
            secrets: Arc::default(),
            tasks: Tasks::default(),
            #[cfg(feature = "http")]
            stores: None,
            #[cfg(feature = "http")]
            http: None,
            mistakes: Vec::new(),
            shared,
        }
    }

    /// Sets the display name.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.info.title = Some(title.into());
        self
    }

    /// Sets a one-sentence description of the server.
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.info.description = Some(text.into());
        self
    }

    /// Sets the URL of the server's website.
    pub fn website_url(mut self, url: impl Into<String>) -> Self {
        self.info.website_url = Some(url.into());
        self
    }

    /// Adds an icon.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.info.icons.push(icon);
        self
    }

    /// Sets the instructions for the model: how to use the server.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Adds a custom method, beside those of the protocol.
    ///
    /// Prefix its name with a domain you own. The request's `params` are deserialized into the
    /// function's argument; take a `()` for a method without parameters. The return value becomes
    /// the result; a value that is not an object is wrapped in `{"value": …}`.
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    /// use mcp_runtime::testing::TestClient;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize)]
    /// struct Area { north: f64, south: f64 }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// let server = Server::new("maps", "1.0.0")
    ///     .method("maps.example/height", |_ctx, area: Area| async move { Ok(area.north - area.south) });
    /// let client = TestClient::connect(server).await?;
    /// let answer = client.request("maps.example/height", json!({"north": 3.5, "south": 1.5})).await?;
    /// assert_eq!(answer["value"], 2.0);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn method<P, R, F, Fut>(self, name: &str, function: F) -> Self
    where
        P: DeserializeOwned + 'static,
        R: Serialize + 'static,
        F: Fn(Context, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R>> + Send + 'static,
    {
        self.add([CustomMethod::method(name, function)], Catalog::add_method)
    }

    /// Adds a handler for a custom notification; names and parameters are as in [`method`](Self::method).
    /// An error goes to the log and to [`on_protocol_error`](Self::on_protocol_error): notifications have
    /// no response.
    #[track_caller]
    pub fn notification<P, F, Fut>(self, name: &str, function: F) -> Self
    where
        P: DeserializeOwned + 'static,
        F: Fn(Context, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<()>> + Send + 'static,
    {
        self.add([CustomMethod::notification(name, function)], Catalog::add_notification)
    }

    /// Declares that the server's lists may change while it runs. Clients are notified of every change
    /// made through a [`ServerHandle`].
    pub fn dynamic(self) -> Self {
        self.set(|settings| settings.dynamic = true)
    }

    /// Returns a handle to change the server's lists, announce resource updates, and shut the server
    /// down. Makes the server [`dynamic`](Self::dynamic).
    pub fn handle(&self) -> ServerHandle {
        self.shared.change(|catalog| catalog.settings.dynamic = true);
        ServerHandle::new(Arc::clone(&self.shared))
    }

    /// Sets the bus that carries changes between replicas: to the clients of other replicas and, with a
    /// shared [`task_store`](Self::task_store), to the replica that runs a task.
    ///
    /// Call it before any method that uses the bus.
    #[track_caller]
    pub fn change_bus(mut self, bus: Arc<dyn ChangeBus>) -> Self {
        if let Err(problem) = self.shared.set_bus(bus) {
            self.mistake(problem);
        }
        self
    }

    /// Adds items, and notes those that cannot be added.
    #[track_caller]
    fn add<T>(
        mut self,
        items: impl IntoIterator<Item = T>,
        add: impl Fn(&mut Catalog, T) -> Result<(), String>,
    ) -> Self {
        for item in items {
            if let Err(problem) = self.shared.change(|catalog| add(catalog, item)) {
                self.mistake(problem);
            }
        }
        self
    }

    /// Notes a mistake in the set-up, made by the caller.
    #[track_caller]
    fn mistake(&mut self, problem: impl Into<String>) {
        self.mistakes.push((problem.into(), Location::caller()));
    }

    /// Panics if the set-up has mistakes, with all of them.
    pub(crate) fn assert_set_up(&self) {
        self.check_set_up().unwrap_or_else(|mistakes| panic!("{mistakes}"));
    }

    /// The mistakes in the set-up, all of them.
    pub(crate) fn check_set_up(&self) -> Result<(), String> {
        let listed: String = self
            .mistakes
            .iter()
            .flat_map(|(problem, location)| problem.lines().map(move |line| format!("\n- {line}\n  at {location}")))
            .collect();
        if listed.is_empty() {
            return Ok(());
        }
        let section = sections::about(self.mistakes.iter().flat_map(|(problem, _)| problem.lines()));
        Err(format!("the server `{}` is not set up correctly:{listed}\nsee {PAGE}#{section}", self.info.name))
    }

    /// Adds tools, in order.
    #[track_caller]
    pub fn tools(self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.add(tools, Catalog::add_tool)
    }

    /// Adds prompts, in order.
    #[track_caller]
    pub fn prompts(self, prompts: impl IntoIterator<Item = Prompt>) -> Self {
        self.add(prompts, Catalog::add_prompt)
    }

    /// Adds resources, in order: from [`resources!`](crate::resources!), or values of a type that
    /// derives [`Resource`](derive@crate::Resource).
    #[track_caller]
    pub fn resources(self, resources: impl IntoIterator<Item = impl IntoResource>) -> Self {
        self.add(resources, |catalog, resource| catalog.add_resource(resource.into_resource()))
    }

    /// Adds one resource.
    #[track_caller]
    pub fn resource(self, resource: impl IntoResource) -> Self {
        self.resources([resource])
    }

    /// Adds the handlers of a value whose impl block has [`#[handlers]`](macro@crate::handlers). Pass an
    /// `Arc` to keep using the value elsewhere.
    #[track_caller]
    pub fn mount(self, handlers: impl IntoHandlers) -> Self {
        let handlers = handlers.into_handlers().layered();
        self.tools(handlers.tools).prompts(handlers.prompts).resources(handlers.resources)
    }

    /// Like [`mount`](Self::mount), with every name prefixed by `prefix_`, so that two values of
    /// one type can be mounted. URIs are not prefixed.
    #[track_caller]
    pub fn mount_as(self, prefix: &str, handlers: impl IntoHandlers) -> Self {
        self.mount(handlers.into_handlers().prefixed(prefix))
    }

    /// Panics if the set-up has mistakes.
    pub(crate) fn into_core(mut self) -> Arc<Core> {
        self.shared.change(Catalog::put_layers).unwrap_or_else(|problem| self.mistake(problem));
        self.assert_set_up();
        let implementation = serde_json::to_string(&self.info).unwrap_or_default().into_boxed_str();
        let name = self.info.name.as_str().into();
        #[cfg(feature = "auth")]
        let local_access = self.auth.local_access();
        let Server { instructions, limits, rate_limits, caches, hooks, observing, secrets, tasks, shared, .. } = self;
        let info = ServerInfo { name, implementation, instructions, caches };
        let blocking_threads = BlockingThreads::new(limits.in_flight);
        let sweeper = Arc::new(Sweeper::new(limits.store_timeout));
        let memory = Arc::new(MemoryBudget::new(&limits));
        let once: Arc<dyn OnceClaims> = match (MemoryClaims::swept_by(&sweeper), &tasks) {
            #[cfg(feature = "http")]
            (local, Tasks { replica: Some(replica), .. }) => {
                Arc::new(FleetClaims::new(local, replica, &secrets, &limits))
            }
            (local, _) => local,
        };
        Arc::new(Core {
            info,
            rate_tables: RateTables::new(limits.rate_callers),
            limits,
            rate_limits,
            hooks,
            watcher: observing.map(Observing::start),
            #[cfg(feature = "auth")]
            local_access,
            #[cfg(all(feature = "auth", feature = "http"))]
            remote_policy: std::sync::OnceLock::new(),
            memory,
            blocking_threads,
            secrets,
            once,
            tasks,
            sweeper,
            shared,
        })
    }
}
