//! The stores a service was given, and what a replica remembers of a session in them.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use super::replica::Replica;
use crate::store::{DynEventStore, DynSessionStore, SessionRecord};
use crate::sync::lock;

/// The store of sessions, and that of their events if there is one.
#[derive(Debug)]
pub(crate) struct Stores {
    pub(super) sessions: Arc<dyn DynSessionStore>,
    pub(crate) events: Option<Arc<dyn DynEventStore>>,
    /// This replica, as others know it, if there is a backend.
    pub(crate) replica: Option<Arc<Replica>>,
    /// Whether a task refreshes the local copies that are in use.
    pub(super) refreshing: AtomicBool,
}

/// The store's side of a session, of which the session in this process is a copy.
pub(crate) struct StoredSession {
    pub(crate) id: Box<str>,
    pub(crate) stores: Arc<Stores>,
    state: Mutex<StoredState>,
}

#[derive(Debug)]
pub(super) struct StoredState {
    /// The newest record this replica has seen.
    pub(super) record: SessionRecord,
    /// When this replica last extended the session's time to live in the store.
    pub(super) touched: Instant,
}

impl Stores {
    pub(crate) fn new(sessions: Arc<dyn DynSessionStore>) -> Self {
        Stores { sessions, events: None, replica: None, refreshing: AtomicBool::new(false) }
    }

    pub(super) fn session(self: &Arc<Self>, id: &str, record: SessionRecord) -> Box<StoredSession> {
        let state = StoredState { record, touched: Instant::now() };
        Box::new(StoredSession { id: id.into(), stores: Arc::clone(self), state: Mutex::new(state) })
    }
}

impl StoredSession {
    pub(super) fn state(&self) -> MutexGuard<'_, StoredState> {
        lock(&self.state)
    }
}

/// Without the id, which is a secret.
impl fmt::Debug for StoredSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredSession").finish_non_exhaustive()
    }
}
