//! The task store in memory, the default of a server.
//!
//! Only `list` looks at all tasks. The cost of the other operations does not grow with their number: expired tasks are
//! found by their expiry, evicted ones by the rank of their account. What finished tasks keep is bounded in bytes, too:
//! running ones hold a part of the server's memory budget, but results wait for a client that may never fetch them.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use std::{fmt, io};

use tokio::time::Instant;

use crate::store::sweeper::{Expiring, Sweep, shrink};
use crate::store::{TaskLimit, TaskQuota, TaskRecord, TaskStore};
use crate::sync::lock;

/// The bytes of all finished tasks. Over it the next ones are evicted, but for the newest.
const FINISHED_BYTES: usize = 32 * 1024 * 1024;

/// A [`TaskStore`] in memory, the default. [`Limits::tasks`](crate::Limits::tasks) bounds its size. Finished tasks keep 32
/// MiB at most; those over it are evicted, fetched ones first.
#[derive(Default)]
pub struct MemoryTasks(Mutex<TaskTable>);

#[derive(Default)]
struct TaskTable {
    tasks: HashMap<Arc<str>, StoredTask>,
    /// The tasks that expire, the next one first.
    expiry: BTreeSet<(Instant, Arc<str>)>,
    accounts: HashMap<AccountName, Account>,
    /// The accounts with finished tasks; the one that loses the next task is last.
    ranking: BTreeSet<(Rank, AccountName)>,
    /// The bytes of finished tasks.
    bytes: usize,
}

struct StoredTask {
    record: TaskRecord,
    account: AccountName,
    /// `None` if it is beyond the range of the clock.
    expires: Option<Instant>,
    /// What it keeps, if it has finished.
    bytes: usize,
}

type AccountName = Option<Arc<str>>;

#[derive(Default)]
struct Account {
    tasks: usize,
    /// The finished tasks; the one that is evicted next is first.
    finished: BTreeSet<Finished>,
}

/// A finished task in the order of eviction.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Finished {
    unfetched: bool,
    created_ms: u64,
    id: Arc<str>,
}

/// The rank of an account: whether its next task is spent, how many tasks it has, and how old its next task is.
type Rank = (bool, usize, Reverse<u64>);

impl Account {
    fn rank(&self) -> Option<Rank> {
        self.finished.first().map(|next| (!next.unfetched, self.tasks, Reverse(next.created_ms)))
    }
}

/// The place of a task among the finished ones, if it has finished.
fn finished(id: &Arc<str>, task: &TaskRecord) -> Option<Finished> {
    let (unfetched, created_ms) = (!task.is_spent(), task.created_ms);
    task.status.is_over().then(|| Finished { unfetched, created_ms, id: Arc::clone(id) })
}

/// What a task keeps, if it has finished.
fn finished_bytes(task: &TaskRecord) -> usize {
    if task.status.is_over() { task.retained_bytes() } else { 0 }
}

impl TaskTable {
    /// Changes an account, and its rank with it.
    fn account(&mut self, name: &AccountName, change: impl FnOnce(&mut Account)) {
        let account = self.accounts.entry(name.clone()).or_default();
        let before = account.rank();
        change(account);
        let (after, is_empty) = (account.rank(), account.tasks == 0);
        if before != after {
            if let Some(rank) = before {
                self.ranking.remove(&(rank, name.clone()));
            }
            self.ranking.extend(after.map(|rank| (rank, name.clone())));
        }
        if is_empty {
            self.accounts.remove(name);
        }
    }

    fn insert(&mut self, record: &TaskRecord, ttl: Duration) {
        let id: Arc<str> = record.id.as_str().into();
        self.remove(&id);
        let name = record.account.as_deref();
        // Shared with the tasks that the account has already.
        let known = self.accounts.get_key_value(&name.map(Arc::from)).map(|(known, _)| known.clone());
        let account = known.unwrap_or_else(|| name.map(Arc::from));
        let expires = Instant::now().checked_add(ttl);
        self.expiry.extend(expires.map(|expires| (expires, Arc::clone(&id))));
        self.account(&account, |account| {
            account.tasks += 1;
            account.finished.extend(finished(&id, record));
        });
        let bytes = finished_bytes(record);
        self.bytes += bytes;
        self.tasks.insert(id, StoredTask { record: record.clone(), account, expires, bytes });
    }

    fn remove(&mut self, id: &str) {
        let Some((id, task)) = self.tasks.remove_entry(id) else { return };
        self.bytes -= task.bytes;
        let place = finished(&id, &task.record);
        self.account(&task.account, |account| {
            account.tasks -= 1;
            if let Some(place) = &place {
                account.finished.remove(place);
            }
        });
        if let Some(expires) = task.expires {
            self.expiry.remove(&(expires, id));
        }
    }

