//! Tracing: the `tracing` events of a call, sent to its client, and the client's trace context.

#[cfg(feature = "tracing-layer")]
pub(crate) mod layer;
pub(crate) mod log;
pub(crate) mod trace_context;
