//! The contract of task stores.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::Revision;
use mcp_runtime::store::{MemoryTasks, TaskLimit, TaskQuota, TaskRecord, TaskStatus, TaskStore};
use mcp_runtime::testing::contract;
use mcp_tests::file_stores::FileStores;

use super::{breaks_each, paused};

#[tokio::test(start_paused = true)]
async fn memory_tasks_keep_the_contract() {
    contract::tasks(MemoryTasks::new).await;
}

#[test]
fn memory_tasks_accept_one_of_parallel_updates() {
    let (store, first) = (MemoryTasks::new(), TaskRecord::new("id", Revision::LATEST, EVER));
    let mut next = first.clone();
    next.version += 1;
    super::threaded().block_on(store.create(&first, EVER, TaskQuota::UNLIMITED)).unwrap().unwrap();
    let updated = std::thread::scope(|scope| {
        let update = || super::paused().block_on(store.update(&next)).unwrap();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(update)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).filter(|updated| *updated).count()
    });
    assert_eq!(updated, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_tasks_keep_the_contract() {
    contract::tasks(FileStores::new).await;
}

/// A bug a store may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    CreatesAsynchronously,
    LosesAnswers,
    UpdatesUnknownIds,
    FoldsCase,
    UpdatesNothing,
    IgnoresVersion,
    ChecksThenWrites,
    ListsNewestFirst,
    ListsAllOwners,
    ConfusesNoOwnerWithEmpty,
    ListsStaleRecords,
    NeverExpires,
    ExtendsTtlByUpdates,
    SweepsEverything,
    SweepsTooOften,
    OverflowsLongTtls,
    IgnoresAccountLimit,
    LimitsTasksWithoutAccount,
    IgnoresTotalLimit,
    CountsThenCreates,
    CountsExpiredTasks,
    EvictsNothing,
    EvictsRunningTasks,
    IgnoresFetches,
    EvictsNewestFirst,
    EvictsOldestOfAnyAccount,
    ForgetsHolders,
    HoldsFinishedTasks,
    IgnoresHandovers,
    IgnoresTheMost,
    Hangs,
}

/// The current tasks, and the tasks as they were created: some bugs mix them up.
#[derive(Debug)]
struct Faulty {
    inner: Arc<MemoryTasks>,
    first: MemoryTasks,
    is_swept: AtomicBool,
    /// The current tasks, for the bugs in evicting.
    current: Mutex<Vec<TaskRecord>>,
    evicted: Mutex<HashSet<String>>,
    fault: Fault,
}

const EVER: Duration = Duration::from_secs(60 * 60);

