//! The stores a service was given, and what a replica remembers of a session in them.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::{Duration, Instant, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::digest::{SHA256, digest};
use tokio::sync::Notify;

use super::fleet::recent_updates::RecentUpdates;
use crate::store::replica::Replica;
use crate::store::sweeper::{Sweeper, SweptStore};
use crate::store::{ChangeListener, DynBackend, DynEventStore, DynInbox, DynSessionStore, SessionRecord, with_timeout};
use crate::sync::lock;

/// How long a replica may use its copy of a session without asking the store again. The requests of a burst then cost
/// one round trip together. Whoever changes what others must not overlook waits this long before it is answered.
const READ_LEASE: Duration = Duration::from_millis(200);
/// The id of no session, no stream and no task, to see whether a store answers.
pub(crate) const NOBODY: &str = "readiness-check";

/// The store of sessions, and those of their events and messages if there are any.
pub(crate) struct Stores {
    pub(super) sessions: Arc<dyn DynSessionStore>,
    pub(crate) events: Option<Arc<dyn DynEventStore>>,
    /// Whether the events are the backend's.
    events_of_backend: bool,
    pub(crate) inbox: Option<Arc<dyn DynInbox>>,
    /// The ids of the sessions that this process has copies of, and how many, by their digests.
    copies: Mutex<HashMap<String, (Box<str>, usize)>>,
    /// Listens for the copies. Set when the first one is made, as is the task that refreshes those in use.
    pub(super) listener: OnceLock<Arc<dyn ChangeListener>>,
    /// The resources updated lately, for subscriptions that this replica learns of later.
    pub(super) recent_updates: RecentUpdates,
    /// When a change may have been lost: older copies are not used without asking the store.
    lost: Mutex<Option<Instant>>,
    /// Notified then: copies in use are refreshed at once.
    resync: Notify,
    swept_sessions: Arc<SweptStore<dyn DynSessionStore>>,
    swept_events: Option<Arc<SweptStore<dyn DynEventStore>>>,
    /// This replica, as others know it, if there is a backend.
    pub(crate) replica: Option<Arc<Replica>>,
    /// All of them in one, if there is a backend.
    pub(crate) backend: Option<Arc<dyn DynBackend>>,
}

/// The store's side of a session, of which the session in this process is a copy.
pub(crate) struct StoredSession {
    pub(crate) id: Box<str>,
    /// Stands for the id where others may read it.
    pub(super) digest: String,
    pub(crate) stores: Arc<Stores>,
    /// When the copy was made.
    pub(super) copied: SystemTime,
    state: Mutex<StoredState>,
}

#[derive(Debug)]
pub(super) struct StoredState {
    /// The newest record this replica has seen.
    pub(super) record: SessionRecord,
    /// When the store was last asked for the record.
    loaded: Instant,
    /// The newest version this replica was told of. It may have been told before an older record was loaded.
    newest: u64,
    /// When this replica last extended the session's time to live in the store.
    pub(super) touched: Instant,
    /// The last position in the session's inbox that was read or skipped.
    position: u64,
    /// The last position this replica was told of.
    told: u64,
    /// Whether the inbox is being read.
    reading: bool,
}

impl Stores {
    pub(crate) fn new(sessions: Arc<dyn DynSessionStore>) -> Self {
        let swept_sessions = Arc::new(SweptStore(Arc::clone(&sessions)));
        Stores {
            sessions,
            events: None,
            events_of_backend: false,
            inbox: None,
            replica: None,
            backend: None,
            copies: Mutex::default(),
            listener: OnceLock::new(),
            recent_updates: RecentUpdates::default(),
            lost: Mutex::default(),
            resync: Notify::new(),
            swept_sessions,
            swept_events: None,
        }
    }

    pub(crate) fn set_events(&mut self, events: Arc<dyn DynEventStore>) {
        self.swept_events = Some(Arc::new(SweptStore(Arc::clone(&events))));
        self.events = Some(events);
        self.events_of_backend = false;
    }

    /// The sessions and their events are those of a backend.
    pub(crate) fn set_backend(&mut self, backend: Arc<dyn DynBackend>) {
        self.backend = Some(backend);
        self.events_of_backend = true;
    }

    /// Whether the stores answer, for a readiness check: the backend to a ping for all that is its own, every other store to
    /// a question for what does not exist.
    pub(crate) async fn answer(&self, limit: Duration) -> bool {
        let sessions = async {
            match &self.backend {
                Some(backend) => with_timeout(limit, "ping", backend.ping()).await.is_ok(),
                None => with_timeout(limit, "load session", self.sessions.load(NOBODY)).await.is_ok(),
            }
        };
        let events = async {
            match &self.events {
                Some(events) if !self.events_of_backend => {
                    with_timeout(limit, "read events", events.read_after(NOBODY, 0)).await.is_ok()
                }
                _ => true,
            }
        };
        let (sessions, events) = tokio::join!(sessions, events);
        sessions && events
    }

