//! The ways bytes reach a server.

pub(crate) mod claim;
mod lines;
pub(crate) mod signals;
pub(crate) mod stdio;
