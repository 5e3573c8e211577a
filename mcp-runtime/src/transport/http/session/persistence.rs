//! Sessions in a store: the session in this process is a copy, which requests bring up to date.
//!
//! A request reads the store, so a session that one replica ends is over at all of them, and a subscription
//! made at one counts at the next. With a backend, a copy may be used for a moment without reading again (`READ_LEASE`);
//! the end of a session and a new log level are answered when no replica can have an older copy. Sessions with an open
//! stream or a running call, which may go without requests, are told of changes through the bus, and refreshed by a
//! timer. Reading and touching are two operations, so that a database need not write for every read. Without a store none
//! of this runs, and a request waits for nothing.
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

use super::copy::{end_copy, has_changed, merge, restore, snapshot, touch, ttl};
use super::fleet::listener;
use super::stores::{StoredSession, Stores};
use super::{Opener, Session, Sessions, ShutdownGuard, event_log};
use crate::dispatch::connection::Connection;
use crate::era::client_info::ClientInfo;
use crate::limits::Limits;
use crate::random;
use crate::server::core::Core;
use crate::store::{Change, SessionRecord, Unavailable, with_timeout};
use crate::transport::http::response;
use crate::transport::http::response::body::Body;

/// How often a write is attempted when other replicas write at the same time.
const WRITE_ATTEMPTS: usize = 16;

/// Opens a session. It is in the store before its client learns its id.
pub(crate) async fn open(
    stores: &Arc<Stores>,
    sessions: &Arc<Sessions>,
    mut connection: Connection,
    opener: Opener<'_>,
) -> std::io::Result<String> {
    let id = random::id()?;
    let mut record = SessionRecord::new(connection.session.revision());
    record.initialize_params = connection.session.client().map(ClientInfo::to_remember).unwrap_or_default();
    record.principal = opener.principal.map(str::to_owned);
    let (limits, now) = (&connection.core.limits, Instant::now());
    let create = stores.sessions.create(&id, &record, ttl(limits, &record));
    if with_timeout(limits.store_timeout, "create session", create).await.is_err() {
        return Err(std::io::ErrorKind::Other.into());
    }
    listener::start(stores, sessions, &connection.core);
    let copied = Some(stores.session(&id, record, now));
    connection.opened_session(&id);
    sessions.insert(&id, Session::new(connection, opener, Duration::ZERO, copied));
    Ok(id)
}

/// What a message may do to the record of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intent {
    /// Nothing: a copy with a lease will do.
    Use,
    /// Change it. On an older copy, undoing what another replica has just done would look like no change at all, and be
    /// lost: so the store is asked.
    Change,
}

impl Intent {
    /// Of a request of this method.
    pub(crate) fn of(method: &str) -> Self {
        match method {
            "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel" => Intent::Change,
            _ => Intent::Use,
        }
    }
}

/// Finds a session in the store, if it belongs to the principal and has not expired.
pub(crate) async fn find(
    stores: &Arc<Stores>,
    sessions: &Arc<Sessions>,
    core: &Arc<Core>,
    id: &str,
    principal: Option<&str>,
    intent: Intent,
) -> Result<Option<Arc<Session>>, Response<Body>> {
    let limits = &core.limits;
    if !is_session_id(id) {
        return Ok(None);
    }
    if intent == Intent::Use
        && let Some(session) = current_copy(sessions, id, principal, limits)
    {
        session.touch();
        touch(&session).await.map_err(unavailable)?;
        return Ok(Some(session));
    }
    let asked = Instant::now();
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
            merge(&session, record, asked);
            session
        }
        None if sessions.make_room_for_copy(limits).is_err() => {
            return Err(response::later(StatusCode::SERVICE_UNAVAILABLE, "too many sessions; retry later"));
        }
        None => {
            listener::start(stores, sessions, core);
            sessions.insert(id, restore(stores, core, id, &record, asked))
        }
    };
    session.touch();
    touch(&session).await.map_err(unavailable)?;
    Ok(Some(session))
}

/// The copy of a session, if it need not be compared with the store.
fn current_copy(sessions: &Sessions, id: &str, principal: Option<&str>, limits: &Limits) -> Option<Arc<Session>> {
    let session = sessions.get(id)?;
    let is_valid = session.principal.as_deref() == principal && session.age() < limits.session_lifetime;
    (is_valid && session.stored.as_ref()?.is_current()).then_some(session)
}

/// Writes what a message has changed of its session to the store, before the message is answered.
pub(crate) async fn save(session: &Session) -> Result<(), Response<Body>> {
    match &session.stored {
        None => Ok(()),
        Some(stored) if !has_changed(session, &stored.state().record) => Ok(()),
        Some(stored) => Box::pin(write(session, stored)).await.map_err(unavailable),
    }
}

/// Ends a session for every replica; [`ended`] waits until all know.
pub(crate) async fn end(session: &Session) -> Result<(), Response<Body>> {
    let Some(stored) = &session.stored else { return Ok(()) };
    let remove = stored.stores.sessions.remove(&stored.id);
    with_timeout(session.core.limits.store_timeout, "remove session", remove).await.map_err(unavailable)?;
    session.core.shared.publish(&Change::SessionEnded(stored.digest.clone()));
    event_log::remove_all(session);
    Ok(())
}

/// Waits until no replica serves a session any more that was ended.
pub(crate) async fn ended(session: &Session) {
    if let Some(stored) = &session.stored {
        stored.leases_run_out().await;
    }
}

impl ShutdownGuard<'_> {
    /// Ends the session for every replica, if it is shutting down, before the answer is sent.
    pub(crate) async fn finish(self, response: Response<Body>) -> Response<Body> {
        if !self.session.control.is_closing() {
            return save(self.session).await.err().unwrap_or(response);
        }
        match end(self.session).await {
            Ok(()) => ended(self.session).await,
            Err(refusal) => return refusal,
        }
        response
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

async fn write(session: &Session, stored: &StoredSession) -> Result<(), Unavailable> {
    let limits = &session.core.limits;
    let level = stored.state().record.log_level;
    for _ in 0..WRITE_ATTEMPTS {
        let next = {
            let state = stored.state();
            has_changed(session, &state.record).then(|| snapshot(session, &state.record))
        };
        let Some(mut next) = next else {
            if stored.state().record.log_level != level {
                stored.leases_run_out().await;
            }
            return Ok(());
        };
        next.version += 1;
        let update = stored.stores.sessions.update(&stored.id, &next, ttl(limits, &next));
        if with_timeout(limits.store_timeout, "update session", update).await? {
            written(session, stored, next);
            continue;
        }
        let asked = Instant::now();
        let load = with_timeout(limits.store_timeout, "load session", stored.stores.sessions.load(&stored.id));
        match load.await? {
            Some(newer) => merge(session, newer, asked),
            // Ended meanwhile: the next request is answered 404.
            None => return Ok(()),
        }
    }
    tracing::error!("failed to write a session: other replicas were faster {WRITE_ATTEMPTS} times");
    Err(Unavailable)
}

/// This replica has written a record. The others are told of what concerns their copies.
fn written(session: &Session, stored: &StoredSession, next: SessionRecord) {
    let mut state = stored.state();
    if next.version <= state.record.version {
        return;
    }
    let is_news = (next.log_level, &next.subscriptions) != (state.record.log_level, &state.record.subscriptions);
    let change = Change::SessionChanged(stored.digest.clone(), next.version);
    state.record = next;
    drop(state);
    if is_news {
        session.core.shared.publish(&change);
    }
}
