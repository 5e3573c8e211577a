//! Asking the client.

#[cfg_attr(not(test), expect(dead_code, reason = "what asks with it comes next"))]
pub(crate) mod form;
