//! The stores against a real Redis: the contracts of the runtime, replicas, faults, and what an operation costs.

mod acl;
mod cluster;
mod connect;
mod contract;
mod faults;
mod keys;
mod log;
mod nodes;
mod quota;
mod replicas;
mod replication;
mod round_trips;
mod sentinel;
mod server;
#[cfg(feature = "tls")]
mod tls;
