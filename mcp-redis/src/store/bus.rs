//! The change bus, for users: what is published here reaches the listeners of all replicas.

use std::fmt;
use std::sync::{Arc, Weak};

use mcp_runtime::store::{Change, ChangeBus, ChangeListener};

use super::Inner;

/// A [`ChangeBus`] over Redis publish/subscribe.
///
/// Listeners of this replica are told at once. Equal changes on their way to other replicas are coalesced. After a lost
/// connection, and when changes come faster than they can be delivered, listeners get [`Change::All`].
#[derive(Clone)]
pub struct RedisBus(pub(crate) Arc<Inner>);

impl ChangeBus for RedisBus {
    fn publish(&self, change: &Change) {
        self.0.changes.publish(change);
        self.0.link.start();
    }

    fn subscribe(&self, listener: Weak<dyn ChangeListener>) {
        self.0.changes.subscribe(listener);
        self.0.link.start();
    }
}

impl fmt::Debug for RedisBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisBus").field("changes", &self.0.changes).finish_non_exhaustive()
    }
}
