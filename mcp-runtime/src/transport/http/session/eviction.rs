//! Which session makes room for a new one.
//!
//! One that was never used goes first: a flood opens many and uses none. Otherwise it is the one that has been idle
//! longest, first of peers that have more than their share. A session that has just been used stays.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

/// The part of all sessions that one peer has before it counts as greedy.
const SHARE: usize = 4;
/// How long a session of a greedy peer must be idle before it can be evicted.
const EVICTABLE_FROM_GREEDY: Duration = Duration::from_secs(5);
/// How long a session of another peer must be idle before that.
pub(super) const EVICTABLE_AFTER: Duration = Duration::from_secs(60);

/// What counts about a session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    /// Whether it has a running call or an open stream.
    pub(super) is_busy: bool,
    pub(super) was_used: bool,
    pub(super) idle: Duration,
    /// The peer that opened it, if it is known.
    pub(super) peer: Option<IpAddr>,
}

/// The session to be evicted, if there is one: of those that were used, one that has been idle for `min_idle`.
pub(super) fn victim<T>(sessions: &[(T, Candidate)], min_idle: Duration) -> Option<&T> {
    let mut of_peer: HashMap<IpAddr, usize> = HashMap::new();
    for peer in sessions.iter().filter_map(|(_, session)| session.peer) {
        *of_peer.entry(peer).or_default() += 1;
    }
    let greed = |peer: IpAddr| of_peer.get(&peer).copied().filter(|count| *count > sessions.len() / SHARE);
    let rank = |session: &Candidate| {
        let greed = session.peer.and_then(greed);
        let min_idle = if greed.is_some() { min_idle.min(EVICTABLE_FROM_GREEDY) } else { min_idle };
        let may_go = !session.is_busy && (!session.was_used || session.idle >= min_idle);
        may_go.then_some((!session.was_used, greed, session.idle))
    };
    let ranked = sessions.iter().filter_map(|(id, session)| Some((rank(session)?, id)));
    ranked.max_by_key(|(rank, _)| *rank).map(|(_, id)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(peer: u8, was_used: bool, idle: u64) -> Candidate {
        let peer = Some([192, 0, 2, peer].into());
        Candidate { is_busy: false, was_used, idle: Duration::from_secs(idle), peer }
    }

    fn evicted(sessions: &[Candidate]) -> Option<usize> {
        let sessions: Vec<_> = sessions.iter().copied().enumerate().collect();
        victim(&sessions, EVICTABLE_AFTER).copied()
    }

    #[test]
    fn session_never_used_goes_first() {
        assert_eq!(evicted(&[session(1, true, 600), session(2, false, 1), session(2, false, 2)]), Some(2));
        let busy = Candidate { is_busy: true, ..session(2, false, 2) };
        assert_eq!(evicted(&[session(1, true, 600), busy]), Some(0));
    }

    #[test]
    fn idle_session_of_a_greedy_peer_goes_next() {
        let flood = [session(1, true, 20); 8];
        assert_eq!(evicted(&[&flood[..], &[session(2, true, 600)]].concat()).map(|at| at < 8), Some(true));
        let in_use = [session(1, true, 1); 8];
        assert_eq!(evicted(&[&in_use[..], &[session(2, true, 600)]].concat()), Some(8));
        assert_eq!(evicted(&[&in_use[..], &[session(2, true, 30)]].concat()), None, "all are in use");
    }
}
