//! What a replica does for the copies of sessions that are in use without requests: it listens to what other replicas tell
//! of them, and compares them with the store, once a second and when changes may have been lost.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use super::relay;
use crate::server::core::Core;
use crate::store::{self, Change, ChangeListener, Unavailable, with_timeout};
use crate::transport::http::session::copy::{end_copy, merge, touch};
use crate::transport::http::session::stores::Stores;
use crate::transport::http::session::{Session, Sessions, event_log};

/// How often the copies in use are compared with the store.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// How long several reports of lost changes count as one.
const RESYNC_PAUSE: Duration = Duration::from_millis(50);

/// Starts to listen for the copies, and the task that refreshes those in use without requests: an open stream, a
/// running call. It ends sessions that were ended at other replicas, picks up subscriptions made there, and reads
/// messages that this replica was not told of.
pub(crate) fn start(stores: &Arc<Stores>, sessions: &Arc<Sessions>, core: &Core) {
    let mut first = false;
    stores.listener.get_or_init(|| {
        first = true;
        SessionListener::subscribe(stores, sessions, core)
    });
    if !first {
        return;
    }
    stores.sweep(&core.sweeper);
    let (stores, sessions) = (Arc::clone(stores), Arc::downgrade(sessions));
    tokio::spawn(async move {
        loop {
            let lost = tokio::time::timeout(REFRESH_INTERVAL, stores.loss()).await;
            if lost.is_ok() {
                tokio::time::sleep(RESYNC_PAUSE).await;
            }
            let Some(sessions) = sessions.upgrade() else { return };
            for session in sessions.busy() {
                // The store is unavailable: it would fail for the others, too.
                if refresh(&sessions, &session).await.is_err() {
                    break;
                }
            }
        }
    });
}

/// Compares a copy with the store.
async fn refresh(sessions: &Sessions, session: &Session) -> Result<(), Unavailable> {
    let Some(stored) = &session.stored else { return Ok(()) };
    let asked = Instant::now();
    let load = stored.stores.sessions.load(&stored.id);
    match with_timeout(session.core.limits.store_timeout, "refresh session", load).await? {
        Some(newer) => merge(session, newer, asked),
        None => {
            end_copy(sessions, &stored.id);
            return Ok(());
        }
    }
    touch(session).await?;
    relay::read(session).await
}

/// Listens to what other replicas tell of sessions that this one has copies of.
#[derive(Debug)]
struct SessionListener {
    stores: Weak<Stores>,
    sessions: Weak<Sessions>,
    runtime: Handle,
}

impl SessionListener {
    /// Subscribes to the bus of the server, for as long as the listener lives.
    fn subscribe(stores: &Arc<Stores>, sessions: &Arc<Sessions>, core: &Core) -> Arc<Self> {
        let (stores, sessions) = (Arc::downgrade(stores), Arc::downgrade(sessions));
        let listener = Arc::new(SessionListener { stores, sessions, runtime: Handle::current() });
        let weak: Weak<Self> = Arc::downgrade(&listener);
        store::subscribe(&**core.shared.bus(), weak);
        listener
    }

    /// The record of the session has this version now. A copy that is not in use learns of it at its next request.
    fn newer_version(&self, sessions: Arc<Sessions>, session: Arc<Session>, version: u64) {
        let Some(stored) = &session.stored else { return };
        if stored.is_outdated_by(version) && session.is_busy() {
            self.runtime.spawn(async move {
                // If the store is away, the copy is busy and will be refreshed.
                let _ = refresh(&sessions, &session).await;
            });
        }
    }

    /// A message is at this position of the session's inbox.
    fn message(&self, session: Arc<Session>, position: u64) {
        let Some(stored) = &session.stored else { return };
        if !relay::has_calls(&session) {
            return stored.skip_to(position);
        }
        if stored.is_new(position) {
            self.runtime.spawn(async move {
                // If the store is away, the copy is busy and will be refreshed.
                let _ = relay::read(&session).await;
            });
        }
    }
}

impl ChangeListener for SessionListener {
    fn changed(&self, change: &Change) {
        let Some((stores, sessions)) = self.stores.upgrade().zip(self.sessions.upgrade()) else { return };
        stores.recent_updates.record(change);
        match change {
            Change::SessionChanged(digest, version) => {
                if let Some(session) = stores.copied_id(digest).and_then(|id| sessions.get(&id)) {
                    self.newer_version(sessions, session, *version);
                }
            }
            Change::SessionMessage(digest, position) => {
                if let Some(session) = stores.copied_id(digest).and_then(|id| sessions.get(&id)) {
                    self.message(session, *position);
                }
            }
            Change::SessionEnded(digest) => {
                if let Some(session) = stores.copied_id(digest).and_then(|id| sessions.remove(&id)) {
                    session.control.abort();
                    self.runtime.spawn(async move { event_log::remove_all(&session) });
                }
            }
            Change::All => stores.lost_changes(),
            _ => {}
        }
    }
}
