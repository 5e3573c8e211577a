//! Handlers that hold a worker of the runtime: because they block, or because their answers are long.
//!
//! A plain function runs on the worker that read its request. While it blocks, so do the tasks that only this worker
//! would run. A handler that is seen blocking hands its worker's other tasks to another thread in its next calls
//! (`block_in_place`), until it has been quick often enough again. Doing so for every call would cost each of them two
//! thread switches. Only its first few calls do so without a reason: a handler that always blocks is found by them, and
//! never holds a worker.

pub(crate) mod call_turns;
pub(crate) mod profile;
#[cfg(feature = "http")]
mod threads;
pub(crate) mod turns;
#[cfg(feature = "http")]
pub(crate) mod watchdog;

pub(crate) use profile::BlockingProfile;
