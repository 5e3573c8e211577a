//! The server: what it is called, what it offers, how it is served.

use std::sync::Arc;

use crate::error::Result;
use crate::handlers::IntoHandlers;
use crate::limits::Limits;
use crate::prompt::Prompt;
use crate::protocol::{Icon, Implementation};
use crate::resource::Resource;
use crate::router::Router;
use crate::run::Threads;
use crate::tool::Tool;
use crate::transport;

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
    info: Implementation,
    instructions: Option<String>,
    router: Router,
    limits: Limits,
}

/// A server being served: complete and shared by everything that serves it.
#[derive(Debug)]
pub(crate) struct Core {
    /// The server's name and version as JSON, sent as it is.
    pub(crate) info: Box<str>,
    pub(crate) instructions: Option<String>,
    pub(crate) router: Router,
    pub(crate) limits: Limits,
    pub(crate) threads: Threads,
}

impl Server {
    /// A server that offers nothing yet, with the name and version it tells its clients.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let info = Implementation { name: name.into(), version: version.into(), ..Implementation::default() };
        Server { info, instructions: None, router: Router::new(), limits: Limits::default() }
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
    pub fn website(mut self, url: impl Into<String>) -> Self {
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

    /// Sets the bounds that keep one client from exhausting the server.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Whether a client on stdio may end the server with `shutdown` and `exit`, as some do that know
    /// them from the Language Server Protocol. MCP itself has no such messages: clients close the
    /// server's input. They may, unless this says no.
    pub fn ends_on_request(mut self, ends: bool) -> Self {
        self.router.ends_on_request = ends;
        self
    }

    /// Adds tools, in order.
    #[track_caller]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        for tool in tools {
            self.router.add_tool(tool);
        }
        self
    }

    /// Adds prompts, in order.
    #[track_caller]
    pub fn prompts(mut self, prompts: impl IntoIterator<Item = Prompt>) -> Self {
        for prompt in prompts {
            self.router.add_prompt(prompt);
        }
        self
    }

    /// Adds resources, in order: those of [`resources!`](crate::resources!), or values whose type
    /// derives `Resource`.
    #[track_caller]
    pub fn resources(mut self, resources: impl IntoIterator<Item = impl Into<Resource>>) -> Self {
        for resource in resources {
            self.router.add_resource(resource.into());
        }
        self
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

    /// Serves one client over standard input and output until it closes them.
    ///
    /// From here on the process's own standard output leads to standard error, so that a stray
    /// `println!` cannot break the stream. Runs inside a Tokio runtime with its timers enabled, as
    /// under `#[tokio::main]`; calls in flight are finished before it returns.
    pub async fn serve_stdio(self) -> Result<()> {
        transport::stdio::hint_at_terminal(&self.info);
        let (input, output) = transport::claim::standard_streams()?;
        transport::stdio::serve(self.into_core(), input, output).await
    }

    pub(crate) fn into_core(self) -> Arc<Core> {
        let info = serde_json::to_string(&self.info).unwrap_or_default().into_boxed_str();
        let Server { instructions, router, limits, .. } = self;
        Arc::new(Core { info, instructions, router, threads: Threads::new(limits.in_flight), limits })
    }
}