impl Faulty {
    fn new(fault: Fault) -> Self {
        let (is_swept, current, evicted) = (AtomicBool::new(false), Mutex::default(), Mutex::default());
        Faulty { inner: Arc::default(), first: MemoryTasks::new(), is_swept, current, evicted, fault }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn id(&self, id: &str) -> String {
        if self.has(Fault::FoldsCase) { id.to_ascii_lowercase() } else { id.to_owned() }
    }

    fn filed(&self, task: &TaskRecord) -> TaskRecord {
        let mut task = task.clone();
        task.id = self.id(&task.id);
        if self.has(Fault::LosesAnswers) {
            task.answers.clear();
        }
        if self.has(Fault::ConfusesNoOwnerWithEmpty) {
            task.owner = task.owner.filter(|owner| !owner.is_empty());
        }
        task
    }

    /// A task as a store sees it that evicts the wrong ones.
    fn misread(&self, task: &TaskRecord, quota: TaskQuota) -> TaskRecord {
        let mut task = task.clone();
        match self.fault {
            Fault::EvictsNothing => task.status = TaskStatus::Working,
            Fault::EvictsRunningTasks => task.status = TaskStatus::Completed,
            Fault::IgnoresFetches => task.fetched = false,
            Fault::EvictsNewestFirst => task.created_ms = u64::MAX - task.created_ms,
            Fault::EvictsOldestOfAnyAccount if quota.total < usize::MAX => task.account = Some(task.id.clone()),
            _ => {}
        }
        task
    }

    /// Evicts the wrong tasks, or none. Returns the quota that is left to check.
    async fn make_room(&self, task: &TaskRecord, quota: TaskQuota) -> Result<TaskQuota, TaskLimit> {
        match self.fault {
            Fault::IgnoresAccountLimit => return Ok(TaskQuota::new(quota.total, usize::MAX)),
            Fault::IgnoresTotalLimit => return Ok(TaskQuota::new(usize::MAX, quota.per_account)),
            Fault::CountsThenCreates if task.account.is_some() => {
                let own = self.current.lock().unwrap().iter().filter(|other| other.account == task.account).count();
                tokio::task::yield_now().await;
                let rest = TaskQuota::new(quota.total, usize::MAX);
                return if own < quota.per_account { Ok(rest) } else { Err(TaskLimit::PerAccount) };
            }
            Fault::LimitsTasksWithoutAccount if task.account.is_none() && quota.per_account == 1 => {
                return Err(TaskLimit::PerAccount);
            }
            Fault::CountsExpiredTasks
            | Fault::EvictsNothing
            | Fault::EvictsRunningTasks
            | Fault::IgnoresFetches
            | Fault::EvictsNewestFirst
            | Fault::EvictsOldestOfAnyAccount => {}
            _ => return Ok(quota),
        }
        let mut known = std::mem::take(&mut *self.current.lock().unwrap());
        for task in std::mem::take(&mut known) {
            if self.has(Fault::CountsExpiredTasks) || self.inner.load(&task.id).await.unwrap().is_some() {
                known.push(task);
            }
        }
        let mut current = self.current.lock().unwrap();
        *current = known;
        let seen: Vec<_> = current.iter().map(|task| self.misread(task, quota)).collect();
        let evicted = quota.make_room(task.account.as_deref(), &seen)?;
        current.retain(|task| !evicted.contains(&task.id));
        self.evicted.lock().unwrap().extend(evicted);
        Ok(TaskQuota::UNLIMITED)
    }
}

impl TaskStore for Faulty {
    async fn create(&self, task: &TaskRecord, ttl: Duration, quota: TaskQuota) -> io::Result<Result<(), TaskLimit>> {
        if self.has(Fault::OverflowsLongTtls) && ttl.as_micros() > u128::from(u32::MAX) * 1000 {
            return Err(io::Error::other("out of range"));
        }
        let quota = match self.make_room(task, quota).await {
            Ok(quota) => quota,
            Err(limit) => return Ok(Err(limit)),
        };
        self.current.lock().unwrap().push(task.clone());
        let ttl = if self.has(Fault::NeverExpires) { EVER } else { ttl };
        let mut first = task.clone();
        first.owner = first.owner.filter(|_| !self.has(Fault::ListsAllOwners));
        let _ = self.first.create(&first, EVER, TaskQuota::UNLIMITED).await?;
        let (inner, task) = (Arc::clone(&self.inner), self.filed(task));
        if self.has(Fault::CreatesAsynchronously) {
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(20)).await;
                inner.create(&task, ttl, quota).await
            });
            return Ok(Ok(()));
        }
        inner.create(&task, ttl, quota).await
    }

    async fn load(&self, id: &str) -> io::Result<Option<TaskRecord>> {
        if self.is_swept.load(Ordering::SeqCst) || self.evicted.lock().unwrap().contains(id) {
            return Ok(None);
        }
        let mut found = self.inner.load(&self.id(id)).await?;
        if let Some(task) = &mut found {
            id.clone_into(&mut task.id);
        }
        Ok(found)
    }

    async fn update(&self, task: &TaskRecord) -> io::Result<bool> {
        let filed = self.filed(task);
        let before = self.inner.load(&filed.id).await?;
        match self.fault {
            Fault::UpdatesNothing => return Ok(before.is_some_and(|before| before.version + 1 == task.version)),
            Fault::UpdatesUnknownIds if before.is_none() && task.version > 0 => {
                let _ = self.inner.create(&filed, EVER, TaskQuota::UNLIMITED).await?;
                return Ok(true);
            }
            Fault::IgnoresVersion | Fault::ChecksThenWrites | Fault::ExtendsTtlByUpdates => {
                let Some(before) = before else { return Ok(false) };
                if !self.has(Fault::IgnoresVersion) && before.version + 1 != task.version {
                    return Ok(false);
                }
                if self.has(Fault::ChecksThenWrites) {
                    tokio::task::yield_now().await;
                } else if self.has(Fault::ExtendsTtlByUpdates) && !self.inner.update(&filed).await? {
                    return Ok(false);
                }
                let _ = self.inner.create(&filed, EVER, TaskQuota::UNLIMITED).await?;
                return Ok(true);
            }
            Fault::Hangs => std::future::pending().await,
            _ => {}
        }
        let updated = self.inner.update(&filed).await?;
        if let Some(current) = self.current.lock().unwrap().iter_mut().find(|other| updated && other.id == task.id) {
            current.clone_from(task);
        }
        Ok(updated)
    }

    async fn list(&self, owner: Option<&str>) -> io::Result<Vec<TaskRecord>> {
        let mut all = match self.fault {
            Fault::ListsStaleRecords => self.first.list(owner).await?,
            Fault::ListsAllOwners => self.first.list(None).await?,
            Fault::ConfusesNoOwnerWithEmpty => self.inner.list(owner.filter(|owner| !owner.is_empty())).await?,
            _ => self.inner.list(owner).await?,
        };
        if self.has(Fault::ListsNewestFirst) {
            all.reverse();
        }
        Ok(all)
    }

    async fn holders(&self) -> io::Result<Vec<String>> {
        if self.has(Fault::ForgetsHolders) { Ok(Vec::new()) } else { self.inner.holders().await }
    }

    async fn held_by(&self, holder: &str, limit: usize) -> io::Result<Vec<TaskRecord>> {
        match self.fault {
            Fault::IgnoresHandovers => self.first.held_by(holder, limit).await,
            Fault::IgnoresTheMost => self.inner.held_by(holder, usize::MAX).await,
            Fault::HoldsFinishedTasks => {
                let current = self.current.lock().unwrap();
                let of_holder =
                    |task: &&TaskRecord| task.replica.as_deref().or(task.durable.as_ref().map(|_| "")) == Some(holder);
                Ok(current.iter().filter(of_holder).take(limit).cloned().collect())
            }
            _ => self.inner.held_by(holder, limit).await,
        }
    }

    async fn sweep(&self) -> io::Result<Option<Duration>> {
        self.is_swept.store(self.has(Fault::SweepsEverything), Ordering::SeqCst);
        if self.has(Fault::SweepsTooOften) { Ok(Some(Duration::ZERO)) } else { self.inner.sweep().await }
    }
}

