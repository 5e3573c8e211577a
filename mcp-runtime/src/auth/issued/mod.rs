//! Tokens that authorization servers issue.
#![allow(dead_code, reason = "until the transports call what is here")]

pub(crate) mod cache;
pub(crate) mod introspect;