    /// Replaces the record of a task. The account stays that of its creation.
    fn replace(&mut self, id: &str, record: &TaskRecord) {
        let Some((id, task)) = self.tasks.get_key_value(id) else { return };
        let (id, name) = (Arc::clone(id), task.account.clone());
        let (before, after) = (finished(&id, &task.record), finished(&id, record));
        if before != after {
            self.account(&name, |account| {
                if let Some(place) = &before {
                    account.finished.remove(place);
                }
                account.finished.extend(after);
            });
        }
        if let Some(task) = self.tasks.get_mut(&id) {
            let bytes = finished_bytes(record);
            self.bytes = self.bytes - task.bytes + bytes;
            task.bytes = bytes;
            task.record = record.clone();
        }
        self.trim(&id);
    }

    /// Evicts finished tasks, but not `newest`, until the others fit.
    fn trim(&mut self, newest: &str) {
        while self.bytes > FINISHED_BYTES {
            let mut next = self.ranking.iter().rev().filter_map(|(_, name)| self.accounts.get(name));
            let next = next.find_map(|account| account.finished.iter().find(|task| &*task.id != newest));
            let Some(id) = next.map(|next| Arc::clone(&next.id)) else { return };
            self.remove(&id);
        }
    }

    fn remove_expired(&mut self) {
        let now = Instant::now();
        while let Some((expires, id)) = self.expiry.first()
            && *expires <= now
        {
            let id = Arc::clone(id);
            self.remove(&id);
        }
    }

    /// Makes room for one more task of an account, as [`TaskQuota::make_room`] describes.
    fn make_room(&mut self, name: Option<&str>, quota: TaskQuota) -> Result<(), TaskLimit> {
        let name: AccountName = name.map(Arc::from);
        loop {
            let own = self.accounts.get(&name);
            let (limit, next) = if name.is_some() && own.map_or(0, |own| own.tasks) >= quota.per_account {
                (TaskLimit::PerAccount, own)
            } else if self.tasks.len() >= quota.total {
                (TaskLimit::Total, self.ranking.last().and_then(|(_, greediest)| self.accounts.get(greediest)))
            } else {
                return Ok(());
            };
            let next = next.and_then(|account| account.finished.first()).map(|next| Arc::clone(&next.id));
            self.remove(&next.ok_or(limit)?);
        }
    }
}

impl MemoryTasks {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// The tasks that have not expired.
    fn live(&self) -> MutexGuard<'_, TaskTable> {
        let mut table = lock(&self.0);
        table.remove_expired();
        table
    }
}

impl TaskStore for MemoryTasks {
    async fn create(&self, task: &TaskRecord, ttl: Duration, quota: TaskQuota) -> io::Result<Result<(), TaskLimit>> {
        let mut table = self.live();
        Ok(table.make_room(task.account.as_deref(), quota).map(|()| table.insert(task, ttl)))
    }

    async fn load(&self, id: &str) -> io::Result<Option<TaskRecord>> {
        Ok(self.live().tasks.get(id).map(|task| task.record.clone()))
    }

    async fn update(&self, task: &TaskRecord) -> io::Result<bool> {
        let mut table = self.live();
        let fits = table.tasks.get(&*task.id).is_some_and(|stored| stored.record.version + 1 == task.version);
        if fits {
            table.replace(&task.id, task);
        }
        Ok(fits)
    }

    async fn list(&self, owner: Option<&str>) -> io::Result<Vec<TaskRecord>> {
        let table = self.live();
        let own = table.tasks.values().map(|task| &task.record).filter(|task| task.owner.as_deref() == owner);
        let mut own: Vec<&TaskRecord> = own.collect();
        // Ids are unique, so there are no equals whose order a stable sort would keep.
        own.sort_unstable_by(|one, other| by_age(one, other));
        Ok(own.into_iter().cloned().collect())
    }

    async fn sweep(&self) -> io::Result<Option<Duration>> {
        let mut table = self.live();
        shrink(&mut table.tasks);
        Ok(table.expiry.first().map(|(expires, _)| expires.saturating_duration_since(Instant::now())))
    }
}

/// As the default store, which no other replica writes to: it is swept when a task expires, and not in between.
impl Expiring for MemoryTasks {
    fn remove_expired(&self, _: Duration) -> Sweep<'_> {
        Box::pin(async { TaskStore::sweep(self).await.ok().flatten() })
    }
}

/// Not inlined: the sort has a copy of it for each of its comparisons, 8 KB together.
#[inline(never)]
fn by_age(one: &TaskRecord, other: &TaskRecord) -> Ordering {
    (one.created_ms, &one.id).cmp(&(other.created_ms, &other.id))
}

/// Omits the task ids, which are secrets. Counts what is held, expired or not.
impl fmt::Debug for MemoryTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTasks").field("tasks", &lock(&self.0).tasks.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
