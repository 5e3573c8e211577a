//! [`ServerHandle`]: changes the lists of a running server, announces resource updates, shuts it down.

use std::sync::Arc;

use super::state::{Phase, ServerState};
use crate::catalog::Catalog;
use crate::catalog::table::Edit;
use crate::error::{Error, PAGE, Result};
use crate::handler::handlers::{Handlers, IntoHandlers, IntoResource};
use crate::handler::prompt::Prompt;
use crate::handler::tool::Tool;
use crate::store::Change;

/// A handle to a server: before, while and after it runs. Clones refer to the same server.
///
/// Get one from [`Server::handle`](crate::Server::handle) before serving, or inside a handler from
/// [`Context::server`](crate::Context::server). Subscribed clients are notified of every change: those
/// of this process or, with a [`change_bus`](crate::Server::change_bus), of all replicas.
///
/// ```
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::testing::TestClient;
///
/// /// Say what is new.
/// #[tool]
/// fn news() -> &'static str {
///     "nothing"
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<()> {
/// let server = Server::new("paper", "1.0.0");
/// let handle = server.handle();
/// let client = TestClient::connect(server).await?;
/// assert_eq!(client.list_tools().await?.len(), 0);
///
/// handle.tools().add(tools![news])?;
/// assert_eq!(client.call("news", json!({})).await?.text(), "nothing");
/// handle.tools().disable("news");
/// assert!(client.call("news", json!({})).await.is_err());
///
/// handle.shutdown().await; // calls in flight may finish
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ServerHandle(Arc<ServerState>);

impl ServerHandle {
    pub(crate) fn new(shared: Arc<ServerState>) -> Self {
        ServerHandle(shared)
    }

    /// Returns a handle to add, remove, enable and disable tools.
    pub fn tools(&self) -> ToolsHandle<'_> {
        ToolsHandle(self)
    }

    /// Returns a handle to add, remove, enable and disable prompts.
    pub fn prompts(&self) -> PromptsHandle<'_> {
        PromptsHandle(self)
    }

    /// Returns a handle to add, remove, enable and disable resources and templates.
    pub fn resources(&self) -> ResourcesHandle<'_> {
        ResourcesHandle(self)
    }

    /// Adds the handlers of a value, like [`Server::mount`](crate::Server::mount). Fails without adding
    /// any if one of them cannot be added.
    pub fn mount(&self, handlers: impl IntoHandlers) -> Result<()> {
        let Handlers { tools, prompts, resources, .. } = handlers.into_handlers().layered();
        let lists = [
            (Change::ToolList, tools.is_empty()),
            (Change::PromptList, prompts.is_empty()),
            (Change::ResourceList, resources.is_empty()),
        ];
        let (mut tools, mut prompts, mut resources) = (tools.into_iter(), prompts.into_iter(), resources.into_iter());
        let added = self.0.replace(|catalog| {
            tools.try_for_each(|tool| catalog.add_tool(tool))?;
            prompts.try_for_each(|prompt| catalog.add_prompt(prompt))?;
            resources.try_for_each(|resource| catalog.add_resource(resource))
        });
        added.map_err(Error::internal)?;
        for (change, unchanged) in &lists {
            if !unchanged {
                self.publish(change);
            }
        }
        Ok(())
    }

    /// Notifies the clients subscribed to the resource at `uri` that its contents have changed.
    pub fn resource_updated(&self, uri: impl Into<String>) {
        if !self.0.catalog().accepts_subscriptions() {
            tracing::warn!(
                "no resource accepts subscriptions, so no client gets this update; mark it `#[resource(…, subscribe)]`; \
                 see {PAGE}#changes-that-nobody-hears"
            );
        }
        self.0.publish(&Change::ResourceUpdated(uri.into()));
    }

    /// Shuts the server down gracefully, and waits until it has stopped.
    ///
    /// New requests are rejected, calls in flight have [`Limits::drain_timeout`](crate::Limits::drain_timeout)
    /// to finish, and subscription streams end with their result. Idempotent. Returns at once if the server
    /// is not being served.
    ///
    /// A handler must not wait for it: the shutdown waits for the handler, and drops it after the timeout.
    /// Use [`start_shutdown`](Self::start_shutdown) there.
    pub async fn shutdown(&self) {
        self.0.enter(Phase::Draining);
        self.0.idle().await;
    }

    /// Starts a graceful [`shutdown`](Self::shutdown) without waiting for it. Safe to call in a handler.
    pub fn start_shutdown(&self) {
        self.0.enter(Phase::Draining);
    }

    /// Stops the server at once. Calls in flight are dropped.
    pub fn abort(&self) {
        self.0.enter(Phase::Aborted);
    }

    /// Whether the server is shutting down, or has stopped.
    pub fn is_shutting_down(&self) -> bool {
        self.0.phase() > Phase::Running
    }

    /// Adds all items, or none if one of them cannot be added.
    fn add<T>(
        &self,
        change: &Change,
        items: impl IntoIterator<Item = T>,
        add: impl Fn(&mut Catalog, T) -> Result<(), String>,
    ) -> Result<()> {
        // Collected before the lock is taken: the iterator is the user's code.
        let items: Vec<T> = items.into_iter().collect();
        if items.is_empty() {
            return Ok(());
        }
        let mut items = items.into_iter();
        self.0.replace(|catalog| items.try_for_each(|item| add(catalog, item))).map_err(Error::internal)?;
        self.publish(change);
        Ok(())
    }

    /// Applies `edit` and publishes the change. Returns whether it changed anything.
    fn edit(&self, change: &Change, edit: impl FnOnce(&mut Catalog) -> bool) -> bool {
        let changed = self.0.replace(|catalog| if edit(catalog) { Ok(()) } else { Err(()) }).is_ok();
        if changed {
            self.publish(change);
        }
        changed
    }

    fn publish(&self, change: &Change) {
        if !self.0.catalog().settings.dynamic {
            tracing::warn!(
                ?change,
                "this server has not declared that its lists change, so clients may miss it; call `Server::dynamic()`; \
                 see {PAGE}#changes-that-nobody-hears"
            );
        }
        self.0.publish(change);
    }
}

