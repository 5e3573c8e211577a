//! HTTP sessions (2025-03-26 to 2025-11-25): opened by `initialize`, found by their id, ended by the client, by a
//! timeout or by the server's shutdown.
//!
//! `shutdown` ends its session when the session's calls are done, as DELETE does; `exit` is ignored. The
//! specification has neither, but clients that know them from other protocols send both when they close. With a
//! `-32601` their shutdown would fail, and the session would have to time out. Neither ends the server, which has
//! other clients. 2026-07-28 has no sessions, and neither method.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management>

mod copy;
pub(super) mod event_log;
mod eviction;
mod expiry;
pub(super) mod fleet;
pub(super) mod get;
pub(super) mod lookup;
pub(super) mod open;
pub(super) mod persistence;
mod room;
pub(super) mod serve;
pub(super) mod stores;
pub(super) mod stream;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use self::eviction::Candidate;
use self::stores::StoredSession;
use self::stream::claim::StreamClaim;
use self::stream::replay_budget::ReplayBudget;
use self::stream::table::Streams;
use super::atomic_duration::AtomicDuration;
use crate::call::control::ConnectionControl;
use crate::dispatch::connection::Connection;
use crate::limits::Limits;
use crate::protocol::Revision;
use crate::random;
use crate::server::core::Core;
use crate::server::memory::{Charge, Owner};
use crate::server::peer::Peer;
use crate::server::state::Phase;
use crate::store::replica::Replica;
use crate::subscription::Subscription;
use crate::sync::lock;

/// The sessions of a service in this process, by id.
#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<Box<str>, Arc<Session>>>);

/// A session, or this replica's copy of a session that is in a store.
#[derive(Debug)]
pub(super) struct Session {
    connection: Mutex<Connection>,
    pub(super) control: Arc<ConnectionControl>,
    pub(super) core: Arc<Core>,
    /// The changes the client is notified of, on the session's own stream.
    pub(super) subscription: Option<Arc<Subscription>>,
    /// The event streams: of requests, and the session's own.
    pub(super) streams: Streams,
    /// The claim of the reader of the session's own stream.
    stream_claim: StreamClaim,
    revision: Revision,
    principal: Option<Arc<str>>,
    /// The peer that opened it, if this replica knows.
    peer: Option<Peer>,
    /// What its `initialize` takes of the memory budget.
    _held: Option<Arc<Charge>>,
    /// Whether it was used after it was opened.
    in_use: AtomicBool,
    opened: Instant,
    /// The age of the session when it was last used.
    used: AtomicDuration,
    /// The store's side, if the session is in a store.
    pub(super) stored: Option<Box<StoredSession>>,
}

/// Who opens a session, and with what.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Opener<'a> {
    pub(super) principal: Option<&'a str>,
    pub(super) peer: Option<Peer>,
    /// What the `initialize` takes of the memory budget, if it is long.
    pub(super) held: Option<&'a Arc<Charge>>,
}

/// The limit that another session would exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    /// `Limits::sessions`.
    Server,
    /// `Limits::sessions_per_principal`.
    Principal,
}

impl Sessions {
    fn table(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<Session>>> {
        lock(&self.0)
    }

    /// Adds a session under a new id, which is random: it is the client's credential.
    pub(super) fn open(self: &Arc<Self>, mut connection: Connection, opener: Opener<'_>) -> std::io::Result<String> {
        let id = random::id()?;
        connection.opened_session(&id);
        self.insert(&id, Session::new(connection, opener, Duration::ZERO, None));
        Ok(id)
    }

    /// Adds a session under its id, unless a concurrent request has just added it. Returns the one in the table.
    pub(super) fn insert(self: &Arc<Self>, id: &str, session: Session) -> Arc<Session> {
        let swept: Weak<Self> = Arc::downgrade(self);
        session.core.sweeper.expect(swept, session.core.limits.session_idle_timeout);
        Arc::clone(self.table().entry(id.into()).or_insert_with(|| Arc::new(session)))
    }

    /// The session with this id, of any principal.
    pub(super) fn get(&self, id: &str) -> Option<Arc<Session>> {
        self.table().get(id).cloned()
    }

    /// Removes the session with this id, of any principal.
    pub(super) fn remove(&self, id: &str) -> Option<Arc<Session>> {
        self.table().remove(id)
    }

    /// The sessions with an open stream or a running call.
    pub(super) fn busy(&self) -> Vec<Arc<Session>> {
        self.table().values().filter(|session| session.is_busy()).cloned().collect()
    }

    /// The session with this id, if it belongs to the principal and has not expired.
    pub(super) fn find(&self, id: &str, principal: Option<&str>, limits: &Limits) -> Option<Arc<Session>> {
        let mut table = self.table();
        let session = table.get(id).filter(|session| session.principal.as_deref() == principal)?;
        let age = session.age();
        if session.has_expired(age, limits) {
            let session = table.remove(id);
            drop(table);
            if let Some(session) = session {
                session.end_expired();
            }
            return None;
        }
        session.used_at(age);
        Some(Arc::clone(session))
    }

    /// Waits until no session has running calls. A call in a session continues when its client disconnects.
    pub(super) async fn idle(&self) {
        let all: Vec<_> = self.table().values().map(Arc::clone).collect();
        for session in all {
            session.control.in_flight.at_most(0).await;
        }
    }

    /// Ends all sessions.
    pub(super) fn end_all(&self) {
        let all = std::mem::take(&mut *self.table());
        for session in all.values() {
            // Other replicas go on with one that is in a store.
            if session.stored.is_some() {
                session.control.forget_session();
            }
            session.control.abort();
        }
    }

    /// A guard for a request that may shut the session down.
    pub(super) fn shutdown_guard<'a>(&'a self, session: &'a Arc<Session>) -> ShutdownGuard<'a> {
        ShutdownGuard { sessions: self, session }
    }

    /// Ends a session of the principal. Unknown sessions are ignored.
    pub(super) fn end(&self, id: &str, principal: Option<&str>) {
        let mut table = self.table();
        if table.get(id).is_none_or(|session| session.principal.as_deref() != principal) {
            return;
        }
        let session = table.remove(id);
        drop(table);
        if let Some(session) = session {
            session.control.abort();
        }
    }
}

/// The number of sessions alone: their ids are credentials.
impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sessions").field(&self.table().len()).finish()
    }
}

