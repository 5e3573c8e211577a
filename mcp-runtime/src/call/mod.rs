//! One call: how it runs, what its handler sees (`Context`), and how it notifies its client.

pub(crate) mod begin;
pub(crate) mod blocking;
pub(crate) mod context;
pub(crate) mod control;
pub(crate) mod in_flight;
pub(crate) mod invocation;
pub(crate) mod notifier;
pub(crate) mod outbox;
pub(crate) mod progress;
pub(crate) mod run;
pub(crate) mod task_streams;
pub(crate) mod telemetry;
#[cfg(feature = "auth")]
mod user;
