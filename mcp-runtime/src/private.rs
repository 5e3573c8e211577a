//! The items that generated code refers to. Not part of the public API; they change without notice.

pub use std::sync::Arc;

pub use mcp_macros::{
    put_the_attribute_prompt_on_the_function, put_the_attribute_resource_on_the_function,
    put_the_attribute_tool_on_the_function,
};
pub use serde_json;

pub use crate::__json as json;

pub use crate::ask::ClientCapability;
pub use crate::ask::form::{check_form, check_form_of};
pub use crate::call::context::Context;
pub use crate::call::invocation::{FromInvocation, Invocation, Origin, extract};
pub use crate::handler::args::default::default_text;
pub use crate::handler::args::{Args, Argument, Key};
pub use crate::handler::builder::{ArgInfo, HandlerBuilder};
// The name is for the reader of rustc's error about a second `#[handlers]` block of a type.
pub use crate::handler::args::own_context::own_context;
pub use crate::handler::handlers::{Handlers, Mounted as MergeTheHandlersBlocks};
pub use crate::handler::layer::call::Call;
pub use crate::handler::layer::next::Next;
pub use crate::handler::listed::{ListedPrompt, ListedResource, ListedTool, PlainFunction};
pub use crate::handler::prompt::{
    Prompt, PromptFn, describe as prompt, return_type as prompt_return_type, returns as prompt_returns,
};
pub use crate::handler::resource::{
    Resource, ResourceFn, blob_contents, describe as resource, json_contents, return_type as resource_return_type,
    returns as resource_returns, shown, size_of_contents, text_contents,
};
pub use crate::handler::tool::{
    Tool, ToolFn, describe as tool, return_type as tool_return_type, returns as tool_returns,
};
pub use crate::handler::uri_template::expand_into;
pub use crate::outcome::{ArgumentError, ArgumentErrors};
pub use crate::protocol::Role;
pub use crate::throttle::rate::RateLimit;
