//! Sessions in a store: the session in this process is a copy, which every request brings up to date.
//!
//! Every request reads the store, so a session that one replica ends is over at all of them, and a subscription
//! made at one counts at the next. Sessions with an open stream or a running call, which may go without requests,
//! are told of its end through the change bus, and refreshed by a timer. Reading and touching are two operations, so that
//! a database need not write for every read. Without a store none of this runs, and a request waits for nothing.
//!
//! Replicas write with optimistic concurrency. A copy remembers the record it was made of; what its client
//! has changed since is applied on top of what other replicas have written. A copy can be evicted; the session
//! stays in the store, which expires its records itself, so that nothing cleans up after a crashed replica.
//!
//! Running calls do not migrate; messages about them are relayed (`fleet/relay.rs`). Without a backend, two replicas may each
//! have a session's own stream, and changes are delivered to both; with one, see `fleet/claim.rs`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{Response, StatusCode};
use tokio::runtime::Handle;

use super::fleet::relay::{self, SessionListener};
use super::stores::{StoredSession, Stores};
use super::{Opener, Session, Sessions, ShutdownGuard, event_log};
use crate::dispatch::connection::Connection;
use crate::era::client_info::ClientInfo;
use crate::limits::Limits;
use crate::server::core::Core;
use crate::store::{Change, SessionRecord, Unavailable, with_timeout};
use crate::transport::http::response;
use crate::transport::http::response::body::Body;
use crate::{era, random};

/// How often the copies in use are compared with the store.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// How long several reports of lost changes count as one.
const RESYNC_PAUSE: Duration = Duration::from_millis(50);
/// How often a write is attempted when other replicas write at the same time.
const WRITE_ATTEMPTS: usize = 16;
/// A session in use is touched in the store whenever this part of its idle timeout has passed.
const TOUCH_PART: u32 = 16;

/// Opens a session. It is in the store before its client learns its id.
pub(crate) async fn open(
    stores: &Arc<Stores>,
    sessions: &Arc<Sessions>,
    connection: Connection,
    opener: Opener<'_>,
) -> std::io::Result<String> {
    let id = random::id()?;
    let mut record = SessionRecord::new(connection.session.revision());
    record.initialize_params = connection.session.client().map(ClientInfo::to_remember).unwrap_or_default();
    record.principal = opener.principal.map(str::to_owned);
    let limits = &connection.core.limits;
    let create = stores.sessions.create(&id, &record, ttl(limits, &record));
    if with_timeout(limits.store_timeout, "create session", create).await.is_err() {
        return Err(std::io::ErrorKind::Other.into());
    }
    start_refreshing(stores, sessions, &connection.core);
    let copied = Some(stores.session(&id, record));
    sessions.insert(&id, Session::new(connection, opener, Duration::ZERO, copied));
    Ok(id)
}

/// Finds a session in the store, if it belongs to the principal and has not expired.
pub(crate) async fn find(
    stores: &Arc<Stores>,
    sessions: &Arc<Sessions>,
    core: &Arc<Core>,
    id: &str,
    principal: Option<&str>,
) -> Result<Option<Arc<Session>>, Response<Body>> {
    let limits = &core.limits;
    if !is_session_id(id) {
        return Ok(None);
    }
    let load = with_timeout(limits.store_timeout, "load session", stores.sessions.load(id));
    let Some(record) = load.await.map_err(unavailable)? else {
        // Ended at another replica, or expired.
        end_copy(sessions, id);
        return Ok(None);
    };
    if record.principal.as_deref() != principal || record.age() >= limits.session_lifetime {
        return Ok(None);
    }
    let session = match sessions.get(id) {
        Some(session) => {
            merge(&session, record);
            session
        }
        None if sessions.make_room_for_copy(limits).is_err() => {
            return Err(response::later(StatusCode::SERVICE_UNAVAILABLE, "too many sessions; retry later"));
        }
        None => {
            start_refreshing(stores, sessions, core);
            sessions.insert(id, restore(stores, core, id, &record))
        }
    };
    session.touch();
    touch(&session).await.map_err(unavailable)?;
    Ok(Some(session))
}

/// Writes what a message has changed of its session to the store, before the message is answered.
pub(crate) async fn save(session: &Session) -> Result<(), Response<Body>> {
    match &session.stored {
        None => Ok(()),
        Some(stored) => Box::pin(write(session, stored)).await.map_err(unavailable),
    }
}

/// Ends a session for every replica.
pub(crate) async fn end(session: &Session) -> Result<(), Response<Body>> {
    let Some(stored) = &session.stored else { return Ok(()) };
    let remove = stored.stores.sessions.remove(&stored.id);
    with_timeout(session.core.limits.store_timeout, "remove session", remove).await.map_err(unavailable)?;
    session.core.shared.publish(&Change::SessionEnded(stored.digest.clone()));
    event_log::remove_all(session);
    Ok(())
}

impl ShutdownGuard<'_> {
    /// Ends the session for every replica, if it is shutting down, before the answer is sent.
    pub(crate) async fn finish(self, response: Response<Body>) -> Response<Body> {
        if !self.session.control.is_closing() {
            return save(self.session).await.err().unwrap_or(response);
        }
        end(self.session).await.map_or_else(|refusal| refusal, |()| response)
    }
}

pub(super) fn unavailable(_: Unavailable) -> Response<Body> {
    response::later(StatusCode::SERVICE_UNAVAILABLE, "session store unavailable; retry later")
}

