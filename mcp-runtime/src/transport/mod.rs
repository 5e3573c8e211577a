//! The ways bytes reach a server.

pub(crate) mod claim;
#[cfg(feature = "http")]
pub(crate) mod http;
mod lines;
pub(crate) mod signals;
pub(crate) mod stdio;
