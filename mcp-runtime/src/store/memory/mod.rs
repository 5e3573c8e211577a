//! Stores in memory: the default, and the reference for implementations.

#[cfg(feature = "http")]
pub(super) mod events;
#[cfg(feature = "http")]
pub(super) mod expiry;
#[cfg(feature = "http")]
pub(super) mod inbox;
#[cfg(feature = "http")]
pub(super) mod leases;
#[cfg(feature = "http")]
pub(super) mod sessions;
pub(super) mod tasks;
