//! The request half of an HTTP exchange: headers, `Accept`, `Origin` and the bytes of a body.

pub(super) mod accept;
pub(super) mod body_budget;
pub(super) mod headers;
pub(super) mod origin;
