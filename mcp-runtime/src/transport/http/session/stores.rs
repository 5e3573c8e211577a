//! The stores a service was given, and what a replica remembers of a session in them.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use crate::store::sweeper::{Sweeper, SweptStore};
use crate::store::{DynEventStore, DynSessionStore, SessionRecord};
use crate::sync::lock;

/// The store of sessions, and that of their events if there is one.
#[derive(Debug)]
pub(crate) struct Stores {
    pub(super) sessions: Arc<dyn DynSessionStore>,
    pub(crate) events: Option<Arc<dyn DynEventStore>>,
    /// Whether a task refreshes the local copies that are in use.
    pub(super) refreshing: AtomicBool,
    swept_sessions: Arc<SweptStore<dyn DynSessionStore>>,
    swept_events: Option<Arc<SweptStore<dyn DynEventStore>>>,
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
        let swept_sessions = Arc::new(SweptStore(Arc::clone(&sessions)));
        Stores { sessions, events: None, refreshing: AtomicBool::new(false), swept_sessions, swept_events: None }
    }

    pub(crate) fn set_events(&mut self, events: Arc<dyn DynEventStore>) {
        self.swept_events = Some(Arc::new(SweptStore(Arc::clone(&events))));
        self.events = Some(events);
    }

    /// Has the stores swept from now on.
    pub(super) fn sweep(&self, sweeper: &Arc<Sweeper>) {
        let sessions: Weak<SweptStore<_>> = Arc::downgrade(&self.swept_sessions);
        sweeper.expect(sessions, Duration::MAX);
        if let Some(events) = &self.swept_events {
            let events: Weak<SweptStore<_>> = Arc::downgrade(events);
            sweeper.expect(events, Duration::MAX);
        }
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
