//! The protocol in every revision, with clients in memory.

mod authorization;
mod cancellation;
mod changes;
mod completion;
mod context;
mod contract;
mod hooks;
mod lint;
mod negotiation;
mod notifications;
mod offering;
mod properties;
mod setup;
mod shutdown;
mod store_contract;
mod tracing_layer;
mod transcripts;
mod user_requests;
