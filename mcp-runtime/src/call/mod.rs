//! One call from the inside: how it runs, what its handler sees, and what it tells the client.

pub(crate) mod context;
pub(crate) mod control;
pub(crate) mod in_flight;
pub(crate) mod invocation;
pub(crate) mod log;
pub(crate) mod notifier;
pub(crate) mod outbox;
pub(crate) mod progress;
pub(crate) mod run;
pub(crate) mod trace_context;
#[cfg(feature = "tracing-layer")]
pub(crate) mod tracing_layer;
