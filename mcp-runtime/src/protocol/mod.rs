//! The wire types of the newest revision, one file per page of the specification.
//!
//! Older revisions use the same types: the server omits the fields they do not have.

mod cache;
mod common;
mod completion;
mod content;
pub(crate) mod finite;
mod logging;
mod prompts;
mod resources;
mod revision;
mod roots;
pub(crate) mod sampling;
mod tools;

pub use cache::CacheHint;
pub use common::{Annotations, ClientCapability, Icon, Meta, Role};
pub(crate) use common::{Implementation, ResultMeta, TASKS_EXTENSION};
pub use completion::CompletionContext;
pub use content::Content;
pub(crate) use content::ContentKind;
pub use logging::{LogLevel, UnknownLogLevel};
pub use prompts::{PromptArgument, PromptDescriptor, PromptMessage, PromptResult};
pub use resources::{ReadResult, ResourceContents, ResourceDescriptor, TemplateDescriptor};
pub use revision::{Revision, UnknownRevision};
pub use roots::Root;

pub(crate) use tools::Blocks;
pub use tools::{ToolAnnotations, ToolDescriptor, ToolExecution, ToolResult};
