//! The task store in memory, the default of a server.
//!
//! Only `list` and `held_by` look at all tasks. The cost of the other operations does not grow with their number: expired tasks are
//! found by their expiry, evicted ones by the rank of their account. What finished tasks keep is bounded in bytes, too:
//! running ones hold a part of the server's memory budget, but results wait for a client that may never fetch them.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use std::{fmt, io};

use tokio::time::Instant;

use crate::sort;
use crate::store::sweeper::{Expiring, Sweep, shrink};
use crate::store::{TaskLimit, TaskQuota, TaskRecord, TaskStore};
use crate::sync::lock;

/// The bytes of all finished tasks. Over it the next ones are evicted, but for the newest.
const FINISHED_BYTES: usize = 32 * 1024 * 1024;

/// A [`TaskStore`] in memory, the default. [`Limits::tasks`](crate::Limits::tasks) bounds its size. Finished tasks keep 32
/// MiB at most; those over it are evicted, fetched ones first.
#[derive(Default)]
pub struct MemoryTasks(Mutex<TaskTable>);

struct TaskTable {
    tasks: HashMap<Arc<str>, StoredTask>,
    /// The tasks that expire, the next one first, by the time of the table's clock.
    expiry: Queue,
    accounts: HashMap<AccountName, Account>,
    /// The accounts with finished tasks; the one that loses the next task is last.
    ranking: Queue,
    /// The bytes of finished tasks.
    bytes: usize,
    /// When the table's clock was started.
    started: Instant,
}

struct StoredTask {
    record: TaskRecord,
    account: AccountName,
    /// By the table's clock; `None` if it is beyond its range.
    expires: Option<u64>,
    /// What it keeps, if it has finished.
    bytes: usize,
}

type AccountName = Option<Arc<str>>;

/// Tasks or accounts in an order. One type for all of them: each would have its own 10 KB of a server.
type Queue = BTreeSet<Place>;

/// A place in a queue: by rank, then by name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    rank: [u64; 3],
    /// The id of a task, or an account.
    name: Option<Arc<str>>,
}

impl Place {
    /// Of a task that expires at this time.
    fn expiry(time: u64, id: &Arc<str>) -> Self {
        Place { rank: [time, 0, 0], name: Some(Arc::clone(id)) }
    }

    /// Of a task in the order of eviction, if it has finished: those that were fetched go first, then the oldest.
    fn finished(id: &Arc<str>, task: &TaskRecord) -> Option<Self> {
        let rank = [u64::from(!task.is_spent()), task.created_ms, 0];
        task.status.is_over().then(|| Place { rank, name: Some(Arc::clone(id)) })
    }

    /// Of an account that loses `next` when it has to lose a task: by whether that is spent, how many tasks it has, and
    /// how old that is.
    fn account(name: &AccountName, tasks: usize, next: &Place) -> Self {
        let [unfetched, created_ms, _] = next.rank;
        Place { rank: [1 - unfetched, tasks as u64, u64::MAX - created_ms], name: name.clone() }
    }
}

#[derive(Default)]
struct Account {
    tasks: usize,
    /// The finished tasks; the one that is evicted next is first.
    finished: Queue,
}

impl Account {
    /// Its place among the accounts that can lose a task.
    fn place(&self, name: &AccountName) -> Option<Place> {
        self.finished.first().map(|next| Place::account(name, self.tasks, next))
    }

    /// The task it loses next, but for `kept`.
    fn next(&self, kept: &str) -> Option<Arc<str>> {
        self.finished.iter().filter_map(|place| place.name.as_ref()).find(|id| &***id != kept).cloned()
    }
}

/// What a task keeps, if it has finished.
fn finished_bytes(task: &TaskRecord) -> usize {
    if task.status.is_over() { task.retained_bytes() } else { 0 }
}

impl Default for TaskTable {
    fn default() -> Self {
        let (tasks, accounts) = (HashMap::new(), HashMap::new());
        TaskTable { tasks, expiry: Queue::new(), accounts, ranking: Queue::new(), bytes: 0, started: Instant::now() }
    }
}

impl TaskTable {
    /// The time of the table's clock, so much later than now: nanoseconds since it was started. `None` if that is beyond
    /// its range of some centuries.
    fn time(&self, later: Duration) -> Option<u64> {
        self.started.elapsed().checked_add(later).and_then(|time| u64::try_from(time.as_nanos()).ok())
    }

    fn now(&self) -> u64 {
        self.time(Duration::ZERO).unwrap_or(u64::MAX)
    }

