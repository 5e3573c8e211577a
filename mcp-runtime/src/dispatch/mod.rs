//! From a message to its handler, and from the handler's outcome to the answer.
//!
//! `connection` receives messages and answers them, `client_notifications` and `listen` hold its methods for
//! notifications and for subscriptions. `router` finds the handler of a request; `tasks` has the methods about tasks.

pub(crate) mod client_notifications;
pub(crate) mod connection;
pub(crate) mod listen;
pub(crate) mod router;
pub(crate) mod tasks;
