//! The stores in memory: what a server uses unless it is given others.

#[cfg(feature = "http")]
pub(super) mod events;
pub(super) mod expiring;
#[cfg(feature = "http")]
pub(super) mod sessions;
pub(super) mod tasks;
