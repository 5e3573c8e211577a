//! The contract of task stores.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcp_runtime::Revision;
use mcp_runtime::store::{MemoryTasks, TaskRecord, TaskStore};
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
    super::threaded().block_on(store.create(&first, EVER)).unwrap();
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
    CountsNothing,
    NeverExpires,
    ExtendsTtlByUpdates,
    SweepsEverything,
    CountsExpiredTasks,
    OverflowsLongTtls,
    Hangs,
}

/// The current tasks, and the tasks as they were created: some bugs mix them up.
#[derive(Debug)]
struct Faulty {
    inner: Arc<MemoryTasks>,
    first: MemoryTasks,
    is_swept: AtomicBool,
    fault: Fault,
}

const EVER: Duration = Duration::from_hours(1);

impl Faulty {
    fn new(fault: Fault) -> Self {
        Faulty { inner: Arc::default(), first: MemoryTasks::new(), is_swept: AtomicBool::new(false), fault }
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
}

impl TaskStore for Faulty {
    async fn create(&self, task: &TaskRecord, ttl: Duration) -> io::Result<()> {
        if self.has(Fault::OverflowsLongTtls) && ttl.as_micros() > u128::from(u32::MAX) * 1000 {
            return Err(io::Error::other("out of range"));
        }
        let ttl = if self.has(Fault::NeverExpires) { EVER } else { ttl };
        let mut first = task.clone();
        first.owner = first.owner.filter(|_| !self.has(Fault::ListsAllOwners));
        self.first.create(&first, EVER).await?;
        let (inner, task) = (Arc::clone(&self.inner), self.filed(task));
        if self.has(Fault::CreatesAsynchronously) {
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(20)).await;
                inner.create(&task, ttl).await
            });
            return Ok(());
        }
        inner.create(&task, ttl).await
    }

    async fn load(&self, id: &str) -> io::Result<Option<TaskRecord>> {
        if self.is_swept.load(Ordering::SeqCst) {
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
                self.inner.create(&filed, EVER).await?;
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
                self.inner.create(&filed, EVER).await?;
                return Ok(true);
            }
            Fault::Hangs => std::future::pending().await,
            _ => {}
        }
        self.inner.update(&filed).await
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

    async fn count(&self) -> io::Result<usize> {
        match self.fault {
            Fault::CountsNothing => Ok(0),
            Fault::CountsExpiredTasks => self.first.count().await,
            _ => self.inner.count().await,
        }
    }

    async fn sweep(&self) -> io::Result<usize> {
        self.is_swept.store(self.has(Fault::SweepsEverything), Ordering::SeqCst);
        self.inner.sweep().await
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
            (Fault::CountsNothing, "the count covers the tasks of all owners"),
            (Fault::NeverExpires, "an expired task is not found"),
            (Fault::ExtendsTtlByUpdates, "an update does not extend the expiry"),
            (Fault::SweepsEverything, "a sweep removes expired tasks only"),
            (Fault::CountsExpiredTasks, "a sweep removes expired tasks only"),
            (Fault::OverflowsLongTtls, "a very long ttl is accepted"),
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
