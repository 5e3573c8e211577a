//! Tracing: the `tracing` events of a call, sent to its client; the log of failures; the client's trace context.

pub(crate) mod failures;
#[cfg(feature = "tracing-layer")]
pub(crate) mod layer;
pub(crate) mod log;
pub(crate) mod trace_context;
