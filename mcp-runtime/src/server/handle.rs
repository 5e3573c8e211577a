//! A server's handle: changes what is offered while it is served, announces updates, ends it.

use std::sync::Arc;

use super::state::{Phase, ServerState};
use crate::catalog::Catalog;
use crate::catalog::table::Edit;
use crate::error::{Error, Result};
use crate::handler::handlers::{Handlers, IntoHandlers};
use crate::handler::prompt::Prompt;
use crate::handler::resource::Resource;
use crate::handler::tool::Tool;
use crate::store::Change;

/// A handle on a server that is, was or will be served. Clones are the same handle.
///
/// Taken from a [`Server`](crate::Server::handle) before it is served, or inside a handler from
/// [`Context::server`](crate::Context::server). Whatever is changed is told to every client that
/// wants to know: those of this process or, with a [`bus`](crate::Server::bus), of all replicas.
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
/// handle.shutdown().await; // calls in flight are finished
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ServerHandle(Arc<ServerState>);

impl ServerHandle {
    pub(crate) fn new(shared: Arc<ServerState>) -> Self {
        ServerHandle(shared)
    }

    /// The tools, to be changed.
    pub fn tools(&self) -> ToolsHandle<'_> {
        ToolsHandle(self)
    }

    /// The prompts, to be changed.
    pub fn prompts(&self) -> PromptsHandle<'_> {
        PromptsHandle(self)
    }

    /// The resources and templates, to be changed.
    pub fn resources(&self) -> ResourcesHandle<'_> {
        ResourcesHandle(self)
    }

    /// Adds the handlers of a value, as [`Server::mount`](crate::Server::mount) does: all, or none if
    /// one cannot be added.
    pub fn mount(&self, handlers: impl IntoHandlers) -> Result<()> {
        let Handlers { tools, prompts, resources } = handlers.into_handlers();
        let kinds = [
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
        for (change, _) in kinds.iter().filter(|(_, none)| !none) {
            self.announce(change);
        }
        Ok(())
    }

    /// Announces that the resource at `uri` has other contents, to everyone who subscribed to it.
    pub fn resource_updated(&self, uri: impl Into<String>) {
        if !self.0.catalog().announces_updates() {
            tracing::warn!(
                "no client can subscribe to a resource: say which are announced, `#[resource(…, subscribe)]`"
            );
        }
        self.0.publish(&Change::ResourceUpdated(uri.into()));
    }

    /// Ends the server gracefully and waits until it has ended: nothing new begins, calls in flight
    /// have [`Limits::drain`](crate::Limits::drain) to finish, streams are ended with their result.
    ///
    /// Doing it twice is as good as once. A server that is not served has ended at once.
    ///
    /// Not for a handler to wait for: it would wait for itself, until it is dropped unanswered. It calls
    /// [`start_shutdown`](Self::start_shutdown).
    pub async fn shutdown(&self) {
        self.0.enter(Phase::Draining);
        self.0.idle().await;
    }

    /// Begins to end the server as [`shutdown`](Self::shutdown) does, and does not wait for it: for a
    /// handler, which is one of the calls that are waited for.
    pub fn start_shutdown(&self) {
        self.0.enter(Phase::Draining);
    }

    /// Ends the server without waiting for anything.
    pub fn abort(&self) {
        self.0.enter(Phase::Aborted);
    }

    /// Whether the server was told to end.
    pub fn is_shutting_down(&self) -> bool {
        self.0.phase() > Phase::Running
    }

    /// Adds things; all or, if one cannot be added, none of them.
    fn add<T>(
        &self,
        change: &Change,
        items: impl IntoIterator<Item = T>,
        add: impl Fn(&mut Catalog, T) -> Result<(), String>,
    ) -> Result<()> {
        // Collected first: it is the user's code that makes them.
        let items: Vec<T> = items.into_iter().collect();
        if items.is_empty() {
            return Ok(());
        }
        let mut items = items.into_iter();
        self.0.replace(|catalog| items.try_for_each(|item| add(catalog, item))).map_err(Error::internal)?;
        self.announce(change);
        Ok(())
    }

    /// Changes something; tells everyone if that changed anything, and returns whether it did.
    fn change(&self, change: &Change, edit: impl FnOnce(&mut Catalog) -> bool) -> bool {
        let changed = self.0.replace(|catalog| edit(catalog).then_some(()).ok_or(())).is_ok();
        if changed {
            self.announce(change);
        }
        changed
    }

    fn announce(&self, change: &Change) {
        if !self.0.catalog().settings.dynamic {
            tracing::warn!(
                ?change,
                "clients are not told that this server's lists change: say so with `Server::dynamic()`"
            );
        }
        self.0.publish(change);
    }
}

macro_rules! offered {
    ($name:ident, $kind:literal, $what:literal) => {
        #[doc = concat!("The ", $kind, " of a [`ServerHandle`].")]
        #[derive(Debug, Clone, Copy)]
        pub struct $name<'a>(&'a ServerHandle);

        impl $name<'_> {
            #[doc = concat!("Takes out ", $what, "; false if there is none. Calls that are running go on.")]
            pub fn remove(&self, name: &str) -> bool {
                self.edit(name, Edit::Remove)
            }

            #[doc = concat!("Switches ", $what, " on again; false if that changes nothing.")]
            pub fn enable(&self, name: &str) -> bool {
                self.edit(name, Edit::Enable(true))
            }

            #[doc = concat!("Switches ", $what, " off: it is as if it were not there. False if that changes nothing.")]
            pub fn disable(&self, name: &str) -> bool {
                self.edit(name, Edit::Enable(false))
            }
        }
    };
}

offered!(ToolsHandle, "tools", "the tool of this name");
offered!(PromptsHandle, "prompts", "the prompt of this name");
offered!(ResourcesHandle, "resources and templates", "the resource at this URI, or the template that reads so");

impl ToolsHandle<'_> {
    /// Adds tools: all, or none if one cannot be added.
    pub fn add(&self, tools: impl IntoIterator<Item = Tool>) -> Result<()> {
        self.0.add(&Change::ToolList, tools, Catalog::add_tool)
    }

    fn edit(self, name: &str, edit: Edit) -> bool {
        self.0.change(&Change::ToolList, |catalog| catalog.tools.edit(name, edit))
    }
}

impl PromptsHandle<'_> {
    /// Adds prompts: all, or none if one cannot be added.
    pub fn add(&self, prompts: impl IntoIterator<Item = Prompt>) -> Result<()> {
        self.0.add(&Change::PromptList, prompts, Catalog::add_prompt)
    }

    fn edit(self, name: &str, edit: Edit) -> bool {
        self.0.change(&Change::PromptList, |catalog| catalog.prompts.edit(name, edit))
    }
}

impl ResourcesHandle<'_> {
    /// Adds resources and templates: all, or none if one cannot be added.
    pub fn add(&self, resources: impl IntoIterator<Item = impl Into<Resource>>) -> Result<()> {
        self.0.add(&Change::ResourceList, resources.into_iter().map(Into::into), Catalog::add_resource)
    }

    fn edit(self, uri: &str, edit: Edit) -> bool {
        self.0.change(&Change::ResourceList, |catalog| {
            catalog.resources.edit(uri, edit) || catalog.templates.edit(uri, edit)
        })
    }
}
