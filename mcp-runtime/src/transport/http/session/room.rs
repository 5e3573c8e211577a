//! Room for another session: those that have expired go, then one that is idle.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::eviction::{self, EVICTABLE_AFTER};
use super::{Full, Session, Sessions};
use crate::limits::Limits;

impl Sessions {
    /// Makes room for one more session of a principal: removes expired sessions, and evicts an idle one if need be.
    pub(super) fn make_room(&self, principal: Option<&str>, limits: &Limits) -> Result<(), Full> {
        let mut table = self.table();
        let (removed, room) = make_room(&mut table, limits, EVICTABLE_AFTER);
        let own = || table.values().filter(|session| session.principal.as_deref() == principal).count();
        let too_many = room.is_ok() && principal.is_some() && own() >= limits.sessions_per_principal;
        drop(table);
        removed.end();
        if too_many { Err(Full::Principal) } else { room }
    }

    /// Makes room for the copy of a stored session. Any idle copy can be evicted, since it can be restored.
    pub(super) fn make_room_for_copy(&self, limits: &Limits) -> Result<(), Full> {
        let (removed, room) = make_room(&mut self.table(), limits, Duration::ZERO);
        removed.end();
        room
    }
}

/// Sessions that were removed from the table. They are ended when it is not locked: observers are told.
#[derive(Default)]
struct Removed {
    expired: Vec<Arc<Session>>,
    evicted: Option<Arc<Session>>,
}

impl Removed {
    fn end(self) {
        for session in &self.expired {
            session.end_expired();
        }
        let Some(evicted) = self.evicted else { return };
        match evicted.stored {
            None => drop(evicted.control.abort()),
            // A concurrent request may just have found a copy, and can still be served. The copy ends when it is dropped;
            // its session does not.
            Some(_) => evicted.control.forget_session(),
        }
    }
}

/// Makes room for another session: removes the expired ones, then evicts one if need be.
fn make_room(
    table: &mut HashMap<Box<str>, Arc<Session>>,
    limits: &Limits,
    min_idle: Duration,
) -> (Removed, Result<(), Full>) {
    let mut removed = Removed::default();
    if table.len() < limits.sessions {
        return (removed, Ok(()));
    }
    removed.expired =
        table.extract_if(|_, session| session.has_expired(session.age(), limits)).map(|(_, session)| session).collect();
    if table.len() < limits.sessions {
        return (removed, Ok(()));
    }
    let candidates: Vec<_> = table.iter().map(|(id, session)| (id.clone(), session.candidate())).collect();
    removed.evicted = eviction::victim(&candidates, min_idle).and_then(|id| table.remove(id));
    let room = removed.evicted.as_ref().map(drop).ok_or(Full::Server);
    (removed, room)
}
