//! Removes what has expired from the tables of a server when it expires, so that nothing is kept for longer than it was
//! promised, whether or not a client comes again.
//!
//! One Tokio task does so for all tables. It sleeps until the next entry expires, and without one until it is told of one.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

#[cfg(feature = "http")]
use super::{DynEventStore, DynSessionStore};
use super::{DynTaskStore, StoreFuture, with_timeout};
use crate::sync::{lock, spawn};

/// How often a store is swept at least: another replica may have left expired records.
const STORE_INTERVAL: Duration = Duration::from_secs(30);
/// The time between two sweeps of a table, in which the entries that expire are removed together.
const SHORTEST_WAIT: Duration = Duration::from_millis(50);
/// Within the range of the clock, and long enough to cost nothing.
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60);

/// A sweep: how long it is until the next entry expires, if there is one.
pub(crate) type Sweep<'a> = Pin<Box<dyn Future<Output = Option<Duration>> + Send + 'a>>;

/// A table whose entries expire.
pub(crate) trait Expiring: Send + Sync {
    /// Removes what has expired. `timeout` is for a store that may not answer.
    fn remove_expired(&self, timeout: Duration) -> Sweep<'_>;

    /// How often it is swept at least, once it has had an entry.
    fn interval(&self) -> Duration {
        LONGEST_WAIT
    }
}

/// Sweeps tables, and knows when to do so next.
#[derive(Debug)]
pub(crate) struct Sweeper {
    timeout: Duration,
    state: Mutex<SweeperState>,
    /// Notified when the next sweep is sooner than it was.
    sooner: Arc<Notify>,
}

#[derive(Debug, Default)]
struct SweeperState {
    is_running: bool,
    tables: Vec<SweptTable>,
}

struct SweptTable {
    table: Weak<dyn Expiring>,
    /// `None` while nothing expires.
    next: Option<Instant>,
}

impl Sweeper {
    /// `timeout` is how long the sweep of a store may take.
    pub(crate) fn new(timeout: Duration) -> Self {
        Sweeper { timeout, state: Mutex::default(), sooner: Arc::default() }
    }

    /// Sweeps a table when this time is over. The first call starts a Tokio task, which ends with the sweeper.
    pub(crate) fn expect(self: &Arc<Self>, table: Weak<dyn Expiring>, wait: Duration) {
        let mut state = lock(&self.state);
        if state.plan(table, Some(wait)) {
            self.sooner.notify_one();
        }
        if !std::mem::replace(&mut state.is_running, true) {
            spawn(run(Running(Arc::downgrade(self)), Arc::clone(&self.sooner)));
        }
    }

    /// Sweeps the tables whose time has come.
    async fn sweep(&self) {
        let due = lock(&self.state).take_due(Instant::now());
        for table in due {
            let Some(swept) = table.upgrade() else { continue };
            let next = swept.remove_expired(self.timeout).await;
            lock(&self.state).plan(table, next);
        }
    }
}

impl SweeperState {
    fn next(&self) -> Option<Instant> {
        self.tables.iter().filter_map(|table| table.next).min()
    }

    /// Plans a sweep, unless there is a sooner one. Returns whether it is the next of all.
    fn plan(&mut self, table: Weak<dyn Expiring>, wait: Option<Duration>) -> bool {
        let before = self.next();
        let longest = table.upgrade().map_or(LONGEST_WAIT, |table| table.interval());
        let next = wait.map(|wait| Instant::now() + wait.clamp(SHORTEST_WAIT, longest));
        match self.tables.iter_mut().find(|known| known.table.ptr_eq(&table)) {
            Some(known) => known.next = known.next.into_iter().chain(next).min(),
            None => self.tables.push(SweptTable { table, next }),
        }
        self.next() != before
    }

    /// The tables to sweep now; those that are gone are forgotten.
    fn take_due(&mut self, now: Instant) -> Vec<Weak<dyn Expiring>> {
        self.tables.retain(|table| table.table.strong_count() > 0);
        let due = self.tables.iter_mut().filter(|table| table.next.is_some_and(|next| next <= now));
        due.map(|table| {
            table.next = None;
            Weak::clone(&table.table)
        })
        .collect()
    }
}

impl fmt::Debug for SweptTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SweptTable").field("next", &self.next).finish_non_exhaustive()
    }
}

/// The Tokio task of a sweeper. If its runtime ends before the sweeper does, the next entry starts another.
struct Running(Weak<Sweeper>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(sweeper) = self.0.upgrade() {
            lock(&sweeper.state).is_running = false;
        }
    }
}

/// Sweeps for as long as there is a sweeper.
async fn run(running: Running, sooner: Arc<Notify>) {
    while let Some(next) = running.0.upgrade().map(|sweeper| lock(&sweeper.state).next()) {
        let due = async {
            match next {
                Some(next) => tokio::time::sleep_until(next).await,
                None => tokio::time::sleep(LONGEST_WAIT).await,
            }
        };
        tokio::select! {
            () = sooner.notified() => continue,
            () = due => {}
        }
        let Some(sweeper) = running.0.upgrade() else { return };
        sweeper.sweep().await;
    }
}

/// A store that the server was given, as a table. It may fail, and other replicas may write to it: it is swept at
/// intervals, too.
#[derive(Debug)]
pub(crate) struct SweptStore<S: ?Sized>(pub(crate) Arc<S>);

impl Expiring for SweptStore<dyn DynTaskStore> {
    fn remove_expired(&self, timeout: Duration) -> Sweep<'_> {
        sweep_store(timeout, "tasks", self.0.sweep())
    }

    fn interval(&self) -> Duration {
        STORE_INTERVAL
    }
}

