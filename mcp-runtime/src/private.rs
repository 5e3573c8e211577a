//! What the macros' output names. Not part of the public interface: it changes without notice.

pub use std::sync::Arc;

pub use serde_json;

pub use crate::__json as json;

pub use crate::args::{Args, Argument, Key};
pub use crate::ask::{Capability, asked, asked_by};
pub use crate::caller::{Caller, FromServer, provide};
pub use crate::context::Context;
pub use crate::error::ArgumentError;
pub use crate::handlers::{Handlers, Mounted};
pub use crate::prompt::{Prompt, PromptFn, describe as prompt, returns as prompt_returns};
pub use crate::protocol::Role;
pub use crate::resource::{
    Resource, ResourceFn, blob_contents, describe as resource, json_contents, returns as resource_returns, shown,
    size_of_contents, text_contents,
};
pub use crate::spec::{ArgInfo, Spec};
pub use crate::tool::{Tool, ToolFn, describe as tool, returns as tool_returns};
pub use crate::uri_template::expand_into;
