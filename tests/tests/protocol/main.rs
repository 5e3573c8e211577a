//! The protocol in every revision, with clients in memory.

mod authorization;
mod cancellation;
mod changes;
mod completion;
mod concurrency;
mod context;
mod contract;
mod hooks;
mod layers;
mod lint;
mod negotiation;
mod notifications;
mod offering;
mod properties;
mod rate_limits;
mod ready_layers;
mod setup;
mod shutdown;
mod store_contract;
mod tracing_layer;
mod transcripts;
mod user_requests;
