//! The state of rate limits for many callers: a bounded table of TATs, for all limits of a server together.
//!
//! A full table first forgets entries whose whole burst is there, which changes nothing for their callers. If there are
//! none, it forgets those that would be whole soonest. So whoever has used up a limit cannot get rid of that by calling
//! under other names: each of the others would have to use up as much first, which yields more calls than it frees.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, OnceLock};

use tokio::time::Instant;

use super::caller::CallerId;
use super::gcra::{Gcra, Nanos, TooSoon};
use crate::sync::lock;

/// Parts with locks of their own.
const SHARDS: usize = 16;
/// How many entries a part has room for at least: the share of a smaller table would not be worth its search.
const LEAST: usize = 16;

/// The tables of a server, made when a limit first needs them.
#[derive(Debug)]
pub(crate) struct RateTables {
    tables: OnceLock<Box<Tables>>,
    callers: usize,
}

impl RateTables {
    /// Tables for so many callers who are authenticated, and as many who are not.
    pub(crate) fn new(callers: usize) -> Self {
        RateTables { tables: OnceLock::new(), callers }
    }

    pub(super) fn get(&self) -> &Tables {
        self.tables.get_or_init(|| Box::new(Tables::new(self.callers)))
    }
}

/// What callers have used of the rate limits of a server.
#[derive(Debug)]
pub(super) struct Tables {
    known: Table,
    /// Addresses are free to get, so they do not push out authenticated callers.
    anonymous: Table,
    /// When time begins. Tokio's clock, which tests stop.
    started: Instant,
}

impl Tables {
    fn new(callers: usize) -> Self {
        Tables { known: Table::new(callers), anonymous: Table::new(callers), started: Instant::now() }
    }

    pub(super) fn now(&self) -> Nanos {
        Nanos::try_from(self.started.elapsed().as_nanos()).unwrap_or(Nanos::MAX)
    }

    pub(super) fn of(&self, caller: CallerId<'_>) -> &Table {
        if caller.is_anonymous() { &self.anonymous } else { &self.known }
    }
}

/// What is counted: the number of a limit, and a caller.
pub(super) type Key<'a> = (u64, CallerId<'a>);

/// TATs, by the hash of what they count. With its secret key, nobody can aim at the hash of another.
#[derive(Debug)]
pub(super) struct Table {
    hasher: RandomState,
    /// How many entries a part has room for.
    most: usize,
    shards: [Mutex<HashMap<u64, Nanos>>; SHARDS],
}

impl Table {
    fn new(callers: usize) -> Self {
        Table { hasher: RandomState::new(), most: (callers / SHARDS).max(LEAST), shards: Default::default() }
    }

    /// Counts a request of a caller, in a call that had so many rounds of questions.
    pub(super) fn take(&self, key: Key<'_>, gcra: Gcra, now: Nanos, rounds: usize) -> Result<(), TooSoon> {
        let (hash, shard) = self.locate(key);
        let mut shard = lock(shard);
        if let Some(tat) = shard.get_mut(&hash) {
            *tat = gcra.take(*tat, now, rounds)?;
            return Ok(());
        }
        let tat = gcra.take(0, now, rounds)?;
        if shard.len() >= self.most {
            make_room(&mut shard, self.most, now);
        }
        shard.insert(hash, tat);
        Ok(())
    }

    /// A request that was counted is not served after all.
    pub(super) fn give_back(&self, key: Key<'_>, gcra: Gcra) {
        let (hash, shard) = self.locate(key);
        if let Some(tat) = lock(shard).get_mut(&hash) {
            *tat = gcra.give_back(*tat);
        }
    }

    fn locate(&self, key: Key<'_>) -> (u64, &Mutex<HashMap<u64, Nanos>>) {
        let hash = self.hasher.hash_one(key);
        (hash, &self.shards[usize::from(hash.to_le_bytes()[0]) % SHARDS])
    }
}

