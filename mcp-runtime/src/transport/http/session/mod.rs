//! Sessions of the legacy era over HTTP: made by `initialize`, found by their id, ended by the client,
//! by time or with the server.
//!
//! `shutdown` ends its session when the session's calls are done, as DELETE does; `exit` is ignored. The
//! specification has neither, but clients that know them from other protocols send both when they close. With a
//! `-32601` their shutdown would fail, and the session would have to time out. Neither ends the server, which has
//! other clients. 2026-07-28 has no sessions, and neither method.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management>

pub(super) mod event_log;
pub(super) mod get;
pub(super) mod lookup;
pub(super) mod open;
pub(super) mod serve;
pub(super) mod stored;
pub(super) mod stores;
pub(super) mod stream;
pub(super) mod stream_id;
pub(super) mod streams;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use self::stores::StoredSession;
use self::streams::Streams;
use super::atomic_duration::AtomicDuration;
use crate::call::control::ConnectionControl;
use crate::dispatch::connection::Connection;
use crate::limits::Limits;
use crate::protocol::Revision;
use crate::random;
use crate::server::core::Core;
use crate::server::state::Phase;
use crate::subscription::Subscription;
use crate::sync::lock;

/// How long a session has to be left alone before another may take its place.
const FORGOTTEN: Duration = Duration::from_mins(1);

/// The sessions there are.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<Box<str>, Arc<Session>>>);

/// One of them.
#[derive(Debug)]
pub(super) struct Session {
    connection: Mutex<Connection>,
    pub(super) control: Arc<ConnectionControl>,
    pub(super) core: Arc<Core>,
    /// What it is told of, on the stream it opens for that.
    pub(super) subscription: Option<Arc<Subscription>>,
    /// The streams of its requests.
    pub(super) streams: Streams,
    /// Whether it has such a stream.
    streaming: AtomicBool,
    revision: Revision,
    principal: Option<Arc<str>>,
    begun: Instant,
    /// How old it was when it was last used.
    used: AtomicDuration,
    /// Where it is kept besides, if it is: then this is a copy.
    pub(super) kept: Option<Box<StoredSession>>,
}

/// Why there is no room for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    Everybody,
    Principal,
}

impl Sessions {
    fn table(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<Session>>> {
        lock(&self.0)
    }

    /// Whether there is room for another, when those whose time is over are gone.
    pub(super) fn room(&self, principal: Option<&str>, limits: &Limits) -> Result<(), Full> {
        let mut table = self.table();
        make_room(&mut table, limits, FORGOTTEN)?;
        let own = || table.values().filter(|session| session.principal.as_deref() == principal).count();
        if principal.is_some() && own() >= limits.sessions_per_principal {
            return Err(Full::Principal);
        }
        Ok(())
    }

    /// Enters a session under an id nobody can guess.
    pub(super) fn enter(&self, connection: Connection, principal: Option<&str>) -> std::io::Result<String> {
        let id = random::id()?;
        self.insert(&id, Session::new(connection, principal, Duration::ZERO, None));
        Ok(id)
    }

    /// Enters a session under its id, unless somebody else just did; the one that is there.
    pub(super) fn insert(&self, id: &str, session: Session) -> Arc<Session> {
        Arc::clone(self.table().entry(id.into()).or_insert_with(|| Arc::new(session)))
    }

    /// The session with this id, whosever it is.
    pub(super) fn copy(&self, id: &str) -> Option<Arc<Session>> {
        self.table().get(id).cloned()
    }

    /// Takes out the session with this id, whosever it is.
    pub(super) fn remove(&self, id: &str) -> Option<Arc<Session>> {
        self.table().remove(id)
    }

    /// Makes room for the copy of a session that is kept elsewhere. Copies nobody uses now can be made
    /// again.
    pub(super) fn room_for_copy(&self, limits: &Limits) -> Result<(), Full> {
        make_room(&mut self.table(), limits, Duration::ZERO)
    }

    /// Those that somebody uses now.
    pub(super) fn busy(&self) -> Vec<Arc<Session>> {
        self.table().values().filter(|session| session.is_busy()).cloned().collect()
    }

    /// The session with this id, if it is the principal's and its time is not over.
    pub(super) fn find(&self, id: &str, principal: Option<&str>, limits: &Limits) -> Option<Arc<Session>> {
        let mut table = self.table();
        let session = table.get(id).filter(|session| session.principal.as_deref() == principal)?;
        let age = session.age();
        if session.is_over(age, limits) {
            if let Some(session) = table.remove(id) {
                drop(session.control.abort());
            }
            return None;
        }
        session.used_at(age);
        Some(Arc::clone(session))
    }

    /// Waits until no session has anything to do. A call may go on when its client is gone.
    pub(super) async fn at_rest(&self) {
        let all: Vec<_> = self.table().values().map(Arc::clone).collect();
        for session in all {
            session.control.in_flight.at_most(0).await;
        }
    }

    /// Ends all of them.
    pub(super) fn end_all(&self) {
        let all = std::mem::take(&mut *self.table());
        for session in all.values() {
            drop(session.control.abort());
        }
    }

    /// Looks after a session that may be about to be shut down.
    pub(super) fn ending<'a>(&'a self, session: &'a Arc<Session>) -> ShutdownGuard<'a> {
        ShutdownGuard { sessions: self, session }
    }

    /// Ends a session; false if there is none.
    pub(super) fn end(&self, id: &str, principal: Option<&str>) -> bool {
        let mut table = self.table();
        if table.get(id).is_none_or(|session| session.principal.as_deref() != principal) {
            return false;
        }
        let session = table.remove(id);
        drop(table);
        session.map(|session| session.control.abort()).is_some()
    }
}

/// A session that is being shut down. When this is dropped it is over: its `shutdown` is answered, or
/// nobody waits for that any more.
#[derive(Debug)]
pub(super) struct ShutdownGuard<'a> {
    sessions: &'a Sessions,
    session: &'a Arc<Session>,
}

