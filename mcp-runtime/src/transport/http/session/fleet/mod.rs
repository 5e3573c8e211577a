//! A session among several replicas: which has its own stream, what is relayed to the one that runs a call, and the streams
//! that another one writes.

pub(crate) mod claim;
pub(super) mod listener;
pub(super) mod recent_updates;
pub(super) mod relay;
pub(super) mod remote_tail;
