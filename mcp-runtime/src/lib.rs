//! Write [MCP](https://modelcontextprotocol.io) servers by annotating plain functions.
//!
//! ```
//! use mcp_runtime::prelude::*;
//!
//! /// Add two integers.
//! #[tool(read_only)]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! fn server() -> Server {
//!     Server::new("calculator", env!("CARGO_PKG_VERSION")).tools(tools![add])
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<()> {
//! assert_eq!(add(2, 2), 4); // still a plain function
//! let client = TestClient::connect(server()).await?;
//! assert_eq!(client.call("add", json!({"a": 2, "b": 2})).await?.text(), "4");
//! # Ok(())
//! # }
//! ```
//!
//! - [`macro@tool`], [`macro@prompt`], [`macro@resource`] on functions, or on methods of an impl
//!   block with [`macro@handlers`]; [`derive@Resource`] on structs.
//! - What is taken by value comes from the caller: any type with `Deserialize` and `JsonSchema`.
//!   What is taken by reference comes from the server: `&self`, [`&Context`](Context).
//! - What may be returned: see [`IntoToolResult`], [`IntoPrompt`], [`IntoContents`]; failures: [`Error`].
//! - A handler asks the user with one line, [`Context::elicit`], and the client's model with another;
//!   `#[tool(task)]` makes a task of a call that takes long. [`Context`] has the page about both.
//! - One [`Server`] serves clients of every protocol [`Revision`], on stdio or, with the feature `http`, over
//!   HTTP (`Server::serve_http`, `HttpService`); what replicas share is in a [`store`].
#![forbid(unsafe_code)]

mod app_code;
mod args;
mod ask;
mod batch;
mod cache;
mod call_log;
mod caller;
mod catalog;
mod change;
mod client;
mod complete;
mod connection;
mod context;
mod control;
mod custom;
mod depth;
mod era;
mod error;
mod handle;
mod handlers;
mod hooks;
mod in_flight;
mod jsonrpc;
#[cfg(test)]
mod jsonrpc_properties;
mod limits;
mod listen;
mod lists;
#[cfg(feature = "tracing-layer")]
mod log_layer;
mod macros;
mod mirror;
mod notifications;
mod notify;
mod object;
mod outlet;
mod output;
mod progress;
mod prompt;
pub mod protocol;
mod random;
mod raw;
mod reply;
mod resource;
mod router;
mod run;
mod schema;
mod server;
mod shared;
mod spec;
pub mod store;
mod subscriptions;
mod suggest;
mod table;
mod task;
pub mod testing;
mod tool;
mod trace;
mod transport;
mod uri_template;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;

pub use app_code::AppCode;
pub use args::Argument;
pub use ask::{Ask, AskError, Capability, Consent, Fields, Remembered, Unsupported};
pub use cache::Cache;
pub use change::{Change, ChangeBus, Listener, LocalBus};
pub use complete::Arguments;
pub use context::Context;
pub use error::{Error, Result};
pub use handle::{Prompts, Resources, ServerHandle, Tools};
pub use handlers::{Handlers, IntoHandlers};
pub use hooks::{Disconnected, Peer, ProtocolError};
pub use limits::Limits;
#[cfg(feature = "tracing-layer")]
pub use log_layer::LogLayer;
pub use output::{IntoContents, IntoPrompt, IntoToolResult, Json};
pub use progress::Amount;
pub use prompt::Prompt;
pub use protocol::{
    Annotations, Content, Icon, IncludeContext, LogLevel, PromptMessage, PromptResult, ReadResult, ResourceContents,
    ResourceDescriptor, Revision, Role, Root, SampleMessage, SampleRequest, SampleTool, Sampled, ToolChoice,
    ToolResult, ToolUse,
};
pub use resource::Resource;
pub use server::Server;
pub use testing::TestClient;
pub use tool::Tool;
#[cfg(feature = "http")]
pub use transport::http::{Body, HttpService};

#[doc = include_str!("../docs/tool.md")]
pub use mcp_macros::tool;

#[doc = include_str!("../docs/prompt.md")]
pub use mcp_macros::prompt;

#[doc = include_str!("../docs/resource.md")]
pub use mcp_macros::resource;

#[doc = include_str!("../docs/handlers.md")]
pub use mcp_macros::handlers;

#[doc = include_str!("../docs/derive_resource.md")]
pub use mcp_macros::Resource;

/// Everything a server usually needs: `use mcp_runtime::prelude::*;`.
pub mod prelude {
    pub use crate::{Content, Context, Error, Prompt, Resource, Result, Server, TestClient, Tool};
    pub use crate::{handlers, prompt, prompts, resource, resources, tool, tools};
    pub use serde_json::json;
}