    /// Notes that a change may have been lost.
    pub(super) fn lost_changes(&self) {
        *lock(&self.lost) = Some(Instant::now());
        self.resync.notify_one();
    }

    /// Waits until a change may have been lost.
    pub(super) async fn loss(&self) {
        self.resync.notified().await;
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

    /// The store's side of a session whose record was asked for at `loaded`, or created then.
    pub(super) fn session(self: &Arc<Self>, id: &str, record: SessionRecord, loaded: Instant) -> Box<StoredSession> {
        let (touched, newest) = (Instant::now(), 0);
        let state = StoredState { record, loaded, newest, touched, position: 0, told: 0, reading: false };
        let digest = digest_of(id);
        lock(&self.copies).entry(digest.clone()).or_insert_with(|| (id.into(), 0)).1 += 1;
        Box::new(StoredSession {
            id: id.into(),
            digest,
            stores: Arc::clone(self),
            copied: SystemTime::now(),
            state: Mutex::new(state),
        })
    }

    /// The id of the session with this digest, if this process has a copy.
    pub(super) fn copied_id(&self, digest: &str) -> Option<Box<str>> {
        Some(lock(&self.copies).get(digest)?.0.clone())
    }
}

fn digest_of(id: &str) -> String {
    BASE64.encode(digest(&SHA256, &[b"mcp session\0", id.as_bytes()].concat()))
}

impl StoredState {
    /// Notes that the store was asked at `asked`, which renews the lease. Returns when it was asked before that.
    pub(super) fn loaded(&mut self, asked: Instant) -> Instant {
        let before = self.loaded;
        self.loaded = before.max(asked);
        before
    }
}

impl StoredSession {
    pub(super) fn state(&self) -> MutexGuard<'_, StoredState> {
        lock(&self.state)
    }

    /// Whether the copy can be used without asking the store: it has a lease that has not run out.
    pub(super) fn is_current(&self) -> bool {
        let state = self.state();
        // Without a backend, there may be no bus that replicas share, to be told of the end of a session.
        self.stores.replica.is_some()
            && state.newest <= state.record.version
            && state.record.initialized
            && state.loaded.elapsed() < READ_LEASE
            && lock(&self.stores.lost).is_none_or(|lost| lost < state.loaded)
    }

    /// Waits until no replica uses a copy that was made before now.
    pub(super) async fn leases_run_out(&self) {
        if self.stores.replica.is_some() {
            tokio::time::sleep(READ_LEASE).await;
        }
    }

    /// Notes that the record has this version now. Returns whether that is newer than what this replica has seen.
    pub(super) fn is_outdated_by(&self, version: u64) -> bool {
        let mut state = self.state();
        state.newest = state.newest.max(version);
        version > state.record.version
    }

    /// Skips the messages up to a position: nothing here is concerned.
    pub(super) fn skip_to(&self, position: u64) {
        let mut state = self.state();
        state.told = state.told.max(position);
        if !state.reading {
            state.position = state.position.max(position);
        }
    }

    /// Notes that there is a message at a position. Returns false if it has been read.
    pub(super) fn is_new(&self, position: u64) -> bool {
        let mut state = self.state();
        state.told = state.told.max(position);
        position > state.position
    }

    /// Whether this replica was told of a message that it has not read.
    pub(super) fn has_news(&self) -> bool {
        let state = self.state();
        state.told > state.position
    }

    /// Begins to read the inbox, unless it is being read.
    pub(super) fn start_reading(&self) -> Option<Reading<'_>> {
        let mut state = self.state();
        if std::mem::replace(&mut state.reading, true) {
            return None;
        }
        Some(Reading { stored: self, position: state.position })
    }
}

/// The inbox is being read, up to `position` until now.
pub(super) struct Reading<'a> {
    pub(super) stored: &'a StoredSession,
    pub(super) position: u64,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        let mut state = self.stored.state();
        state.reading = false;
        state.position = state.position.max(self.position);
    }
}

impl Drop for StoredSession {
    fn drop(&mut self) {
        let mut copies = lock(&self.stores.copies);
        // Concurrent requests may each have made one.
        let Some((_, count)) = copies.get_mut(&self.digest) else { return };
        *count -= 1;
        if *count == 0 {
            copies.remove(&self.digest);
        }
    }
}

impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stores").finish_non_exhaustive()
    }
}

/// Without the id, which is a secret.
impl fmt::Debug for StoredSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredSession").finish_non_exhaustive()
    }
}
