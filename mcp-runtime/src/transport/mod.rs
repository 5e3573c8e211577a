//! The ways bytes reach a server.

#[cfg(feature = "http")]
pub(crate) mod http;
pub(crate) mod signals;
pub(crate) mod stdio;
