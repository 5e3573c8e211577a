//! This replica, as others know it: an id, and a lease that says that it lives.
//!
//! One lease per process is renewed, however many streams it writes: what a replica holds has its id, and whoever wants to
//! know asks whether that replica lives. The lease begins with the first stream that others may ask about.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, sleep};

use super::releases::Releases;
use super::{DynLeaseStore, Unavailable, quietly, with_timeout};
use crate::limits::Limits;
use crate::random;
use crate::sync::{lock, spawn};

/// The other replicas that are remembered. Those not asked about for a while are forgotten.
const REMEMBERED: usize = 1024;

/// This replica.
pub(crate) struct Replica {
    pub(crate) id: Box<str>,
    pub(crate) leases: Arc<dyn DynLeaseStore>,
    /// Whether a task renews the lease.
    beating: AtomicBool,
    /// When the lease was last taken or renewed, by two clocks: each may stand still while the machine does.
    renewed: Mutex<Option<(Instant, SystemTime)>>,
    /// Whether this replica looks for tasks of others that have died.
    pub(crate) is_looking: AtomicBool,
    /// What is known of other replicas that somebody here waits for.
    others: Mutex<HashMap<Box<str>, Sighting>>,
    /// The leases it gives up.
    pub(super) releases: Releases,
}

/// When another replica was looked for, and since when it has not been there.
#[derive(Debug, Clone, Copy)]
struct Sighting {
    looked: Instant,
    absent_since: Option<Instant>,
}

impl Replica {
    pub(crate) fn new(leases: Arc<dyn DynLeaseStore>) -> std::io::Result<Self> {
        Ok(Replica {
            id: random::id()?.into(),
            leases,
            beating: AtomicBool::new(false),
            renewed: Mutex::default(),
            is_looking: AtomicBool::new(false),
            others: Mutex::default(),
            releases: Releases::default(),
        })
    }

    fn others(&self) -> MutexGuard<'_, HashMap<Box<str>, Sighting>> {
        lock(&self.others)
    }

    /// Takes the lease, and renews it from now on.
    pub(crate) async fn live(self: &Arc<Self>, limits: &Limits) -> Result<(), Unavailable> {
        if self.beating.load(Ordering::Acquire) {
            return Ok(());
        }
        self.renew(limits).await?;
        if !self.beating.swap(true, Ordering::AcqRel) {
            spawn(beat(Arc::downgrade(self), limits.replica_lease, limits.store_timeout));
        }
        Ok(())
    }

    /// Takes or renews the lease.
    pub(crate) async fn renew(&self, limits: &Limits) -> Result<(), Unavailable> {
        let (name, now) = (lease_of(&self.id), (Instant::now(), SystemTime::now()));
        let acquire = self.leases.acquire(&name, &self.id, None, limits.replica_lease);
        with_timeout(limits.store_timeout, "acquire lease", acquire).await?;
        *lock(&self.renewed) = Some(now);
        Ok(())
    }

    /// Whether this replica certainly has its lease, so that no other one takes what it holds.
    pub(crate) fn is_certain(&self, limits: &Limits) -> bool {
        let within = |elapsed: Duration| elapsed < limits.replica_lease;
        lock(&self.renewed).is_some_and(|(instant, time)| within(instant.elapsed()) && time.elapsed().is_ok_and(within))
    }

    /// Whether a replica has a lease right now.
    pub(crate) async fn has_lease(&self, id: &str, limits: &Limits) -> Result<bool, Unavailable> {
        let name = lease_of(id);
        Ok(with_timeout(limits.store_timeout, "read lease", self.leases.holder(&name)).await?.is_some())
    }

    /// Waits until another replica has died: its lease was away for longer than a replica needs to take it again when the
    /// store itself was away. However many wait for a replica, the store is asked ten times per lease at most.
    pub(crate) async fn death_of(&self, id: &str, limits: &Limits) {
        while !self.is_dead(id, limits).await {
            sleep(limits.replica_lease / 10).await;
        }
    }

    /// Whether another replica has died, as far as is known now. Ask again within a lease.
    pub(crate) async fn is_dead(&self, id: &str, limits: &Limits) -> bool {
        let (lease, now) = (limits.replica_lease, Instant::now());
        let dead = |sighting: &Sighting| sighting.absent_since.is_some_and(|since| since.elapsed() >= lease / 5);
        let before = {
            let mut others = self.others();
            if others.len() >= REMEMBERED {
                others.retain(|_, sighting| sighting.looked.elapsed() < lease);
            }
            let before = others.get(id).copied();
            if let Some(before) = before.filter(|before| before.looked.elapsed() < lease / 12) {
                return dead(&before);
            }
            let absent_since = before.and_then(|before| before.absent_since);
            others.insert(id.into(), Sighting { looked: now, absent_since });
            // Not looked for in a while: it may have been back in the meantime.
            absent_since.filter(|_| before.is_some_and(|before| before.looked.elapsed() < lease))
        };
        let absent_since = match quietly(limits.store_timeout, self.leases.holder(&lease_of(id))).await {
            Ok(None) => Some(before.unwrap_or(now)),
            // Without the store nobody can renew a lease.
            Ok(Some(_)) | Err(Unavailable) => None,
        };
        let sighting = Sighting { looked: Instant::now(), absent_since };
        self.others().insert(id.into(), sighting);
        dead(&sighting)
    }
}

