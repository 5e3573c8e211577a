//! Transports: stdio and HTTP. They read messages, hand them to a `Connection` or straight to `dispatch`, and write
//! the answers.

#[cfg(feature = "http")]
pub(crate) mod http;
pub(crate) mod signals;
pub(crate) mod stdio;