impl Drop for ShutdownGuard<'_> {
    fn drop(&mut self) {
        if self.session.control.is_closing() {
            self.sessions.table().retain(|_, other| !Arc::ptr_eq(other, self.session));
            drop(self.session.control.abort());
        }
    }
}

/// Makes room for another, from those whose time is over, or the one that was left alone longest.
fn make_room(table: &mut HashMap<Box<str>, Arc<Session>>, limits: &Limits, left_alone: Duration) -> Result<(), Full> {
    if table.len() >= limits.sessions {
        table.retain(|_, session| {
            let over = session.is_over(session.age(), limits);
            if over {
                drop(session.control.abort());
            }
            !over
        });
    }
    if table.len() >= limits.sessions && !evict(table, left_alone) {
        return Err(Full::Everybody);
    }
    Ok(())
}

/// Ends the session that was not used for the longest time, if that is long: so that who opens many
/// and uses none does not keep everybody else out for as long as sessions live.
fn evict(table: &mut HashMap<Box<str>, Arc<Session>>, left_alone: Duration) -> bool {
    let idle = table.iter().filter(|(_, session)| !session.is_busy());
    let idle = idle.map(|(id, session)| (id, session.idle(session.age())));
    let oldest = idle.max_by_key(|(_, idle)| *idle).filter(|(_, idle)| *idle >= left_alone);
    let Some(id) = oldest.map(|(id, _)| id.clone()) else { return false };
    let Some(session) = table.remove(&id) else { return false };
    // A copy may just have been found by a request, which is served yet. Then it goes by itself.
    if session.kept.is_none() {
        drop(session.control.abort());
    }
    true
}

impl Session {
    /// A session of this age.
    pub(super) fn new(
        connection: Connection,
        principal: Option<&str>,
        age: Duration,
        kept: Option<Box<StoredSession>>,
    ) -> Self {
        let now = Instant::now();
        let begun = now.checked_sub(age).unwrap_or(now);
        if kept.is_some() {
            connection.control().asks.are_not_alone();
        }
        Session {
            control: Arc::clone(connection.control()),
            core: Arc::clone(&connection.core),
            subscription: connection.subscription.clone(),
            revision: connection.session.revision(),
            connection: Mutex::new(connection),
            streams: Streams::default(),
            streaming: AtomicBool::new(false),
            principal: principal.map(Into::into),
            begun,
            used: AtomicDuration::new(now - begun),
            kept,
        }
    }

    pub(super) fn connection(&self) -> MutexGuard<'_, Connection> {
        lock(&self.connection)
    }

    /// Who opened it, where that is known.
    pub(super) fn principal(&self) -> Option<Arc<str>> {
        self.principal.clone()
    }

    pub(super) fn revision(&self) -> Revision {
        self.revision
    }

    pub(super) fn touch(&self) {
        self.used_at(self.age());
    }

    fn used_at(&self, age: Duration) {
        self.used.store(age);
    }

    fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Whether its time is over. What it is working on, and an open stream, are use. One that was shut
    /// down is over when its calls are done, whether or not somebody waited for that.
    fn is_over(&self, age: Duration, limits: &Limits) -> bool {
        age >= limits.session_lifetime
            || (self.idle(age) >= limits.session_idle_timeout && !self.is_busy())
            || (self.control.is_closing() && !self.control.in_flight.is_busy())
    }

    /// How long nobody has used it, at this age.
    fn idle(&self, age: Duration) -> Duration {
        age.saturating_sub(self.used.load())
    }

    fn is_busy(&self) -> bool {
        self.streaming.load(Ordering::Acquire) || self.control.in_flight.is_busy()
    }

    /// Waits until it is as old as a session can be.
    async fn too_old(&self) {
        match self.begun.checked_add(self.core.limits.session_lifetime) {
            Some(end) => tokio::time::sleep_until(end.into()).await,
            None => std::future::pending().await,
        }
    }

    /// Waits until its streams have to end: with it, with the server, or with its time.
    pub(super) async fn ends(&self) {
        tokio::select! {
            () = self.control.closing() => {}
            () = self.core.shared.reaches(Phase::Draining) => {}
            () = self.too_old() => {}
        }
    }

    /// Takes the one stream a session has for what belongs to no request; none if it is taken.
    pub(super) fn stream(self: &Arc<Self>) -> Option<StreamGuard> {
        let taken = self.streaming.swap(true, Ordering::AcqRel);
        (!taken).then(|| StreamGuard(Arc::clone(self)))
    }
}

/// Whatever still waits for it waits for nothing.
impl Drop for Session {
    fn drop(&mut self) {
        drop(self.control.abort());
    }
}

/// A session's stream, until it is dropped.
#[derive(Debug)]
pub(super) struct StreamGuard(pub(super) Arc<Session>);

impl Drop for StreamGuard {
    fn drop(&mut self) {
        self.0.touch();
        self.0.streaming.store(false, Ordering::Release);
    }
}