#[cfg(feature = "http")]
impl Expiring for SweptStore<dyn DynSessionStore> {
    fn remove_expired(&self, timeout: Duration) -> Sweep<'_> {
        sweep_store(timeout, "sessions", self.0.sweep())
    }

    fn interval(&self) -> Duration {
        STORE_INTERVAL
    }
}

#[cfg(feature = "http")]
impl Expiring for SweptStore<dyn DynEventStore> {
    fn remove_expired(&self, timeout: Duration) -> Sweep<'_> {
        sweep_store(timeout, "events", self.0.sweep())
    }

    fn interval(&self) -> Duration {
        STORE_INTERVAL
    }
}

fn sweep_store<'a>(timeout: Duration, what: &'static str, sweep: StoreFuture<'a, Option<Duration>>) -> Sweep<'a> {
    Box::pin(async move {
        let swept = with_timeout(timeout, what, sweep).await.ok().flatten();
        Some(swept.unwrap_or(STORE_INTERVAL))
    })
}

/// Returns the room of a table that a load has filled and expiry has emptied. Twice its entries stay, so that a table in
/// use is not moved back and forth.
pub(crate) fn shrink<K: Eq + Hash, V>(table: &mut HashMap<K, V>) {
    table.shrink_to(table.len().max(16) * 2);
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::store::{TaskLimit, TaskQuota, TaskRecord, TaskStore};

    /// A store whose sweeps panic.
    #[derive(Debug, Default)]
    struct Panicking(AtomicUsize);

    impl TaskStore for Panicking {
        async fn create(&self, _: &TaskRecord, _: Duration, _: TaskQuota) -> io::Result<Result<(), TaskLimit>> {
            Ok(Ok(()))
        }

        async fn load(&self, _: &str) -> io::Result<Option<TaskRecord>> {
            Ok(None)
        }

        async fn update(&self, _: &TaskRecord) -> io::Result<bool> {
            Ok(false)
        }

        async fn list(&self, _: Option<&str>) -> io::Result<Vec<TaskRecord>> {
            Ok(Vec::new())
        }

        async fn holders(&self) -> io::Result<Vec<String>> {
            Ok(Vec::new())
        }

        async fn held_by(&self, _: &str, _: usize) -> io::Result<Vec<TaskRecord>> {
            Ok(Vec::new())
        }

        async fn sweep(&self) -> io::Result<Option<Duration>> {
            self.0.fetch_add(1, Ordering::SeqCst);
            panic!("the pool is poisoned");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn sweeping_goes_on_after_a_panic_of_the_store() {
        let store = Arc::new(Panicking::default());
        let sweeper = Arc::new(Sweeper::new(Duration::from_secs(1)));
        let table: Arc<dyn Expiring> = Arc::new(SweptStore(Arc::clone(&store) as Arc<dyn DynTaskStore>));
        sweeper.expect(Arc::downgrade(&table), Duration::from_secs(1));
        tokio::time::sleep(STORE_INTERVAL * 4).await;
        assert!(store.0.load(Ordering::SeqCst) >= 3, "{store:?}");
    }

    /// Counts its sweeps, and has one entry that expires after each of these.
    struct Counting(AtomicUsize, &'static [u64]);

    impl Counting {
        fn table(waits: &'static [u64]) -> Arc<Self> {
            Arc::new(Counting(AtomicUsize::new(0), waits))
        }

        fn weak(self: &Arc<Self>) -> Weak<dyn Expiring> {
            let weak: Weak<Self> = Arc::downgrade(self);
            weak
        }

        fn sweeps(&self) -> usize {
            self.0.load(Ordering::SeqCst)
        }
    }

    impl Expiring for Counting {
        fn remove_expired(&self, _: Duration) -> Sweep<'_> {
            let sweep = self.0.fetch_add(1, Ordering::SeqCst);
            let next = self.1.get(sweep).copied().map(Duration::from_secs);
            Box::pin(async move { next })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn tables_are_swept_when_their_entries_expire_and_not_otherwise() {
        let sweeper = Arc::new(Sweeper::new(Duration::from_secs(1)));
        let (often, once) = (Counting::table(&[5, 5]), Counting::table(&[]));
        sweeper.expect(often.weak(), Duration::from_secs(10 * 60));
        sweeper.expect(once.weak(), Duration::from_secs(20));
        sweeper.expect(often.weak(), Duration::from_secs(10));
        tokio::time::sleep(Duration::from_secs(12)).await;
        assert_eq!((often.sweeps(), once.sweeps()), (1, 0), "the sooner of its two expiries");
        tokio::time::sleep(Duration::from_secs(60 * 60)).await;
        assert_eq!((often.sweeps(), once.sweeps()), (3, 1), "nothing expires any more");
        sweeper.expect(once.weak(), Duration::from_secs(1));
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!((often.sweeps(), once.sweeps()), (3, 2));
        drop(once);
        sweeper.sweep().await;
        assert_eq!(lock(&sweeper.state).tables.len(), 1, "a table that is gone is forgotten");
    }

    #[test]
    fn sweeper_outlives_its_runtime() {
        let sweeper = Arc::new(Sweeper::new(Duration::from_secs(1)));
        let table = Counting::table(&[]);
        for sweeps in 1..=2 {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
            runtime.unwrap().block_on(async {
                sweeper.expect(table.weak(), Duration::from_secs(1));
                tokio::time::sleep(Duration::from_secs(2)).await;
            });
            assert_eq!(table.sweeps(), sweeps);
        }
    }

    #[test]
    fn emptied_table_returns_its_room() {
        let mut table: HashMap<u32, u32> = (0..1000).map(|number| (number, number)).collect();
        table.retain(|number, _| *number < 10);
        shrink(&mut table);
        assert!(table.len() == 10 && table.capacity() < 100, "{}", table.capacity());
    }
}
