//! This replica, as others know it: an id, and a lease that says that it lives.
//!
//! One lease per process is renewed, however many streams it writes: what a replica holds has its id, and whoever wants to
//! know asks whether that replica lives. The lease begins with the first stream that others may ask about.

mod releases;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, sleep, timeout};

use self::releases::Releases;
use super::{DynLeaseStore, Unavailable, quietly, with_timeout};
use crate::error::PAGE;
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
    lease: Mutex<OwnLease>,
    /// Whether this replica looks for tasks of others that have died.
    pub(crate) is_looking: AtomicBool,
    /// What is known of other replicas that somebody here waits for.
    others: Mutex<HashMap<Box<str>, Sighting>>,
    /// The leases it gives up.
    releases: Arc<Releases>,
}

/// What this replica knows of its own lease.
#[derive(Debug, Default)]
struct OwnLease {
    /// When it was last taken or renewed.
    renewed: Option<Moment>,
    /// How often it was renewed too late, so that another replica may have taken this one for dead.
    lapses: u64,
}

/// A time by two clocks: each may stand still while the machine does.
#[derive(Debug, Clone, Copy)]
struct Moment(Instant, SystemTime);

impl Moment {
    fn now() -> Self {
        Moment(Instant::now(), SystemTime::now())
    }

    fn is_within(&self, lease: Duration) -> bool {
        self.0.elapsed() < lease && self.1.elapsed().is_ok_and(|elapsed| elapsed < lease)
    }
}

/// What is known of another replica.
#[derive(Debug, Clone, Copy)]
struct Sighting {
    /// When the store was last asked, perhaps without an answer yet.
    asked: Instant,
    /// When it last answered.
    looked: Instant,
    /// The first of its answers that said that the replica has no lease.
    absent_since: Option<Instant>,
}

impl Sighting {
    /// Whether the replica was away for so long that it has died: as the store said, not as time goes by since.
    fn is_dead(&self, lease: Duration) -> bool {
        self.absent_since.is_some_and(|since| self.looked.duration_since(since) >= lease / 5)
    }
}

