//! The state of a rate limit for many callers: a bounded table of TATs.
//!
//! A full table first forgets callers whose whole burst is there, which changes nothing for them. If there are none, it
//! forgets those who have used least. So whoever has used up a limit cannot get rid of that by calling under other names:
//! each of the others would have to use up theirs first, which yields more calls than it frees.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Mutex;

use super::caller::CallerId;
use super::gcra::{Gcra, Nanos, TooSoon};
use crate::sync::lock;

/// Parts with locks of their own.
const SHARDS: usize = 16;
/// How many callers a part knows. All parts of a table take up to 2.5 MiB.
const CALLERS: usize = 4096;
/// The part of a full shard that is forgotten at once, so that the search for it is paid for by as many newcomers.
const FORGOTTEN: usize = CALLERS / 8;

/// The TATs of callers, by the hash of who they are. With its secret key, nobody can aim at the hash of another.
#[derive(Debug)]
pub(super) struct Table {
    hasher: RandomState,
    shards: [Mutex<HashMap<u64, Nanos>>; SHARDS],
}

impl Table {
    pub(super) fn new() -> Self {
        Table { hasher: RandomState::new(), shards: Default::default() }
    }

    /// Counts a request of a caller.
    pub(super) fn take(&self, caller: CallerId<'_>, gcra: Gcra, now: Nanos) -> Result<(), TooSoon> {
        let (hash, shard) = self.locate(caller);
        let mut shard = lock(shard);
        if let Some(tat) = shard.get_mut(&hash) {
            *tat = gcra.take(*tat, now)?;
            return Ok(());
        }
        let tat = gcra.take(0, now)?;
        if shard.len() >= CALLERS {
            make_room(&mut shard, now);
        }
        shard.insert(hash, tat);
        Ok(())
    }

    /// A request that was counted is not served after all.
    pub(super) fn give_back(&self, caller: CallerId<'_>, gcra: Gcra) {
        let (hash, shard) = self.locate(caller);
        if let Some(tat) = lock(shard).get_mut(&hash) {
            *tat = gcra.give_back(*tat);
        }
    }

    fn locate(&self, caller: CallerId<'_>) -> (u64, &Mutex<HashMap<u64, Nanos>>) {
        let hash = self.hasher.hash_one(caller);
        (hash, &self.shards[usize::from(hash.to_le_bytes()[0]) % SHARDS])
    }
}

/// Forgets callers: all whose burst is whole, or else those with the earliest TATs.
#[cold]
fn make_room(shard: &mut HashMap<u64, Nanos>, now: Nanos) {
    shard.retain(|_, tat| *tat > now);
    let mut excess = (shard.len() + FORGOTTEN).saturating_sub(CALLERS);
    if excess == 0 {
        return;
    }
    let mut tats: Vec<Nanos> = shard.values().copied().collect();
    let (_, latest, _) = tats.select_nth_unstable(excess - 1);
    let latest = *latest;
    shard.retain(|_, tat| {
        let forget = *tat <= latest && excess > 0;
        excess -= usize::from(forget);
        !forget
    });
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;
    use crate::throttle::rate::RateLimit;

    fn peer(number: u32) -> CallerId<'static> {
        CallerId::Peer(IpAddr::V4(Ipv4Addr::from_bits(number)))
    }

    fn len(table: &Table) -> usize {
        table.shards.iter().map(|shard| lock(shard).len()).sum()
    }

    #[test]
    fn callers_do_not_affect_each_other() {
        let (table, gcra) = (Table::new(), Gcra::new(&RateLimit::per_second(1)));
        for caller in [CallerId::Principal("ann"), CallerId::User("ann", ""), CallerId::Client("ann", ""), peer(1)] {
            assert!(table.take(caller, gcra, 7).is_ok(), "{caller:?}");
            assert!(table.take(caller, gcra, 7).is_err(), "{caller:?}");
        }
    }

    #[test]
    fn million_callers_take_bounded_room_and_free_nobody() {
        let (table, gcra) = (Table::new(), Gcra::new(&RateLimit::per_hour(2).burst(2)));
        let greedy = CallerId::Principal("greedy");
        assert!(table.take(greedy, gcra, 0).is_ok() && table.take(greedy, gcra, 0).is_ok());
        for number in 0..1_000_000 {
            assert!(table.take(peer(number), gcra, u64::from(number)).is_ok());
            if number % 100_000 == 0 {
                assert!(table.take(greedy, gcra, u64::from(number)).is_err(), "after {number} others");
            }
        }
        assert!(len(&table) <= SHARDS * CALLERS, "{}", len(&table));
        assert!(table.take(greedy, gcra, 1_000_000).is_err(), "its limit is still used up");
    }

    #[test]
    fn callers_with_a_whole_burst_go_first() {
        let gcra = Gcra::new(&RateLimit::per_second(10).burst(1));
        let later = 10_000_000_000;
        let mut shard: HashMap<u64, Nanos> = (0..CALLERS as u64).map(|hash| (hash, hash)).collect();
        shard.insert(1 << 40, gcra.take(0, later).unwrap());
        make_room(&mut shard, later);
        assert_eq!(shard.into_keys().collect::<Vec<_>>(), [1 << 40]);
    }

    #[test]
    fn few_are_forgotten_even_if_all_are_equal() {
        let mut shard: HashMap<u64, Nanos> = (0..CALLERS as u64).map(|hash| (hash, 100)).collect();
        make_room(&mut shard, 50);
        assert_eq!(shard.len(), CALLERS - FORGOTTEN);
    }
}
