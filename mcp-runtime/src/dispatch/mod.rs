//! From a message to its handler, and from the handler's outcome to the answer.
//!
//! `connection` receives messages and answers them; `batch`, `client_notifications` and `listen` are parts of it,
//! `shared` is for one that several requests use at once, `relay` for several replicas.
//! `admission` decides whether a request becomes a call, `router` finds its handler, `watching` tells observers; `tasks` has
//! the methods about tasks, and runs those of other replicas. `long_answers` knows which calls take turns.

pub(crate) mod admission;
mod batch;
pub(crate) mod client_notifications;
pub(crate) mod connection;
pub(crate) mod listen;
#[cfg(feature = "http")]
pub(crate) mod long_answers;
#[cfg(feature = "http")]
pub(crate) mod relay;
pub(crate) mod router;
#[cfg(feature = "http")]
pub(crate) mod shared;
pub(crate) mod tasks;
mod watching;
