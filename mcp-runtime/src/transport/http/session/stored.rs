//! Sessions that are kept in a store: what is here is a copy, brought up to date by every request.
//!
//! The store has the last word. A copy knows which record it was made of; what its client changed since
//! is written on top of whatever the others wrote.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::{Response, StatusCode};
use tokio::runtime::Handle;

use super::{Session, Sessions, event_log};
use crate::dispatch::connection::Connection;
use crate::era::client_info::ClientInfo;
use crate::limits::Limits;
use crate::server::core::Core;
use crate::store::{DynEventStore, DynSessionStore, SessionRecord, Unavailable, with_timeout};
use crate::transport::http::response;
use crate::transport::http::response::body::Body;
use crate::{era, random};

/// How often it is looked whether the sessions that are in use here were changed or ended elsewhere.
const LOOK: Duration = Duration::from_secs(1);
/// How often a change is tried again that somebody else was faster with.
const TRIES: usize = 16;
/// The store is told that a session is used when this part of its idle time has passed.
const PART: u32 = 16;

/// Where sessions are kept, and their events if these are, too.
#[derive(Debug)]
pub(crate) struct Stores {
    sessions: Arc<dyn DynSessionStore>,
    pub(crate) events: Option<Arc<dyn DynEventStore>>,
    /// Whether somebody looks after the copies that are in use.
    watched: AtomicBool,
}

/// What a copy knows of what it is a copy of.
pub(crate) struct StoredSession {
    pub(crate) id: Box<str>,
    pub(crate) stores: Arc<Stores>,
    state: Mutex<StoredState>,
}

#[derive(Debug)]
struct StoredState {
    /// What was in the store when it was last seen.
    record: SessionRecord,
    /// When the store was last told that the session is used.
    touched: Instant,
}

impl Stores {
    pub(crate) fn new(sessions: Arc<dyn DynSessionStore>) -> Self {
        Stores { sessions, events: None, watched: AtomicBool::new(false) }
    }

    fn kept(self: &Arc<Self>, id: &str, record: SessionRecord) -> Box<StoredSession> {
        let state = StoredState { record, touched: Instant::now() };
        Box::new(StoredSession { id: id.into(), stores: Arc::clone(self), state: Mutex::new(state) })
    }
}

/// Without the id, which is a secret.
impl fmt::Debug for StoredSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredSession").finish_non_exhaustive()
    }
}