macro_rules! list_handle {
    ($name:ident, $kind:literal, $what:literal, $change:expr) => {
        #[doc = concat!("The ", $kind, " of a running server. See [`ServerHandle`].")]
        #[derive(Debug, Clone, Copy)]
        pub struct $name<'a>(&'a ServerHandle);

        impl $name<'_> {
            #[doc = concat!("Removes ", $what, ". Returns whether it existed. Calls in flight continue.")]
            pub fn remove(&self, name: &str) -> bool {
                self.edit(name, Edit::Remove)
            }

            #[doc = concat!("Enables ", $what, ". Returns whether it was disabled.")]
            pub fn enable(&self, name: &str) -> bool {
                self.edit(name, Edit::Enable(true))
            }

            #[doc = concat!("Disables ", $what, ": clients cannot see or use it. Returns whether it was enabled.")]
            pub fn disable(&self, name: &str) -> bool {
                self.edit(name, Edit::Enable(false))
            }

            /// Notifies clients that this list has changed for a reason the server does not know of: a `visible_if`
            /// that decides otherwise now, for example, or another replica that changes its own list.
            pub fn notify_changed(&self) {
                self.0.publish(&$change);
            }
        }
    };
}

list_handle!(ToolsHandle, "tools", "the tool with this name", Change::ToolList);
list_handle!(PromptsHandle, "prompts", "the prompt with this name", Change::PromptList);
list_handle!(
    ResourcesHandle,
    "resources and templates",
    "the resource with this URI, or the template with this text",
    Change::ResourceList
);

impl ToolsHandle<'_> {
    /// Adds tools. Fails without adding any if one of them cannot be added.
    pub fn add(&self, tools: impl IntoIterator<Item = Tool>) -> Result<()> {
        self.0.add(&Change::ToolList, tools, Catalog::add_tool)
    }

    fn edit(self, name: &str, edit: Edit) -> bool {
        self.0.edit(&Change::ToolList, |catalog| catalog.tools.edit(name, edit))
    }
}

impl PromptsHandle<'_> {
    /// Adds prompts. Fails without adding any if one of them cannot be added.
    pub fn add(&self, prompts: impl IntoIterator<Item = Prompt>) -> Result<()> {
        self.0.add(&Change::PromptList, prompts, Catalog::add_prompt)
    }

    fn edit(self, name: &str, edit: Edit) -> bool {
        self.0.edit(&Change::PromptList, |catalog| catalog.prompts.edit(name, edit))
    }
}

impl ResourcesHandle<'_> {
    /// Adds resources and templates. Fails without adding any if one of them cannot be added.
    pub fn add(&self, resources: impl IntoIterator<Item = impl IntoResource>) -> Result<()> {
        self.0.add(&Change::ResourceList, resources.into_iter().map(IntoResource::into_resource), Catalog::add_resource)
    }

    fn edit(self, uri: &str, edit: Edit) -> bool {
        self.0.edit(&Change::ResourceList, |catalog| {
            catalog.resources.edit(uri, edit) || catalog.templates.edit(uri, edit)
        })
    }
}
