//! Whether a request becomes a call: by the state of its connection (`refusal`), the scopes of the caller (`permit`), and how
//! often and how many at once (`throttle`).

pub(crate) mod permit;
pub(super) mod refusal;
mod throttle;