#[test]
fn faulty_task_stores_are_caught() {
    breaks_each(
        paused,
        [
            (Fault::CreatesAsynchronously, "a created task is readable at once, unchanged"),
            (Fault::LosesAnswers, "a created task is readable at once, unchanged"),
            (Fault::UpdatesUnknownIds, "an unknown task is not found"),
            (Fault::FoldsCase, "ids are compared exactly, case included"),
            (Fault::UpdatesNothing, "an update replaces the previous version"),
            (Fault::IgnoresVersion, "an update with a version conflict changes nothing"),
            (Fault::ChecksThenWrites, "of concurrent updates exactly one succeeds"),
            (Fault::ListsNewestFirst, "a list has the tasks of one owner, oldest first"),
            (Fault::ListsAllOwners, "a list has the tasks of one owner, oldest first"),
            (Fault::ConfusesNoOwnerWithEmpty, "tasks without an owner are listed separately"),
            (Fault::ListsStaleRecords, "a list has the current records"),
            (Fault::NeverExpires, "an expired task is not found"),
            (Fault::ExtendsTtlByUpdates, "an update does not extend the expiry"),
            (Fault::SweepsEverything, "a sweep removes expired tasks only"),
            (Fault::SweepsTooOften, "a sweep removes expired tasks only"),
            (Fault::OverflowsLongTtls, "a very long ttl is accepted"),
            (Fault::IgnoresAccountLimit, "a task beyond the limit of its account is refused"),
            (Fault::LimitsTasksWithoutAccount, "a task beyond the limit of its account is refused"),
            (Fault::IgnoresTotalLimit, "a task beyond the total limit is refused"),
            (Fault::CountsThenCreates, "of concurrent tasks no more than the limit are created"),
            (Fault::CountsExpiredTasks, "an expired task does not count"),
            (Fault::EvictsNothing, "a finished task makes room, a running one does not"),
            (Fault::EvictsRunningTasks, "a task beyond the limit of its account is refused"),
            (Fault::IgnoresFetches, "fetched tasks are evicted first, then the oldest"),
            (Fault::EvictsNewestFirst, "fetched tasks are evicted first, then the oldest"),
            (Fault::EvictsOldestOfAnyAccount, "the account with the most tasks loses one"),
            (Fault::ForgetsHolders, "a task that a replica runs has a holder"),
            (Fault::HoldsFinishedTasks, "a task that is over or expired has no holder"),
            (Fault::IgnoresTheMost, "a task that a replica runs has a holder"),
            (Fault::IgnoresHandovers, "a task that changes hands has its new holder only"),
        ],
        |fault| contract::tasks(move || Faulty::new(fault)),
    );
}

/// Each rule has a time limit.
#[tokio::test(start_paused = true)]
#[should_panic(expected = "the check takes longer than")]
async fn hanging_task_store_is_caught() {
    contract::tasks(|| Faulty::new(Fault::Hangs)).await;
}