/// Forgets entries: all whose burst is whole, or else an eighth, those with the earliest TATs. Several at once, so that
/// the search for them is paid for by as many newcomers.
#[cold]
fn make_room(shard: &mut HashMap<u64, Nanos>, most: usize, now: Nanos) {
    let mut tats: Vec<Nanos> = shard.values().copied().filter(|tat| *tat > now).collect();
    let mut excess = (tats.len() + most / 8).saturating_sub(most);
    let latest = if excess == 0 { now } else { *tats.select_nth_unstable(excess - 1).1 };
    // A new map: what is removed from a map leaves marks, for which it would grow one day.
    let mut kept = HashMap::with_capacity(most);
    kept.extend(shard.drain().filter(|(_, tat)| {
        let forget = *tat > now && *tat <= latest && excess > 0;
        excess -= usize::from(forget);
        *tat > now && !forget
    }));
    *shard = kept;
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;
    use crate::limits::{CALLER_BYTES, Limits};
    use crate::throttle::rate::RateLimit;

    const MOST: usize = 4096;

    fn peer(number: u32) -> CallerId<'static> {
        CallerId::Peer(IpAddr::V4(Ipv4Addr::from_bits(number)))
    }

    fn len(table: &Table) -> usize {
        table.shards.iter().map(|shard| lock(shard).len()).sum()
    }

    /// What a table has allocated: a hash, a TAT and a byte of control data for each bucket, of which 7 in 8 are used.
    fn bytes(table: &Table) -> usize {
        table.shards.iter().map(|shard| lock(shard).capacity().div_ceil(7) * 8 * 17).sum()
    }

    #[test]
    fn callers_and_limits_do_not_affect_each_other() {
        let (table, gcra) = (Table::new(1000), Gcra::new(&RateLimit::per_second(1)));
        for caller in [CallerId::Principal("ann"), CallerId::User("ann", ""), CallerId::Client("ann", ""), peer(1)] {
            for limit in [1, 2] {
                assert!(table.take((limit, caller), gcra, 7, 0).is_ok(), "{caller:?}");
                assert!(table.take((limit, caller), gcra, 7, 0).is_err(), "{caller:?}");
            }
        }
    }

    #[test]
    fn million_callers_take_bounded_room_and_free_nobody() {
        let (table, gcra) = (Table::new(SHARDS * MOST), Gcra::new(&RateLimit::per_hour(2).burst(2)));
        let greedy = (1, CallerId::Principal("greedy"));
        assert!(table.take(greedy, gcra, 0, 0).is_ok() && table.take(greedy, gcra, 0, 0).is_ok());
        for number in 0..1_000_000 {
            assert!(table.take((1, peer(number)), gcra, u64::from(number), 0).is_ok());
            if number % 100_000 == 0 {
                assert!(table.take(greedy, gcra, u64::from(number), 0).is_err(), "after {number} others");
            }
        }
        assert!(len(&table) <= SHARDS * MOST, "{}", len(&table));
        assert!(table.take(greedy, gcra, 1_000_000, 0).is_err(), "its limit is still used up");
    }

    #[test]
    fn table_stays_within_its_bytes() {
        let gcra = Gcra::new(&RateLimit::per_hour(1));
        let presets = [Limits::small(), Limits::default()].map(|limits| limits.rate_callers);
        // And the least, and one whose last callers have doubled the room.
        for callers in presets.into_iter().chain([SHARDS * LEAST, SHARDS * (MOST * 7 / 8 + 1)]) {
            let table = Table::new(callers);
            for number in 0..u32::try_from(3 * callers).unwrap() {
                assert!(table.take((1, peer(number)), gcra, 0, 0).is_ok());
            }
            assert!(len(&table) <= callers && bytes(&table) <= callers * CALLER_BYTES, "{callers}: {}", bytes(&table));
        }
    }

    #[test]
    fn callers_with_a_whole_burst_go_first() {
        let gcra = Gcra::new(&RateLimit::per_second(10).burst(1));
        let later = 10_000_000_000;
        let mut shard: HashMap<u64, Nanos> = (0..MOST as u64).map(|hash| (hash, hash)).collect();
        shard.insert(1 << 40, gcra.take(0, later, 0).unwrap());
        make_room(&mut shard, MOST, later);
        assert_eq!(shard.into_keys().collect::<Vec<_>>(), [1 << 40]);
    }

    #[test]
    fn few_are_forgotten_even_if_all_are_equal() {
        let mut shard: HashMap<u64, Nanos> = (0..MOST as u64).map(|hash| (hash, 100)).collect();
        make_room(&mut shard, MOST, 50);
        assert_eq!(shard.len(), MOST - MOST / 8);
    }
}
