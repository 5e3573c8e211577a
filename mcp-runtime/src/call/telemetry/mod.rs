//! Telemetry: the `tracing` events of a call, sent to its client; the log of failures; the client's trace context; and
//! requests that are watched, by observers (`record`) and in spans (`span`).

mod ended;
pub(crate) mod failures;
#[cfg(feature = "tracing-layer")]
pub(crate) mod layer;
pub(crate) mod log;
#[cfg(feature = "otel")]
mod otel;
pub(crate) mod record;
#[cfg(feature = "http")]
pub(crate) mod request_id;
mod span;
pub(crate) mod told;
pub(crate) mod trace_context;
pub(crate) mod watch;
