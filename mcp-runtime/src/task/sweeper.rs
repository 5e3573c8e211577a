//! Removes expired tasks from the store when they expire, so that nothing is kept for longer than it was promised.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::server::core::Core;
use crate::store::with_timeout;
use crate::sync::{lock, spawn};

/// How often the store is swept at least: another replica may have left expired tasks.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// The time between two sweeps, in which the tasks that expire are removed together.
const SHORTEST_WAIT: Duration = Duration::from_millis(50);

/// When the store is swept next.
#[derive(Debug, Default)]
pub(super) struct Sweeper {
    state: Mutex<SweeperState>,
    /// Notified when the next sweep is sooner than it was.
    sooner: Notify,
}

#[derive(Debug, Default)]
struct SweeperState {
    started: bool,
    next: Option<Instant>,
}

impl Sweeper {
    /// Sweeps when this time to live is over. The first call starts a Tokio task, which ends with the server.
    pub(super) fn expect(self: &Arc<Self>, core: &Arc<Core>, ttl: Duration) {
        self.plan(ttl);
        if !std::mem::replace(&mut lock(&self.state).started, true) {
            let (sweeper, core) = (Arc::clone(self), Arc::downgrade(core));
            spawn(async move { sweeper.run(core).await });
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

    async fn run(&self, core: Weak<Core>) {
        loop {
            let next = lock(&self.state).next;
            tokio::select! {
                () = self.sooner.notified() => continue,
                () = tokio::time::sleep_until(next.unwrap_or_else(|| Instant::now() + LONGEST_WAIT)) => {}
            }
            let Some(core) = core.upgrade() else { return };
            lock(&self.state).next = None;
            let swept = with_timeout(core.limits.store_timeout, "tasks", core.tasks.store.sweep()).await;
            self.plan(swept.ok().flatten().unwrap_or(LONGEST_WAIT));
        }
    }
}
