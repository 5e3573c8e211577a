//! One call from the inside: how it runs, what its handler sees, and what it tells the client.

pub(crate) mod begin;
pub(crate) mod context;
pub(crate) mod control;
pub(crate) mod in_flight;
pub(crate) mod invocation;
pub(crate) mod notifier;
pub(crate) mod outbox;
pub(crate) mod progress;
pub(crate) mod run;
pub(crate) mod telemetry;