impl Replica {
    pub(crate) fn new(leases: Arc<dyn DynLeaseStore>) -> std::io::Result<Self> {
        Ok(Replica {
            id: random::id()?.into(),
            releases: Releases::new(Arc::clone(&leases)),
            leases,
            beating: AtomicBool::new(false),
            lease: Mutex::default(),
            is_looking: AtomicBool::new(false),
            others: Mutex::default(),
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
        let (name, now) = (lease_of(&self.id), Moment::now());
        let acquire = self.leases.acquire(&name, &self.id, None, limits.replica_lease);
        with_timeout(limits.store_timeout, "acquire lease", acquire).await?;
        self.renewed(now, limits.replica_lease);
        Ok(())
    }

    /// Gives up a lease that ends by itself after `ttl`. Returns at once; the store is told in the background.
    pub(crate) fn release(&self, name: Arc<str>, holder: Arc<str>, ttl: Duration, store_timeout: Duration) {
        self.releases.add(name, holder, ttl, store_timeout);
    }

    /// Waits until the store has heard of the leases that were given up, for as long as an operation may take.
    pub(crate) async fn released(&self, store_timeout: Duration) {
        let _ = timeout(store_timeout, self.releases.done()).await;
    }

    /// How often the lease has lapsed, if this replica certainly has it now. While that number stays the same, no other
    /// replica takes what this one holds.
    pub(crate) fn certainty(&self, limits: &Limits) -> Option<u64> {
        let lease = lock(&self.lease);
        lease.renewed.is_some_and(|renewed| renewed.is_within(limits.replica_lease)).then_some(lease.lapses)
    }

    /// How often the lease has lapsed.
    pub(crate) fn lapses(&self) -> u64 {
        lock(&self.lease).lapses
    }

    /// The lease was taken or renewed, by an operation that began at this time.
    fn renewed(&self, began: Moment, lease: Duration) {
        let mut own = lock(&self.lease);
        own.lapses += u64::from(own.renewed.is_some_and(|before| !before.is_within(lease)));
        own.renewed = Some(began);
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
        let absent_since = {
            let mut others = self.others();
            if others.len() >= REMEMBERED {
                others.retain(|_, sighting| sighting.asked.elapsed() < lease);
            }
            // Not looked for in a while: it may have been back in the meantime.
            let before = others.get(id).copied().filter(|before| before.looked.elapsed() < lease);
            if let Some(before) = before.filter(|before| before.asked.elapsed() < lease / 12) {
                return before.is_dead(lease);
            }
            let absent_since = before.and_then(|before| before.absent_since);
            let looked = before.map_or(now, |before| before.looked);
            others.insert(id.into(), Sighting { asked: now, looked, absent_since });
            absent_since
        };
        let absent_since = match quietly(limits.store_timeout, self.leases.holder(&lease_of(id))).await {
            Ok(None) => Some(absent_since.unwrap_or(now)),
            // Without the store nobody can renew a lease.
            Ok(Some(_)) | Err(Unavailable) => None,
        };
        let looked = Instant::now();
        let sighting = Sighting { asked: looked, looked, absent_since };
        self.others().insert(id.into(), sighting);
        sighting.is_dead(lease)
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
        let (name, now) = (lease_of(&replica.id), Moment::now());
        let renewed =
            quietly(store_timeout.min(lease / 3), replica.leases.acquire(&name, &replica.id, None, lease)).await;
        match (renewed.is_err(), failing) {
            (true, false) => tracing::warn!(
                "the lease of this replica cannot be renewed; others may take it for dead; \
                 see {PAGE}#a-replica-that-counts-as-dead"
            ),
            (false, true) => tracing::info!("the lease of this replica is renewed again"),
            _ => {}
        }
        if renewed.is_ok() {
            replica.renewed(now, lease);
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
            // a round trip
            sleep(Duration::from_millis(1)).await;
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
    #[tokio::test(start_paused = true)]
    async fn replica_that_is_back_is_dead_for_nobody() {
        let (leases, limits) = (Arc::<Leases>::default(), Limits::default());
        for pause in [8, 11, 60] {
            let (one, other) = pair(&leases, &limits).await;
            LeaseStore::release(&*leases, &lease_of(&one.id), &one.id).await.unwrap();
            assert!(!other.is_dead(&one.id, &limits).await, "it may have lost its lease for a moment");
            one.renew(&limits).await.unwrap();
            sleep(Duration::from_secs(pause)).await;
            // Several ask at the same time, and the store once.
            let ask = || other.is_dead(&one.id, &limits);
            assert_eq!(tokio::join!(ask(), ask(), ask()), (false, false, false), "after {pause} s");
        }
    }
    /// After a lapse the lease is certain again, but what it guarded may be another's by now.
    #[tokio::test(start_paused = true)]
    async fn lease_that_lapsed_is_another_one() {
        let (leases, limits) = (Arc::<Leases>::default(), Limits::default());
        let (one, _) = pair(&leases, &limits).await;
        for (outage, lapses) in [(Duration::from_secs(5), 0), (Duration::from_secs(15), 1)] {
            leases.away.store(true, Ordering::SeqCst);
            sleep(outage).await;
            assert_eq!(one.certainty(&limits).is_some(), lapses == 0, "while the store is away for {outage:?}");
            leases.away.store(false, Ordering::SeqCst);
            sleep(Duration::from_secs(4)).await;
            assert_eq!(one.certainty(&limits), Some(lapses), "after {outage:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn leases_are_released_when_the_store_is_back() {
        let (leases, limits) = (Arc::<Leases>::default(), Limits::default());
        let (one, _) = pair(&leases, &limits).await;
        LeaseStore::acquire(&*leases, "stream", "holder", None, Duration::from_secs(600)).await.unwrap();
        leases.away.store(true, Ordering::SeqCst);
        one.release("stream".into(), "holder".into(), Duration::from_secs(600), limits.store_timeout);
        one.released(limits.store_timeout).await;
        leases.away.store(false, Ordering::SeqCst);
        assert!(LeaseStore::holder(&*leases, "stream").await.unwrap().is_some());
        one.released(Duration::from_secs(5)).await;
        assert!(LeaseStore::holder(&*leases, "stream").await.unwrap().is_none());
    }
}
