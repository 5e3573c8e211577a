//! Which session makes room for a new one.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Full, Session};
use crate::limits::Limits;

/// The part of all sessions that one peer has before it counts as greedy.
const SHARE: usize = 4;
/// How long a session of a greedy peer must be idle before it can be evicted for a new one.
const EVICTABLE_FROM_GREEDY: Duration = Duration::from_secs(5);
/// How long a session of another peer must be idle before that.
pub(super) const EVICTABLE_AFTER: Duration = Duration::from_mins(1);

/// Makes room for another session: removes the expired ones, then evicts the one that has been idle longest, if that
/// is at least `min_idle`.
pub(super) fn make_room(
    table: &mut HashMap<Box<str>, Arc<Session>>,
    limits: &Limits,
    min_idle: Duration,
) -> Result<(), Full> {
    if table.len() >= limits.sessions {
        table.retain(|_, session| {
            let expired = session.has_expired(session.age(), limits);
            if expired {
                session.control.abort();
            }
            !expired
        });
    }
    if table.len() >= limits.sessions && !evict(table, min_idle) {
        return Err(Full::Server);
    }
    Ok(())
}

/// Evicts a session that is not busy. One that was never used goes first: a flood opens many and uses none. Otherwise it
/// is the one that has been idle longest, first of peers that have more than their share.
fn evict(table: &mut HashMap<Box<str>, Arc<Session>>, min_idle: Duration) -> bool {
    let mut of_peer: HashMap<Option<IpAddr>, usize> = HashMap::new();
    for session in table.values() {
        *of_peer.entry(session.network()).or_default() += 1;
    }
    let share = table.len() / SHARE;
    let rank = |session: &Session| {
        let (idle, of_peer) = (session.idle(session.age()), of_peer[&session.network()]);
        let greedy = if session.network().is_some() && of_peer > share { of_peer } else { 0 };
        let unused = !session.in_use.load(Ordering::Relaxed);
        let min_idle = if greedy > 0 { min_idle.min(EVICTABLE_FROM_GREEDY) } else { min_idle };
        (unused || idle >= min_idle).then_some((unused, greedy, idle))
    };
    let idle = table.iter().filter(|(_, session)| !session.is_busy());
    let evicted = idle.filter_map(|(id, session)| Some((rank(session)?, id))).max();
    let Some(id) = evicted.map(|(_, id)| id.clone()) else { return false };
    let Some(session) = table.remove(&id) else { return false };
    // A concurrent request may just have found a copy, and can still be served. The copy ends when it is dropped.
    if session.stored.is_none() {
        session.control.abort();
    }
    true
}