impl StoredSession {
    fn state(&self) -> MutexGuard<'_, StoredState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens a session: it is in the store before its client knows of it.
pub(crate) async fn open(
    stores: &Arc<Stores>,
    sessions: &Arc<Sessions>,
    connection: Connection,
    principal: Option<&str>,
) -> std::io::Result<String> {
    let id = random::id()?;
    let mut record = SessionRecord::new(connection.session.revision());
    record.initialize_params = connection.session.client().map(ClientInfo::to_remember).unwrap_or_default();
    record.principal = principal.map(str::to_owned);
    let limits = &connection.core.limits;
    let create = stores.sessions.create(&id, &record, keep(limits, &record));
    if with_timeout(limits.store_timeout, "a session is opened", create).await.is_err() {
        return Err(std::io::ErrorKind::Other.into());
    }
    watch(stores, sessions);
    sessions.insert(&id, Session::new(connection, principal, Duration::ZERO, Some(stores.kept(&id, record))));
    Ok(id)
}

/// The session with this id as the store knows it, if it is the principal's and its time is not over.
pub(crate) async fn find(
    stores: &Arc<Stores>,
    sessions: &Arc<Sessions>,
    core: &Arc<Core>,
    id: &str,
    principal: Option<&str>,
) -> Result<Option<Arc<Session>>, Response<Body>> {
    let limits = &core.limits;
    // Nobody but this module makes ids; what is none is not looked for.
    if !is_id(id) {
        return Ok(None);
    }
    let load = with_timeout(limits.store_timeout, "a session is looked up", stores.sessions.load(id));
    let Some(record) = load.await.map_err(unavailable)? else {
        // Ended elsewhere, or left alone for too long.
        end_copy(sessions, id);
        return Ok(None);
    };
    if record.principal.as_deref() != principal || record.age() >= limits.session_lifetime {
        return Ok(None);
    }
    let session = match sessions.copy(id) {
        Some(session) => {
            catch_up(&session, record);
            session
        }
        None if sessions.room_for_copy(limits).is_err() => {
            return Err(response::later(StatusCode::SERVICE_UNAVAILABLE, "too many sessions"));
        }
        None => {
            watch(stores, sessions);
            sessions.insert(id, restore(stores, core, id, &record))
        }
    };
    session.touch();
    touch(&session).await.map_err(unavailable)?;
    Ok(Some(session))
}

/// Writes to the store what a message has changed of its session, before it is answered.
pub(crate) async fn save(session: &Session) -> Result<(), Response<Body>> {
    match &session.kept {
        None => Ok(()),
        Some(kept) => Box::pin(write(session, kept)).await.map_err(unavailable),
    }
}

/// Ends a session for every replica.
pub(crate) async fn end(session: &Session) -> Result<(), Response<Body>> {
    let Some(kept) = &session.kept else { return Ok(()) };
    let remove = kept.stores.sessions.remove(&kept.id);
    with_timeout(session.core.limits.store_timeout, "a session is ended", remove).await.map_err(unavailable)?;
    event_log::forget(session);
    Ok(())
}

fn unavailable(_: Unavailable) -> Response<Body> {
    response::later(StatusCode::SERVICE_UNAVAILABLE, "sessions are out of reach now; try again")
}

/// Whether this may be the id of a session: a store need not be asked for anything else.
fn is_id(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

fn end_copy(sessions: &Sessions, id: &str) {
    if let Some(session) = sessions.remove(id) {
        drop(session.control.abort());
    }
}

/// How long the store should keep a session that is used now. A little longer than it may be idle: that it is
/// used is not told every time.
fn keep(limits: &Limits, record: &SessionRecord) -> Duration {
    let idle = limits.session_idle_timeout.saturating_add(limits.session_idle_timeout / PART);
    idle.min(limits.session_lifetime.saturating_sub(record.age()))
}

/// A copy of a session nobody here knew.
fn restore(stores: &Arc<Stores>, core: &Arc<Core>, id: &str, record: &SessionRecord) -> Session {
    let mut connection = Connection::new(Arc::clone(core), Handle::current());
    connection.session =
        era::LegacySession::restored(record.revision, ClientInfo::remembered(&record.initialize_params));
    connection.follow_changes();
    connection.ready = record.initialized;
    let kept = stores.kept(id, record.clone());
    let session = Session::new(connection, record.principal.as_deref(), record.age(), Some(kept));
    put(&session, record);
    session
}

/// Makes a copy what a record says.
fn put(session: &Session, record: &SessionRecord) {
    let mut connection = session.connection();
    connection.session.set_log_level(record.log_level);
    connection.ready |= record.initialized;
    if let Some(subscription) = &session.subscription {
        subscription.set_resources(&record.subscriptions);
    }
}

/// The record a copy would make now, beside the one it was made of.
fn current(session: &Session, before: &SessionRecord) -> SessionRecord {
    let connection = session.connection();
    let mut now = before.clone();
    now.log_level = connection.session.log_level();
    now.initialized |= connection.ready;
    if let Some(subscription) = &session.subscription {
        now.subscriptions = subscription.resources();
    }
    now
}

/// Takes over what others have changed, and keeps what was changed here and not written yet.
fn catch_up(session: &Session, newer: SessionRecord) {
    let Some(kept) = &session.kept else { return };
    let mut state = kept.state();
    if newer.version <= state.record.version {
        return;
    }
    let (before, here) = (&state.record, current(session, &state.record));
    let mut both = newer.clone();
    if here.log_level != before.log_level {
        both.log_level = here.log_level;
    }
    both.initialized |= here.initialized;
    both.subscriptions.extend(here.subscriptions.difference(&before.subscriptions).cloned());
    both.subscriptions.retain(|uri| here.subscriptions.contains(uri) || !before.subscriptions.contains(uri));
    put(session, &both);
    state.record = newer;
}

async fn write(session: &Session, kept: &StoredSession) -> Result<(), Unavailable> {
    let limits = &session.core.limits;
    for _ in 0..TRIES {
        let next = {
            let state = kept.state();
            let mut next = current(session, &state.record);
            if next == state.record {
                return Ok(());
            }
            next.version += 1;
            next
        };
        let update = kept.stores.sessions.update(&kept.id, &next, keep(limits, &next));
        if with_timeout(limits.store_timeout, "a session is changed", update).await? {
            let mut state = kept.state();
            if next.version > state.record.version {
                state.record = next;
            }
            continue;
        }
        let load = with_timeout(limits.store_timeout, "a session is looked up", kept.stores.sessions.load(&kept.id));
        match load.await? {
            Some(newer) => catch_up(session, newer),
            // Ended in the meantime: the next request is told so.
            None => return Ok(()),
        }
    }
    tracing::error!("a session could not be written: others were faster {TRIES} times");
    Err(Unavailable)
}

/// Tells the store that a session is used, if it is time to.
async fn touch(session: &Session) -> Result<(), Unavailable> {
    let Some(kept) = &session.kept else { return Ok(()) };
    let limits = &session.core.limits;
    let keep = {
        let mut state = kept.state();
        if state.touched.elapsed() < limits.session_idle_timeout / PART {
            return Ok(());
        }
        state.touched = Instant::now();
        keep(limits, &state.record)
    };
    let touch = kept.stores.sessions.touch(&kept.id, keep);
    with_timeout(limits.store_timeout, "a session is used", touch).await.map(drop)
}

/// Looks after the copies that are in use without requests: an open stream, a call that goes on.
/// Whoever ended the session elsewhere ends them, and whoever subscribed elsewhere is told here.
fn watch(stores: &Arc<Stores>, sessions: &Arc<Sessions>) {
    if stores.watched.swap(true, Ordering::AcqRel) {
        return;
    }
    let sessions = Arc::downgrade(sessions);
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(LOOK).await;
            let Some(sessions) = sessions.upgrade() else { return };
            for session in sessions.busy() {
                // The next will fare no better now.
                if refresh(&sessions, &session).await.is_err() {
                    break;
                }
            }
        }
    });
}

async fn refresh(sessions: &Sessions, session: &Session) -> Result<(), Unavailable> {
    let Some(kept) = &session.kept else { return Ok(()) };
    let load = kept.stores.sessions.load(&kept.id);
    match with_timeout(session.core.limits.store_timeout, "a session is looked after", load).await? {
        Some(newer) => catch_up(session, newer),
        None => {
            end_copy(sessions, &kept.id);
            return Ok(());
        }
    }
    touch(session).await
}