/// The name of a replica's lease.
fn lease_of(replica: &str) -> String {
    format!("replica.{replica}")
}

/// Renews the lease for as long as the replica is used.
async fn beat(replica: Weak<Replica>, lease: Duration, store_timeout: Duration) {
    let mut failing = false;
    loop {
        // After a failure soon again: others wait for a while after the store is back, and no longer.
        sleep(if failing { lease / 20 } else { lease * 3 / 10 }).await;
        let Some(replica) = replica.upgrade() else { return };
        let (name, now) = (lease_of(&replica.id), (Instant::now(), SystemTime::now()));
        let renewed =
            quietly(store_timeout.min(lease / 3), replica.leases.acquire(&name, &replica.id, None, lease)).await;
        match (renewed.is_err(), failing) {
            (true, false) => tracing::warn!("the lease of this replica cannot be renewed; others may take it for dead"),
            (false, true) => tracing::info!("the lease of this replica is renewed again"),
            _ => {}
        }
        if renewed.is_ok() {
            *lock(&replica.renewed) = Some(now);
        }
        failing = renewed.is_err();
    }
}

impl fmt::Debug for Replica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replica").field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use tokio::time::timeout;

    use super::*;
    use crate::store::{LeaseStore, MemoryLeases};

    /// A store that can be away.
    #[derive(Debug, Default)]
    struct Leases {
        store: MemoryLeases,
        away: AtomicBool,
    }

    impl Leases {
        fn works(&self) -> io::Result<()> {
            if self.away.load(Ordering::SeqCst) { Err(io::ErrorKind::NotConnected.into()) } else { Ok(()) }
        }
    }

    impl LeaseStore for Leases {
        async fn acquire(&self, name: &str, holder: &str, from: Option<&str>, ttl: Duration) -> io::Result<String> {
            self.works()?;
            LeaseStore::acquire(&self.store, name, holder, from, ttl).await
        }

        async fn release(&self, name: &str, holder: &str) -> io::Result<()> {
            self.works()?;
            LeaseStore::release(&self.store, name, holder).await
        }

        async fn holder(&self, name: &str) -> io::Result<Option<String>> {
            self.works()?;
            LeaseStore::holder(&self.store, name).await
        }
    }

    async fn pair(leases: &Arc<Leases>, limits: &Limits) -> (Arc<Replica>, Replica) {
        let replica = || Replica::new(Arc::clone(leases) as Arc<dyn DynLeaseStore>).unwrap();
        let one = Arc::new(replica());
        one.live(limits).await.unwrap();
        (one, replica())
    }

    #[tokio::test(start_paused = true)]
    async fn replica_is_dead_within_15_seconds_and_not_before() {
        let (leases, limits) = (Arc::default(), Limits::default());
        let (one, other) = pair(&leases, &limits).await;
        let id = one.id.clone();
        assert!(timeout(Duration::from_secs(2 * 60), other.death_of(&id, &limits)).await.is_err(), "it lives");
        drop(one);
        let died = Instant::now();
        other.death_of(&id, &limits).await;
        assert!(died.elapsed() < Duration::from_secs(15), "{:?}", died.elapsed());
        assert!(!other.has_lease(&id, &limits).await.unwrap());
        // Somebody who asks later is told soon.
        sleep(Duration::from_secs(60)).await;
        timeout(Duration::from_secs(4), other.death_of(&id, &limits)).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn store_that_was_away_kills_nobody() {
        let (leases, limits) = (Arc::<Leases>::default(), Limits::default());
        let (one, other) = pair(&leases, &limits).await;
        let outages = async {
            for seconds in [1, 5, 15, 60] {
                leases.away.store(true, Ordering::SeqCst);
                sleep(Duration::from_secs(seconds)).await;
                leases.away.store(false, Ordering::SeqCst);
                sleep(Duration::from_secs(20)).await;
            }
        };
        tokio::select! {
            () = other.death_of(&one.id, &limits) => panic!("it lives"),
            () = outages => {}
        }
    }
}
