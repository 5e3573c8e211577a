//! Storage shared by replicas: sessions, events, tasks, and the change bus.
//!
//! Stores are optional. By default sessions, events and tasks live in the memory of the process, and
//! requests of 2026-07-28 other than tasks need no storage at all. Replicas behind a load balancer
//! need a `Backend` (`Server::backend`), which bundles what they share:
//!
//! - the [state secret](crate::Server::state_secrets), if handlers ask the client;
//! - a [`TaskStore`], if the server has tasks;
//! - a [`ChangeBus`], if it has tasks, a dynamic catalog or subscribable
//!   resources;
//! - for clients of older revisions a `SessionStore`, and an `EventStore` to resume streams at another
//!   replica, and an `Inbox` for cancellations and answers that reach another replica than the call. These and
//!   `Backend` need the feature `http`.
//!
//! ```
//! # #[cfg(not(feature = "http"))]
//! # fn main() {}
//! # #[cfg(feature = "http")]
//! # fn main() {
//! use mcp_runtime::prelude::*;
//! use mcp_runtime::store::MemoryBackend;
//!
//! /// Add two integers.
//! #[tool(read_only)]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! // In production, use `mcp-redis`, or implement the traits for your database.
//! let backend = MemoryBackend::new();
//! let replica = || Server::new("calculator", "1.0.0").tools(tools![add]).backend(backend.clone()).into_service();
//! let (one, another) = (replica(), replica());
//! # }
//! ```
//!
//! To implement a store, write its trait's methods as `async fn`s and check them with
//! [`testing::contract`](crate::testing::contract). If a store fails, panics or exceeds
//! [`Limits::store_timeout`](crate::Limits::store_timeout), the request that needs it fails and the
//! error is logged.

#[cfg(feature = "http")]
mod backend;
mod bus;
#[cfg(feature = "http")]
mod event_hints;
#[cfg(feature = "http")]
mod events;
mod health;
#[cfg(feature = "http")]
mod inbox;
#[cfg(feature = "http")]
mod leases;
mod memory;
#[cfg(feature = "http")]
pub(crate) mod replica;
#[cfg(feature = "http")]
mod sessions;
pub(crate) mod sweeper;
mod tasks;

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::error::PAGE;
use crate::panic::catch;

#[cfg(feature = "http")]
pub use crate::store::memory::events::MemoryEvents;
#[cfg(feature = "http")]
pub use crate::store::memory::inbox::MemoryInbox;
#[cfg(feature = "http")]
pub use crate::store::memory::leases::MemoryLeases;
#[cfg(feature = "http")]
pub use crate::store::memory::sessions::MemorySessions;
pub use crate::store::memory::tasks::MemoryTasks;
#[cfg(feature = "http")]
pub(crate) use backend::DynBackend;
#[cfg(feature = "http")]
pub use backend::{Backend, MemoryBackend};
pub use bus::{Change, ChangeBus, ChangeListener, LocalBus};
pub(crate) use bus::{publish, subscribe};
#[cfg(feature = "http")]
pub use event_hints::{EventHints, EventWatch};
#[cfg(feature = "http")]
pub(crate) use events::DynEventStore;
#[cfg(feature = "http")]
pub use events::{EventStore, EventTail};
#[cfg(feature = "http")]
pub(crate) use inbox::DynInbox;
#[cfg(feature = "http")]
pub use inbox::{INBOX_BYTES, INBOX_MESSAGES, Inbox};
#[cfg(feature = "http")]
pub(crate) use leases::DynLeaseStore;
#[cfg(feature = "http")]
pub use leases::LeaseStore;
#[cfg(feature = "http")]
pub(crate) use sessions::DynSessionStore;
#[cfg(feature = "http")]
pub use sessions::{SessionRecord, SessionStore};
pub(crate) use tasks::DynTaskStore;
pub use tasks::TaskStore;
#[cfg(feature = "http")]
pub use tasks::durable::{DurableCall, GivenAnswer};
pub use tasks::quota::{TaskLimit, TaskQuota};
pub use tasks::record::{TaskOutcome, TaskQuestion, TaskRecord, TaskStatus};

/// The boxed future of a store's operation, as the object-safe traits return it.
pub(crate) type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// A store failed, panicked or timed out. The cause is logged, not sent to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unavailable;

/// Runs a store operation with a deadline. A panic is a failure like any other: the request that needs the store is
/// told so, and a task that watches or sweeps it goes on. The log has a line when a kind of store goes away and one when
/// it is back.
pub(crate) async fn with_timeout<T>(
    limit: Duration,
    what: &'static str,
    operation: StoreFuture<'_, T>,
) -> Result<T, Unavailable> {
    match tokio::time::timeout(limit, Guarded(Some(operation))).await {
        Ok(Some(Ok(value))) => {
            if let Some(away) = health::STORES.succeeded(what) {
                tracing::info!(what, ?away, "the store is back");
            }
            return Ok(value);
        }
        Ok(Some(Err(error))) => log_failure(what, format_args!("store operation failed: {error}")),
        Ok(None) => log_failure(what, format_args!("store operation panicked")),
        Err(_) => log_failure(what, format_args!("store operation timed out after {limit:?}")),
    }
    Err(Unavailable)
}

/// Logs that a store went away, once until it is back.
fn log_failure(what: &'static str, failure: std::fmt::Arguments<'_>) {
    if let Some(failures) = health::STORES.failed(what, Instant::now()) {
        tracing::error!(what, failures, "{failure}; see {PAGE}#a-store-that-fails");
    }
}

/// Runs a store operation with a deadline, without a line in the log: for what is repeated all the time.
#[cfg(feature = "http")]
pub(crate) async fn quietly<T>(limit: Duration, operation: StoreFuture<'_, T>) -> Result<T, Unavailable> {
    match tokio::time::timeout(limit, Guarded(Some(operation))).await {
        Ok(Some(Ok(value))) => Ok(value),
        _ => Err(Unavailable),
    }
}

/// A store operation whose panics are caught, when it is polled and when it is dropped: `None`.
struct Guarded<'a, T>(Option<StoreFuture<'a, T>>);

impl<T> Future for Guarded<'_, T> {
    type Output = Option<io::Result<T>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(operation) = &mut self.0 else { return Poll::Ready(None) };
        match catch(|| operation.as_mut().poll(cx)) {
            Some(poll) => poll.map(Some),
            None => Poll::Ready(None),
        }
    }
}

impl<T> Drop for Guarded<'_, T> {
    fn drop(&mut self) {
        let operation = self.0.take();
        catch(|| drop(operation));
    }
}
