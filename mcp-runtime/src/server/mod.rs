//! The server: what it is called, what it offers, how it is served.

pub(crate) mod core;
pub(crate) mod handle;
pub(crate) mod hooks;
mod options;
pub(crate) mod state;

use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ask::sealed_state::StateSealer;
use crate::call::context::Context;
use crate::call::run::BlockingThreads;
use crate::catalog::Catalog;
use crate::era::server_info::{CacheHints, ServerInfo};
use crate::error::Result;
use crate::handler::custom::CustomMethod;
use crate::handler::handlers::IntoHandlers;
use crate::handler::prompt::Prompt;
use crate::handler::resource::Resource;
use crate::handler::tool::Tool;
use crate::limits::Limits;
use crate::protocol::{Icon, Implementation};
use crate::server::core::Core;
use crate::server::handle::ServerHandle;
use crate::server::hooks::Hooks;
use crate::server::state::ServerState;
use crate::store::ChangeBus;
use crate::task::Tasks;

/// An MCP server, put together by chaining and then served.
///
/// Setting up panics on mistakes only the programmer can mend: two tools of one name, a name with
/// characters the protocol does not allow.
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
/// async fn main() -> Result<()> {
///     Server::new("calculator", "1.0.0").tools(tools![add]).serve_stdio().await
/// }
/// ```
#[derive(Debug)]
#[must_use = "a server does nothing until it is served"]
pub struct Server {
    pub(crate) info: Implementation,
    instructions: Option<String>,
    limits: Limits,
    caches: CacheHints,
    hooks: Hooks,
    pub(crate) keep_signals: bool,
    secrets: Arc<StateSealer>,
    tasks: Tasks,
    pub(crate) shared: Arc<ServerState>,
}

impl Server {
    /// A server that offers nothing yet, with the name and version it tells its clients.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let info = Implementation { name: name.into(), version: version.into(), ..Implementation::default() };
        let shared = Arc::new(ServerState::default());
        shared.change(|catalog| catalog.settings.ends_on_request = true);
        Server {
            info,
            instructions: None,
            limits: Limits::default(),
            caches: CacheHints::default(),
            hooks: Hooks::default(),
            keep_signals: false,
            secrets: Arc::default(),
            tasks: Tasks::default(),
            shared,
        }
    }

    /// Sets the name people see.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.info.title = Some(title.into());
        self
    }

    /// Says in a sentence what the server is.
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.info.description = Some(text.into());
        self
    }

    /// Sets the page where people read more about it.
    pub fn website_url(mut self, url: impl Into<String>) -> Self {
        self.info.website_url = Some(url.into());
        self
    }

    /// Adds an icon.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.info.icons.push(icon);
        self
    }

    /// Tells the model how to use the server.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Adds a method of the server's own, beside those of the protocol. Its name has a domain of
    /// yours in front; its parameters are decoded into what the function takes, a `()` if none;
    /// what it returns is the result, inside `{"value": …}` where it is no object.
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

    /// Takes a notification of the server's own, as [`method`](Self::method) does a request. An error
    /// is told to the log and [`on_protocol_error`](Self::on_protocol_error), never to the client.
    #[track_caller]
    pub fn notification<P, F, Fut>(self, name: &str, function: F) -> Self
    where
        P: DeserializeOwned + 'static,
        F: Fn(Context, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<()>> + Send + 'static,
    {
        self.add([CustomMethod::notification(name, function)], Catalog::add_notification)
    }

    /// Says that what the server offers may change while it is served. Clients are told so, and then
    /// of every change made through a [`ServerHandle`].
    pub fn dynamic(self) -> Self {
        self.set(|settings| settings.dynamic = true)
    }

    /// A handle to change what the server offers, announce updates and end it. Whoever takes one
    /// before serving says that the server is [`dynamic`](Self::dynamic).
    pub fn handle(&self) -> ServerHandle {
        self.shared.change(|catalog| catalog.settings.dynamic = true);
        ServerHandle::new(Arc::clone(&self.shared))
    }

    /// Sets how changes reach everyone who wants to know, where that is more than this process: clients
    /// of other replicas and, with a shared [`task_store`](Self::task_store), the replica that runs a task.
    /// Comes before anything that uses it.
    #[track_caller]
    pub fn change_bus(self, bus: Arc<dyn ChangeBus>) -> Self {
        self.shared.set_bus(bus);
        self
    }

    /// Adds things; a mistake of the programmer's is told where the call is.
    #[track_caller]
    fn add<T>(self, items: impl IntoIterator<Item = T>, add: impl Fn(&mut Catalog, T) -> Result<(), String>) -> Self {
        for item in items {
            if let Err(mistake) = self.shared.change(|catalog| add(catalog, item)) {
                panic!("{mistake}");
            }
        }
        self
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

    /// Adds resources, in order: those of [`resources!`](crate::resources!), or values whose type
    /// derives `Resource`.
    #[track_caller]
    pub fn resources(self, resources: impl IntoIterator<Item = impl Into<Resource>>) -> Self {
        self.add(resources, |catalog, resource| catalog.add_resource(resource.into()))
    }

    /// Adds one resource.
    #[track_caller]
    pub fn resource(self, resource: impl Into<Resource>) -> Self {
        self.resources([resource])
    }

    /// Adds the handlers of a value whose impl block has `#[handlers]`; of an `Arc` of it where the
    /// value is needed elsewhere, too.
    #[track_caller]
    pub fn mount(self, handlers: impl IntoHandlers) -> Self {
        let handlers = handlers.into_handlers();
        self.tools(handlers.tools).prompts(handlers.prompts).resources(handlers.resources)
    }

    /// Like [`mount`](Self::mount), with `prefix_` in front of every name, so that two values of
    /// one type can be mounted. URIs stay as they are.
    #[track_caller]
    pub fn mount_as(self, prefix: &str, handlers: impl IntoHandlers) -> Self {
        self.mount(handlers.into_handlers().prefixed(prefix))
    }

    pub(crate) fn into_core(self) -> Arc<Core> {
        let implementation = serde_json::to_string(&self.info).unwrap_or_default().into_boxed_str();
        let Server { instructions, limits, caches, hooks, secrets, tasks, shared, .. } = self;
        let info = ServerInfo { implementation, instructions, caches };
        let blocking_threads = BlockingThreads::new(limits.in_flight);
        Arc::new(Core { info, limits, hooks, blocking_threads, secrets, tasks, shared })
    }
}
