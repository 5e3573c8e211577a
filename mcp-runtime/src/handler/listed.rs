//! What `tools![]`, `prompts![]` and `resources![]` require of an entry, and the errors if it is something else.
//!
//! The traits stand in front of those that the attributes implement, so that rustc does not offer the other
//! functions of the crate as examples.

use super::prompt::{Prompt, PromptFn};
use super::resource::{Resource, ResourceFn};
use super::tool::{Tool, ToolFn};

/// An entry of `tools![]`: a function with `#[tool]`.
#[diagnostic::on_unimplemented(
    message = "this function is not a tool",
    label = "put `#[tool]` on this function",
    note = "prompts are listed in `prompts![]`, resources in `resources![]`; methods are added with `.mount(…)`",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#registration"
)]
pub trait ListedTool {
    /// Builds the tool.
    fn tool() -> Tool;
}

#[diagnostic::do_not_recommend]
impl<T: ToolFn> ListedTool for T {
    #[inline]
    fn tool() -> Tool {
        T::tool()
    }
}

/// An entry of `prompts![]`: a function with `#[prompt]`.
#[diagnostic::on_unimplemented(
    message = "this function is not a prompt",
    label = "put `#[prompt]` on this function",
    note = "tools are listed in `tools![]`, resources in `resources![]`; methods are added with `.mount(…)`",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#registration"
)]
pub trait ListedPrompt {
    /// Builds the prompt.
    fn prompt() -> Prompt;
}

#[diagnostic::do_not_recommend]
impl<T: PromptFn> ListedPrompt for T {
    #[inline]
    fn prompt() -> Prompt {
        T::prompt()
    }
}

/// An entry of `resources![]`: a function with `#[resource("uri")]`.
#[diagnostic::on_unimplemented(
    message = "this function is not a resource",
    label = "put `#[resource(\"uri\")]` on this function",
    note = "tools are listed in `tools![]`, prompts in `prompts![]`; values are added with `.resource(…)`, methods with `.mount(…)`",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#registration"
)]
pub trait ListedResource {
    /// Builds the resource.
    fn resource() -> Resource;
}

#[diagnostic::do_not_recommend]
impl<T: ResourceFn> ListedResource for T {
    #[inline]
    fn resource() -> Resource {
        T::resource()
    }
}

/// The type that a list finds beside a function without an attribute.
#[derive(Debug)]
pub enum PlainFunction {}