/// Ends a session that is shutting down when it is dropped: its `shutdown` has been answered, or the client has
/// disconnected.
#[derive(Debug)]
pub(super) struct ShutdownGuard<'a> {
    sessions: &'a Sessions,
    session: &'a Arc<Session>,
}

impl Drop for ShutdownGuard<'_> {
    fn drop(&mut self) {
        if self.session.control.is_closing() {
            self.sessions.table().retain(|_, other| !Arc::ptr_eq(other, self.session));
            self.session.control.abort();
        }
    }
}

impl Session {
    /// Creates a session of this age.
    pub(super) fn new(
        connection: Connection,
        by: Opener<'_>,
        age: Duration,
        stored: Option<Box<StoredSession>>,
    ) -> Self {
        let now = Instant::now();
        let opened = now.checked_sub(age).unwrap_or(now);
        if stored.is_some() {
            connection.control().pending_requests.make_ids_unique();
        }
        Session {
            control: Arc::clone(connection.control()),
            core: Arc::clone(&connection.core),
            subscription: connection.subscription.clone(),
            revision: connection.session.revision(),
            connection: Mutex::new(connection),
            streams: Streams::default(),
            stream_claim: StreamClaim::default(),
            principal: by.principal.map(Into::into),
            peer: by.peer,
            _held: by.held.cloned(),
            in_use: AtomicBool::new(false),
            opened,
            used: AtomicDuration::new(now - opened),
            stored,
        }
    }

    pub(super) fn connection(&self) -> MutexGuard<'_, Connection> {
        lock(&self.connection)
    }

    /// The principal that opened the session, if it is authenticated.
    pub(super) fn principal(&self) -> Option<Arc<str>> {
        self.principal.clone()
    }

    /// What counts when another session needs room.
    fn candidate(&self) -> Candidate {
        Candidate {
            is_busy: self.is_busy(),
            was_used: self.in_use.load(Ordering::Relaxed),
            idle: self.idle(self.age()),
            peer: self.peer.map(Peer::network),
        }
    }

    /// This replica, as others know it, if the session is in the store of a backend.
    pub(super) fn replica(&self) -> Option<&Arc<Replica>> {
        self.stored.as_ref()?.stores.replica.as_ref()
    }

    pub(super) fn revision(&self) -> Revision {
        self.revision
    }

    /// Restarts the idle timeout.
    pub(super) fn touch(&self) {
        self.used_at(self.age());
    }

    fn used_at(&self, age: Duration) {
        self.used.store(age);
        self.in_use.store(true, Ordering::Relaxed);
    }

    /// What its streams may keep for replay.
    pub(super) fn replay_budget(&self) -> ReplayBudget {
        let owner = Owner::of(self.principal.as_ref(), self.peer);
        ReplayBudget::new(self.core.limits.event_bytes, self.core.memory.open(owner))
    }

    fn age(&self) -> Duration {
        self.opened.elapsed()
    }

    /// How long the session has been idle, at this age.
    fn idle(&self, age: Duration) -> Duration {
        age.saturating_sub(self.used.load())
    }

    fn is_busy(&self) -> bool {
        self.stream_claim.is_held() || self.control.in_flight.is_busy()
    }

    /// Waits until the session reaches its maximum lifetime.
    async fn lifetime_over(&self) {
        match self.opened.checked_add(self.core.limits.session_lifetime) {
            Some(end) => tokio::time::sleep_until(end.into()).await,
            None => std::future::pending().await,
        }
    }

    /// Waits until the streams of the session must end: it is closing, the server shuts down, or its lifetime is over.
    pub(super) async fn closing(&self) {
        tokio::select! {
            () = self.control.closing() => {}
            () = self.core.shared.reaches(Phase::Draining) => {}
            () = self.lifetime_over() => {}
        }
    }

    /// Whether only this replica ends, and the client resumes the session's own stream at another one.
    pub(super) fn goes_on_elsewhere(&self) -> bool {
        self.stored.is_some() && !self.control.is_closing() && self.age() < self.core.limits.session_lifetime
    }

    /// Claims the session's own stream. `None` if it has a reader already: a session has one such stream.
    pub(super) fn claim_stream(self: &Arc<Self>) -> Option<StreamGuard> {
        let number = self.stream_claim.take()?;
        Some(StreamGuard { session: Arc::clone(self), number })
    }

    /// Claims the session's own stream for a reader that resumes it. The reader it had may not know yet that its
    /// connection is lost.
    pub(super) fn take_over_stream(self: &Arc<Self>) -> StreamGuard {
        StreamGuard { session: Arc::clone(self), number: self.stream_claim.take_over() }
    }
}

/// Ends the connection: streams and tasks may still hold its control.
impl Drop for Session {
    fn drop(&mut self) {
        // A session in a store outlives its copies.
        if self.stored.is_some() {
            self.control.forget_session();
        }
        self.control.abort();
    }
}

/// The claim to a session's own stream. Dropping it releases the stream, unless a resumed one has taken its place.
#[derive(Debug)]
pub(super) struct StreamGuard {
    session: Arc<Session>,
    number: u64,
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        self.session.touch();
        self.session.stream_claim.release(self.number);
    }
}
