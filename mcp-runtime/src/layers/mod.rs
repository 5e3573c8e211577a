//! Layers: middleware around the calls of tools, prompts, resources, completions and custom methods.
//!
//! A [`Layer`] is an `async fn(call: Call, next: Next) -> Outcome`. [`Server::layer`] puts one around everything the
//! server has, `#[tool(layer = path)]`, `#[prompt(layer = path)]`, `#[resource("…", layer = path)]` and
//! `#[handlers(layer = path)]` around some of it. The first that is added is the outermost, and the server's are outside
//! of those of handlers.
//!
//! Ready ones: [`Audit`], [`Cache`], [`MapErrors`], [`Redact`], [`ResponseLimit`] and [`Retry`]. Layers of tower are added
//! with `Server::tower_layer`.

mod audit;
mod cache;
mod map_errors;
mod redact;
mod response_limit;
mod retry;
#[cfg(feature = "tower")]
mod tower;

use crate::handler::layer;
use crate::server::Server;

pub use crate::handler::layer::Layer;
pub use crate::handler::layer::call::{Call, CallKind};
pub use crate::handler::layer::next::Next;
pub use crate::handler::layer::outcome::{CallError, ErrorKind, IntoOutcome, Outcome};

pub use audit::Audit;
pub use cache::Cache;
pub use map_errors::MapErrors;
pub use redact::Redact;
pub use response_limit::ResponseLimit;
pub use retry::Retry;
#[cfg(feature = "tower")]
pub use tower::NextService;

impl Server {
    /// Adds a [layer](crate::layers) around every call of a tool, a prompt, a resource, a completion or a custom method,
    /// inside of the layers added before.
    ///
    /// It surrounds what is added before it and after it, also through a [`ServerHandle`](crate::ServerHandle). Requests
    /// that call no handler do not reach it: lists, unknown names, hidden handlers, and calls without the scopes they
    /// need.
    ///
    /// ```
    /// use std::time::Instant;
    ///
    /// use mcp_runtime::layers::{Call, Next, Outcome};
    /// use mcp_runtime::prelude::*;
    ///
    /// async fn timed(call: Call, next: Next) -> Outcome {
    ///     let (name, begun) = (call.handler_name().to_owned(), Instant::now());
    ///     let outcome = next.run(call).await;
    ///     tracing::info!(name, took = ?begun.elapsed(), failed = outcome.is_error());
    ///     outcome
    /// }
    ///
    /// let server = Server::new("timed", "1.0.0").layer(timed);
    /// ```
    pub fn layer(self, layer: impl Layer) -> Self {
        self.shared.change(|catalog| layer::add(&mut catalog.settings.layers, layer));
        self
    }
}
