//! Leases that this replica gives up. They are released in the background, and again until the store has heard of it: a
//! lease that stays behind would be held for as long as this replica lives.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::store::{DynLeaseStore, quietly};
use crate::sync::{lock, spawn, until};

/// The releases that wait while the store is away. Beyond that, the oldest are left to the death of this replica.
const WAITING: usize = 4096;
/// The pauses between tries.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The leases that this replica gives up.
pub(super) struct Releases {
    leases: Arc<dyn DynLeaseStore>,
    waiting: Mutex<Waiting>,
    /// Notified when nothing waits any more.
    done: Notify,
}

/// What is still to be released, and whether a task does that.
#[derive(Debug, Default)]
struct Waiting {
    leases: VecDeque<Release>,
    is_working: bool,
}

#[derive(Debug)]
struct Release {
    name: Arc<str>,
    holder: Arc<str>,
    /// When the lease ends by itself.
    until: Instant,
}

impl Releases {
    pub(super) fn new(leases: Arc<dyn DynLeaseStore>) -> Arc<Self> {
        Arc::new(Releases { leases, waiting: Mutex::default(), done: Notify::new() })
    }

    /// Waits until the store has heard of every release.
    pub(super) async fn done(&self) {
        until(&self.done, || !lock(&self.waiting).is_working).await;
    }

    /// Gives up a lease that ends by itself after `ttl`.
    pub(super) fn add(self: &Arc<Self>, name: Arc<str>, holder: Arc<str>, ttl: Duration, store_timeout: Duration) {
        // A process that ends has no runtime any more, and no lease soon.
        if Handle::try_current().is_err() {
            return;
        }
        let now = Instant::now();
        let until = now.checked_add(ttl).unwrap_or(now);
        let mut waiting = lock(&self.waiting);
        if waiting.leases.len() >= WAITING {
            waiting.leases.pop_front();
        }
        waiting.leases.push_back(Release { name, holder, until });
        if !std::mem::replace(&mut waiting.is_working, true) {
            spawn(work(Arc::downgrade(self), store_timeout));
        }
    }

    /// The oldest release, if there is one. Otherwise nobody works from now on.
    fn next(&self) -> Option<Release> {
        let mut waiting = lock(&self.waiting);
        let next = waiting.leases.pop_front();
        waiting.is_working = next.is_some();
        drop(waiting);
        if next.is_none() {
            self.done.notify_waiters();
        }
        next
    }

    fn retry(&self, release: Release) {
        let mut waiting = lock(&self.waiting);
        if waiting.leases.len() < WAITING {
            waiting.leases.push_front(release);
        }
    }
}

/// Releases what waits, one after the other, until nothing does.
async fn work(releases: Weak<Releases>, store_timeout: Duration) {
    let mut pause = FIRST_PAUSE;
    loop {
        {
            let Some(releases) = releases.upgrade() else { return };
            let Some(release) = releases.next() else { return };
            if release.until <= Instant::now() {
                continue;
            }
            if quietly(store_timeout, releases.leases.release(&release.name, &release.holder)).await.is_ok() {
                pause = FIRST_PAUSE;
                continue;
            }
            releases.retry(release);
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
