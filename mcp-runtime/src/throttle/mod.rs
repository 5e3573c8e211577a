//! Rate limits and limits of concurrency: how often handlers may be called, and how many calls of one may run at once.
//!
//! `rate` is what a user writes, `gcra` the algorithm, `table` its state per caller, `limiter` puts them together.
//! `places` has the calls that run at once and those that wait, `current` the place of a call that is polled; `refusal` is what a caller beyond a limit is told. All of
//! it is per process: replicas do not share it.

pub(crate) mod caller;
pub(crate) mod current;
mod gcra;
pub(crate) mod limiter;
pub(crate) mod places;
pub(crate) mod rate;
pub(crate) mod refusal;
pub(crate) mod table;