/// Whether this may be the id of a session. Only this module makes ids, so the store need not be asked for
/// anything else.
fn is_session_id(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

fn end_copy(sessions: &Sessions, id: &str) {
    if let Some(session) = sessions.remove(id) {
        drop(session.control.abort());
    }
}

/// The time to live of a session that is used now. A little longer than the idle timeout, because not every
/// request touches the session in the store.
fn ttl(limits: &Limits, record: &SessionRecord) -> Duration {
    let idle = limits.session_idle_timeout.saturating_add(limits.session_idle_timeout / TOUCH_PART);
    idle.min(limits.session_lifetime.saturating_sub(record.age()))
}

/// Makes a copy of a session this replica does not have.
fn restore(stores: &Arc<Stores>, core: &Arc<Core>, id: &str, record: &SessionRecord) -> Session {
    let mut connection = Connection::new(Arc::clone(core), Handle::current());
    connection.session =
        era::LegacySession::restored(record.revision, ClientInfo::remembered(&record.initialize_params));
    connection.follow_changes();
    connection.initialized = record.initialized;
    let copied = Some(stores.session(id, record.clone()));
    let opener = Opener { principal: record.principal.as_deref(), ..Opener::default() };
    let session = Session::new(connection, opener, record.age(), copied);
    apply(&session, record);
    session
}

/// Applies a record to a copy.
fn apply(session: &Session, record: &SessionRecord) {
    let mut connection = session.connection();
    connection.session.set_log_level(record.log_level);
    connection.initialized |= record.initialized;
    if let Some(subscription) = &session.subscription {
        subscription.set_resources(&record.subscriptions);
    }
}

/// The record of a copy as it is now, given the one it was made of.
fn snapshot(session: &Session, base: &SessionRecord) -> SessionRecord {
    let connection = session.connection();
    let mut now = base.clone();
    now.log_level = connection.session.log_level();
    now.initialized |= connection.initialized;
    if let Some(subscription) = &session.subscription {
        now.subscriptions = subscription.resources();
    }
    now
}

/// Merges what other replicas have written with what was changed here and not written yet.
fn merge(session: &Session, newer: SessionRecord) {
    let Some(stored) = &session.stored else { return };
    let mut state = stored.state();
    if newer.version <= state.record.version {
        return;
    }
    let (base, here) = (&state.record, snapshot(session, &state.record));
    let mut merged = newer.clone();
    if here.log_level != base.log_level {
        merged.log_level = here.log_level;
    }
    merged.initialized |= here.initialized;
    merged.subscriptions.extend(here.subscriptions.difference(&base.subscriptions).cloned());
    merged.subscriptions.retain(|uri| here.subscriptions.contains(uri) || !base.subscriptions.contains(uri));
    apply(session, &merged);
    state.record = newer;
}

async fn write(session: &Session, stored: &StoredSession) -> Result<(), Unavailable> {
    let limits = &session.core.limits;
    for _ in 0..WRITE_ATTEMPTS {
        let next = {
            let state = stored.state();
            let mut next = snapshot(session, &state.record);
            if next == state.record {
                return Ok(());
            }
            next.version += 1;
            next
        };
        let update = stored.stores.sessions.update(&stored.id, &next, ttl(limits, &next));
        if with_timeout(limits.store_timeout, "update session", update).await? {
            let mut state = stored.state();
            if next.version > state.record.version {
                state.record = next;
            }
            continue;
        }
        let load = with_timeout(limits.store_timeout, "load session", stored.stores.sessions.load(&stored.id));
        match load.await? {
            Some(newer) => merge(session, newer),
            // Ended meanwhile: the next request is answered 404.
            None => return Ok(()),
        }
    }
    tracing::error!("failed to write a session: other replicas were faster {WRITE_ATTEMPTS} times");
    Err(Unavailable)
}

/// Extends the session's time to live in the store, if that is due.
async fn touch(session: &Session) -> Result<(), Unavailable> {
    let Some(stored) = &session.stored else { return Ok(()) };
    let limits = &session.core.limits;
    let ttl = {
        let mut state = stored.state();
        if state.touched.elapsed() < limits.session_idle_timeout / TOUCH_PART {
            return Ok(());
        }
        state.touched = Instant::now();
        ttl(limits, &state.record)
    };
    let touch = stored.stores.sessions.touch(&stored.id, ttl);
    with_timeout(limits.store_timeout, "touch session", touch).await.map(drop)
}

/// Starts to listen for the copies, and the task that refreshes those in use without requests: an open stream, a
/// running call. It ends sessions that were ended at other replicas, picks up subscriptions made there, and reads
/// messages that this replica was not told of.
fn start_refreshing(stores: &Arc<Stores>, sessions: &Arc<Sessions>, core: &Core) {
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
            let lost = tokio::time::timeout(REFRESH_INTERVAL, stores.resync.notified()).await;
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

async fn refresh(sessions: &Sessions, session: &Session) -> Result<(), Unavailable> {
    let Some(stored) = &session.stored else { return Ok(()) };
    let load = stored.stores.sessions.load(&stored.id);
    match with_timeout(session.core.limits.store_timeout, "refresh session", load).await? {
        Some(newer) => merge(session, newer),
        None => {
            end_copy(sessions, &stored.id);
            return Ok(());
        }
    }
    touch(session).await?;
    relay::read(session).await
}
