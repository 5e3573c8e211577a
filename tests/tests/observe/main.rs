//! Observers, the access log and spans: what is told of requests, on every transport.

mod access_log;
mod http;
mod metrics;
mod names;
mod recorder;
mod spans;
mod streams;
mod subscriber;
