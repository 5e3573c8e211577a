//! What a call has to do with tracing: its log events, sent to its client, and the trace it belongs to.

#[cfg(feature = "tracing-layer")]
pub(crate) mod layer;
pub(crate) mod log;
pub(crate) mod trace_context;
