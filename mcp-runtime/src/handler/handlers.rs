//! [`Handlers`]: the tools, prompts and resources of a `#[handlers] impl` block.

use std::sync::Arc;

use super::layer::{self, Layer, Wrap};
use super::prompt::Prompt;
use super::resource::Resource;
use super::tool::Tool;

/// The handlers of one mounted value, in the order of its impl block.
#[derive(Debug, Default)]
pub struct Handlers {
    pub(crate) tools: Vec<Tool>,
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) resources: Vec<Resource>,
    /// The layers around each of them, outside of its own.
    layers: Option<Arc<dyn Wrap>>,
}

impl Handlers {
    /// Creates an empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds a prompt.
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.prompts.push(prompt);
        self
    }

    /// Adds a resource.
    pub fn resource(mut self, resource: impl IntoResource) -> Self {
        self.resources.push(resource.into_resource());
        self
    }

    /// Adds a [layer](crate::layers) around each of these handlers, also those that are added later: outside of the layers
    /// of handlers, and inside of those added here before. The same as `#[handlers(layer = path)]`.
    ///
    /// ```
    /// use mcp_runtime::Handlers;
    /// use mcp_runtime::layers::ResponseLimit;
    /// use mcp_runtime::prelude::*;
    ///
    /// struct Notes;
    ///
    /// #[handlers]
    /// impl Notes {
    ///     /// Read a note.
    ///     #[tool(read_only)]
    ///     fn read(&self, id: u64) -> String {
    ///         format!("note {id}")
    ///     }
    /// }
    ///
    /// let server = Server::new("notes", "1.0.0").mount(Handlers::from(Notes).layer(ResponseLimit::new(64 * 1024)));
    /// ```
    pub fn layer(mut self, layer: impl Layer) -> Self {
        layer::add(&mut self.layers, layer);
        self
    }

    /// Gives its layers to each handler.
    pub(crate) fn layered(mut self) -> Self {
        let Some(outer) = self.layers.take() else { return self };
        let tools = self.tools.iter_mut().map(|tool| &mut tool.handler);
        let prompts = self.prompts.iter_mut().map(|prompt| &mut prompt.handler);
        let resources = self.resources.iter_mut().map(|resource| &mut resource.handler);
        for handler in tools.chain(prompts).chain(resources) {
            layer::surround(&mut handler.layers, &outer);
        }
        self
    }

    /// Prefixes every name with `prefix_`. URIs are not prefixed.
    pub(crate) fn prefixed(mut self, prefix: &str) -> Self {
        for tool in &mut self.tools {
            tool.descriptor.name = format!("{prefix}_{}", tool.descriptor.name);
        }
        for prompt in &mut self.prompts {
            prompt.descriptor.name = format!("{prefix}_{}", prompt.descriptor.name);
        }
        for resource in &mut self.resources {
            resource.rename(format!("{prefix}_{}", resource.name()));
        }
        self
    }
}

/// A type with a `#[handlers] impl` block. The macro implements this trait.
pub trait Mounted: Sized {
    /// The handlers, which share the value.
    fn handlers(this: Arc<Self>) -> Handlers;
}

/// A value that can be passed to [`Server::mount`](crate::Server::mount): one whose impl block has
/// [`#[handlers]`](macro@crate::handlers), an [`Arc`] of one, or [`Handlers`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no handlers to mount",
    label = "put `#[handlers]` on its impl block, and `#[tool]`, `#[prompt]` or `#[resource]` on methods in it",
    note = "a generic type with `#[handlers]` is mounted with parameters that calls can share: `Self` must be `Send + Sync + 'static`",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#registration"
)]
pub trait IntoHandlers {
    /// Converts the value into its handlers.
    fn into_handlers(self) -> Handlers;
}

impl IntoHandlers for Handlers {
    fn into_handlers(self) -> Handlers {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<T: Mounted> IntoHandlers for T {
    fn into_handlers(self) -> Handlers {
        T::handlers(Arc::new(self))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Mounted> IntoHandlers for Arc<T> {
    fn into_handlers(self) -> Handlers {
        T::handlers(self)
    }
}

impl<T: Mounted> From<T> for Handlers {
    fn from(value: T) -> Self {
        value.into_handlers()
    }
}

/// A value that can be passed to [`Server::resource`](crate::Server::resource): a [`Resource`], or one of a type that
/// derives it. Implement `From<YourType> for Resource` instead of this trait.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a resource",
    label = "add `#[derive(Resource)]` and `#[resource(uri = \"…\")]` to this type",
    note = "functions with `#[resource]` are added with `.resources(resources![…])`, methods with `.mount(…)`",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#registration"
)]
pub trait IntoResource {
    /// Converts the value into a resource.
    fn into_resource(self) -> Resource;
}

#[diagnostic::do_not_recommend]
impl<T: Into<Resource>> IntoResource for T {
    fn into_resource(self) -> Resource {
        self.into()
    }
}
