//! From an accepted call to its handler, and from a connection to its answers.

pub(crate) mod client_notifications;
pub(crate) mod connection;
pub(crate) mod listen;
pub(crate) mod router;
pub(crate) mod tasks;