    /// Changes an account, and its place among the others with it.
    fn account(&mut self, name: &AccountName, change: &mut dyn FnMut(&mut Account)) {
        let account = self.accounts.entry(name.clone()).or_default();
        let before = account.place(name);
        change(account);
        let (after, is_empty) = (account.place(name), account.tasks == 0);
        move_place(&mut self.ranking, before.as_ref(), after);
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
        let expires = self.time(ttl);
        move_place(&mut self.expiry, None, expires.map(|time| Place::expiry(time, &id)));
        self.account(&account, &mut |account| {
            account.tasks += 1;
            move_place(&mut account.finished, None, Place::finished(&id, record));
        });
        let bytes = finished_bytes(record);
        self.bytes += bytes;
        self.tasks.insert(id, StoredTask { record: record.clone(), account, expires, bytes });
    }

    fn remove(&mut self, id: &str) {
        let Some((id, task)) = self.tasks.remove_entry(id) else { return };
        self.bytes -= task.bytes;
        let place = Place::finished(&id, &task.record);
        self.account(&task.account, &mut |account| {
            account.tasks -= 1;
            move_place(&mut account.finished, place.as_ref(), None);
        });
        move_place(&mut self.expiry, task.expires.map(|time| Place::expiry(time, &id)).as_ref(), None);
    }

    /// Replaces the record of a task. The account stays that of its creation.
    fn replace(&mut self, id: &str, record: &TaskRecord) {
        let Some((id, task)) = self.tasks.get_key_value(id) else { return };
        let (id, name) = (Arc::clone(id), task.account.clone());
        let (before, after) = (Place::finished(&id, &task.record), Place::finished(&id, record));
        if before != after {
            self.account(&name, &mut |account| {
                move_place(&mut account.finished, before.as_ref(), after.clone());
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
            let mut accounts = self.ranking.iter().rev().filter_map(|place| self.accounts.get(&place.name));
            let Some(next) = accounts.find_map(|account| account.next(newest)) else { return };
            self.remove(&next);
        }
    }

    fn remove_expired(&mut self) {
        let now = self.now();
        while let Some(Place { rank: [expires, ..], name: Some(id) }) = self.expiry.first()
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
                (TaskLimit::Total, self.ranking.last().and_then(|greediest| self.accounts.get(&greediest.name)))
            } else {
                return Ok(());
            };
            let next = next.and_then(|account| account.finished.first()?.name.clone());
            self.remove(&next.ok_or(limit)?);
        }
    }
}

/// Moves something to another place of a queue, into it, or out of it.
fn move_place(queue: &mut Queue, before: Option<&Place>, after: Option<Place>) {
    if before == after.as_ref() {
        return;
    }
    if let Some(before) = before {
        queue.remove(before);
    }
    if let Some(after) = after {
        queue.insert(after);
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
        let own: Vec<&TaskRecord> = own.collect();
        let age = |task: usize| (own[task].created_ms, &own[task].id);
        Ok(sort::order(own.len(), &|one, other| age(one).cmp(&age(other)))
            .into_iter()
            .map(|at| own[at].clone())
            .collect())
    }

    async fn holders(&self) -> io::Result<Vec<String>> {
        let table = self.live();
        let holders: BTreeSet<&str> = table.tasks.values().filter_map(|task| task.record.holder()).collect();
        Ok(holders.into_iter().map(str::to_owned).collect())
    }

    async fn held_by(&self, holder: &str, limit: usize) -> io::Result<Vec<TaskRecord>> {
        let table = self.live();
        let held = table.tasks.values().map(|task| &task.record).filter(|task| task.holder() == Some(holder));
        Ok(held.take(limit).cloned().collect())
    }

    async fn sweep(&self) -> io::Result<Option<Duration>> {
        let mut table = self.live();
        shrink(&mut table.tasks);
        Ok(table.expiry.first().map(|next| Duration::from_nanos(next.rank[0].saturating_sub(table.now()))))
    }
}

/// As the default store, which no other replica writes to: it is swept when a task expires, and not in between.
impl Expiring for MemoryTasks {
    fn remove_expired(&self, _: Duration) -> Sweep<'_> {
        Box::pin(async { TaskStore::sweep(self).await.ok().flatten() })
    }
}

/// Omits the task ids, which are secrets. Counts what is held, expired or not.
impl fmt::Debug for MemoryTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTasks").field("tasks", &lock(&self.0).tasks.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
