//! Authorization: access tokens, and who may call what.
#![allow(dead_code, reason = "until the transports call what is here")]

pub(crate) mod cache;
pub(crate) mod clock;
pub(crate) mod fetch;
pub(crate) mod fingerprint;
pub(crate) mod introspect;
pub(crate) mod jose;
pub(crate) mod keys;
