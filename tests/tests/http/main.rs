//! The HTTP transports, nearly always over real connections, with requests byte for byte.

mod abuse;
mod accept;
mod answers;
mod asking;
mod changes;
mod connections;
mod disconnects;
mod eras;
mod fleet;
mod guards;
mod headers;
mod listening;
mod memory;
mod peer;
mod questions;
mod quotas;
mod replicas;
mod resume_on_replica;
mod resuming;
mod rounds;
mod sessions;
mod shutdown;
mod store_failures;
mod task_limits;
mod tasks;
mod tower;
