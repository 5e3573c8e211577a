//! Where a server keeps what must outlive a request, behind traits: another process, or the same one
//! after a restart, can go on with it.
//!
//! None is needed. Without a store, sessions, events and tasks are in the memory of the process that has
//! them, and requests of 2026-07-28 that are no tasks never need one. A fleet of replicas behind a load
//! balancer that sends each request wherever it likes needs
//!
//! - the same [`secrets`](crate::Server::secrets), if its handlers ask;
//! - a [`TaskStore`], if it has tasks;
//! - a [`ChangeBus`](crate::ChangeBus), if it has tasks or anything that changes;
//! - for older clients a `SessionStore`, and an `EventStore` for streams that are resumed elsewhere. These
//!   two are for the feature `http`.
//!
//! ```
//! # #[cfg(not(feature = "http"))]
//! # fn main() {}
//! # #[cfg(feature = "http")]
//! # fn main() {
//! use mcp_runtime::prelude::*;
//! use mcp_runtime::store::{MemoryEvents, MemorySessions};
//! use std::sync::Arc;
//!
//! /// Add two integers.
//! #[tool(read_only)]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! // In your program, what implements the traits talks to Redis, or to your database.
//! let (sessions, events) = (Arc::new(MemorySessions::new()), Arc::new(MemoryEvents::new()));
//! let replica = || {
//!     let server = Server::new("calculator", "1.0.0").tools(tools![add]);
//!     server.into_service().session_store(Arc::clone(&sessions)).event_store(Arc::clone(&events))
//! };
//! let (one, another) = (replica(), replica());
//! # }
//! ```
//!
//! Whoever writes a store writes `async fn`s, and has
//! [`testing::contract`](crate::testing::contract) say whether they do what they should. A store that
//! fails, or takes longer than [`Limits::store_timeout`](crate::Limits::store_time), costs the request
//! that needs it, and the log has the error.

mod bus;
#[cfg(feature = "http")]
mod events;
pub(super) mod memory;
#[cfg(feature = "http")]
mod sessions;
mod tasks;

use std::io;
use std::pin::Pin;
use std::time::Duration;

#[cfg(feature = "http")]
pub use crate::store::memory::events::MemoryEvents;
#[cfg(feature = "http")]
pub use crate::store::memory::sessions::MemorySessions;
pub use crate::store::memory::tasks::MemoryTasks;
#[cfg(feature = "http")]
pub use bus::{Change, ChangeBus, ChangeListener, LocalBus};
#[cfg(feature = "http")]
pub(crate) use events::DynEventStore;
pub use events::{EventStore, EventTail};
#[cfg(feature = "http")]
pub(crate) use sessions::DynSessionStore;
#[cfg(feature = "http")]
pub use sessions::{SessionRecord, SessionStore};
pub(crate) use tasks::DynTaskStore;
pub use tasks::{TaskOutcome, TaskQuestion, TaskRecord, TaskStatus, TaskStore};

/// What a store is asked, where it is not known which store it is.
pub(crate) type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// A store did not do what it was asked. Why is in the log, and not for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unavailable;

/// Waits for a store, but not for ever.
pub(crate) async fn with_timeout<T>(
    limit: Duration,
    what: &'static str,
    asking: StoreFuture<'_, T>,
) -> Result<T, Unavailable> {
    match tokio::time::timeout(limit, asking).await {
        Ok(Ok(answer)) => return Ok(answer),
        Ok(Err(error)) => tracing::error!(%error, what, "a store failed"),
        Err(_) => tracing::error!(?limit, what, "a store took too long"),
    }
    Err(Unavailable)
}
