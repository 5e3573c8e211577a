//! Observers, the access log and spans: what is told of requests, on every transport.

mod access_log;
mod http;
mod metrics;
mod names;
mod outcomes;
mod recorder;
mod senders;
mod sessions;
mod shutdown;
mod spans;
mod statuses;
mod streams;
mod subscriber;
