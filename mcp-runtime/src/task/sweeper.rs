//! Removes expired tasks from the store when they expire, so that nothing is kept for longer than it was promised.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::store::{DynTaskStore, with_timeout};
use crate::sync::{lock, spawn};

/// How often the store is swept at least: another replica may have left expired tasks.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// The time between two sweeps, in which the tasks that expire are removed together.
const SHORTEST_WAIT: Duration = Duration::from_millis(50);

/// Sweeps a store, and knows when to do so next.
#[derive(Debug)]
pub(super) struct Sweeper {
    store: Arc<dyn DynTaskStore>,
    state: Mutex<SweeperState>,
    /// Notified when the next sweep is sooner than it was.
    sooner: Arc<Notify>,
}

#[derive(Debug, Default)]
struct SweeperState {
    started: bool,
    next: Option<Instant>,
}

impl Sweeper {
    pub(super) fn of(store: &Arc<dyn DynTaskStore>) -> Arc<Self> {
        Arc::new(Sweeper { store: Arc::clone(store), state: Mutex::default(), sooner: Arc::default() })
    }

    /// Sweeps when this time to live is over. The first call starts a Tokio task, which ends with the sweeper.
    pub(super) fn expect(self: &Arc<Self>, ttl: Duration, timeout: Duration) {
        self.plan(ttl);
        if !std::mem::replace(&mut lock(&self.state).started, true) {
            spawn(run(Arc::downgrade(self), Arc::clone(&self.sooner), timeout));
        }
    }

    fn plan(&self, wait: Duration) {
        let at = Instant::now() + wait.clamp(SHORTEST_WAIT, LONGEST_WAIT);
        let mut state = lock(&self.state);
        if state.next.is_none_or(|next| at < next) {
            state.next = Some(at);
            self.sooner.notify_one();
        }
    }

    async fn sweep(&self, timeout: Duration) {
        lock(&self.state).next = None;
        let swept = with_timeout(timeout, "tasks", self.store.sweep()).await;
        self.plan(swept.ok().flatten().unwrap_or(LONGEST_WAIT));
    }
}

/// Sweeps for as long as there is a sweeper.
async fn run(sweeper: Weak<Sweeper>, sooner: Arc<Notify>, timeout: Duration) {
    while let Some(next) = sweeper.upgrade().map(|sweeper| lock(&sweeper.state).next) {
        tokio::select! {
            () = sooner.notified() => continue,
            () = tokio::time::sleep_until(next.unwrap_or_else(|| Instant::now() + LONGEST_WAIT)) => {}
        }
        let Some(sweeper) = sweeper.upgrade() else { return };
        sweeper.sweep(timeout).await;
    }
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

        async fn sweep(&self) -> io::Result<Option<Duration>> {
            self.0.fetch_add(1, Ordering::SeqCst);
            panic!("the pool is poisoned");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn sweeping_goes_on_after_a_panic_of_the_store() {
        let store = Arc::new(Panicking::default());
        let sweeper = Sweeper::of(&(Arc::clone(&store) as Arc<dyn DynTaskStore>));
        sweeper.expect(Duration::from_secs(1), Duration::from_secs(1));
        tokio::time::sleep(LONGEST_WAIT * 4).await;
        assert!(store.0.load(Ordering::SeqCst) >= 3, "{store:?}");
    }
}
