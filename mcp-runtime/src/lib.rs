//! Write [MCP](https://modelcontextprotocol.io) servers by annotating plain functions.
//!
//! ```
//! use mcp_runtime::prelude::*;
//! use mcp_runtime::testing::TestClient;
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
//! - **Handlers** are functions annotated with [`macro@tool`], [`macro@prompt`] or [`macro@resource`], or methods
//!   of an impl block with [`macro@handlers`]. [`derive@Resource`] makes a resource of a struct.
//! - **Parameters** taken by value are the caller's arguments: any type with `Deserialize` and `JsonSchema`.
//!   Parameters taken by reference come from the server: `&self` and [`&Context`](Context).
//! - **Return types** implement [`IntoToolResult`], [`IntoPromptResult`] or [`IntoReadResult`]. A handler fails
//!   with an [`Error`].
//! - **Questions and tasks**: [`Context::elicit`] asks the user, [`Context::sample`] asks the client's model, and
//!   `#[tool(task)]` turns long-running calls into tasks. See [`Context`].
//! - **Tests**: [`testing::TestClient`] calls a server in memory, [`testing::assert_contract!`] fails when a change would
//!   break its clients, and [`lint`] finds what models and clients stumble over.
//! - **Transports**: one [`Server`] serves clients of every protocol [`Revision`], on stdio or, with the feature
//!   `http`, over HTTP (`Server::serve_http`, `http::HttpService`). Replicas share state through a [`store`].
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod ask;
#[cfg(feature = "auth")]
#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP has tokens"))]
pub mod auth;
mod call;
mod catalog;
#[cfg(feature = "cli")]
pub mod cli;
mod client;
mod dispatch;
mod era;
mod error;
mod handler;
mod jsonrpc;
pub mod layers;
mod limits;
pub mod lint;
mod macros;
pub mod observe;
mod outcome;
mod panic;
pub mod protocol;
mod random;
mod schema;
mod server;
mod sort;
pub mod store;
mod subscription;
mod suggest;
mod surface;
mod sync;
mod task;
pub mod testing;
mod throttle;
mod transport;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;

pub use call::context::Context;
pub use call::progress::ProgressReport;
pub use error::code::ErrorCode;
pub use error::{Error, Result, ServerError};
pub use handler::handlers::{Handlers, IntoHandlers, IntoResource};
pub use handler::output::{IntoPromptResult, IntoReadResult, IntoToolResult, Json};
pub use handler::prompt::Prompt;
pub use handler::resource::Resource;
pub use handler::tool::Tool;
pub use limits::Limits;
pub use protocol::{Content, Revision, ToolResult};
pub use server::Server;
pub use server::handle::ServerHandle;
pub use throttle::rate::RateLimit;

/// The crate of `#[derive(JsonSchema)]`, in the version that arguments need.
pub use schemars;
/// The crate of `#[derive(Serialize, Deserialize)]`.
pub use serde;

/// Sampling: a request to the client's model ([`Context::sample`]), and its result.
pub mod sampling {
    pub use crate::protocol::sampling::{
        IncludeContext, SampleMessage, SampleRequest, SampleResult, SampleTool, ToolChoice, ToolUse,
    };
}

/// Handlers that are known only at run time: [`Tool::builder`], [`Prompt::builder`], [`Resource::builder`].
pub mod dynamic {
    pub use crate::handler::dynamic::{PromptBuilder, ResourceBuilder, ToolBuilder};
}

/// HTTP: a tower `Service` that serves every revision ([`Server::into_service`]).
#[cfg(feature = "http")]
pub mod http {
    pub use crate::call::telemetry::request_id::RequestId;
    pub use crate::server::peer::Peer;
    pub use crate::transport::http::{Body, Forwarded, HttpService, Listener, SocketStream, Sockets};
}

/// Observing and controlling a running server: the arguments of the `on_…` hooks of [`Server`], the
/// list handles of a [`ServerHandle`], and the `tracing` layer.
pub mod hooks {
    #[cfg(feature = "tracing-layer")]
    pub use crate::call::telemetry::layer::ClientLogLayer;
    pub use crate::server::handle::{PromptsHandle, ResourcesHandle, ToolsHandle};
    pub use crate::server::hooks::{ConnectedClient, DisconnectReason, ProtocolError};
}

#[doc = include_str!("../docs/errors.md")]
pub mod errors {}

#[doc = include_str!("../docs/tool.md")]
#[doc = include_str!("../docs/types.md")]
pub use mcp_macros::tool;

#[doc = include_str!("../docs/prompt.md")]
pub use mcp_macros::prompt;

#[doc = include_str!("../docs/resource.md")]
pub use mcp_macros::resource;

#[doc = include_str!("../docs/handlers.md")]
pub use mcp_macros::handlers;

#[doc = include_str!("../docs/derive_resource.md")]
pub use mcp_macros::Resource;

/// The items most servers need: `use mcp_runtime::prelude::*;`.
pub mod prelude {
    pub use crate::{Content, Context, Error, Prompt, Resource, Result, Server, ServerError, Tool};
    pub use crate::{handlers, prompt, prompts, resource, resources, tool, tools};
    pub use serde_json::json;
}
