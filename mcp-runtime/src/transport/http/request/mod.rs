//! The request half of an exchange: headers, `Accept`, `Host` and `Origin`, and the body.

pub(super) mod accept;
pub(super) mod body;
pub(super) mod body_budget;
pub(super) mod headers;
pub(super) mod origin;
