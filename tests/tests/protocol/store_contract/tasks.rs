//! Stores of tasks, good and bad.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcp_runtime::store::{MemoryTasks, TaskRecord, TaskStore};
use mcp_runtime::testing::contract;
use mcp_tests::file_stores::FileStores;

use super::breaks_each;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_tasks_keep_the_contract() {
    contract::tasks(MemoryTasks::new).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_tasks_keep_the_contract() {
    contract::tasks(FileStores::new).await;
}

/// A mistake an implementation may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    CreatesLater,
    LosesTheAnswers,
    BringsBack,
    FoldsCase,
    UpdatesNothing,
    IgnoresTheVersion,
    LooksThenWrites,
    ListsTheNewestFirst,
    ListsEverybodys,
    TakesNobodyForAnEmptyName,
    ListsWhatWas,
    CountsNothing,
    NeverForgets,
    ProlongsByUpdates,
    SweepsEverything,
    CountsWhatIsOver,
    CountsInMicroseconds,
    Hangs,
}

/// Tasks as they are, and as they were created: some of the mistakes are made between them.
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
        if self.has(Fault::LosesTheAnswers) {
            task.answers.clear();
        }
        if self.has(Fault::TakesNobodyForAnEmptyName) {
            task.owner = task.owner.filter(|owner| !owner.is_empty());
        }
        task
    }
}

impl TaskStore for Faulty {
    async fn create(&self, task: &TaskRecord, keep: Duration) -> io::Result<()> {
        if self.has(Fault::CountsInMicroseconds) && keep.as_micros() > u128::from(u32::MAX) * 1000 {
            return Err(io::Error::other("out of range"));
        }
        let keep = if self.has(Fault::NeverForgets) { EVER } else { keep };
        let mut first = task.clone();
        first.owner = first.owner.filter(|_| !self.has(Fault::ListsEverybodys));
        self.first.create(&first, EVER).await?;
        let (inner, task) = (Arc::clone(&self.inner), self.filed(task));
        if self.has(Fault::CreatesLater) {
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(20)).await;
                inner.create(&task, keep).await
            });
            return Ok(());
        }
        inner.create(&task, keep).await
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
            Fault::BringsBack if before.is_none() && task.version > 0 => {
                self.inner.create(&filed, EVER).await?;
                return Ok(true);
            }
            Fault::IgnoresTheVersion | Fault::LooksThenWrites | Fault::ProlongsByUpdates => {
                let Some(before) = before else { return Ok(false) };
                if !self.has(Fault::IgnoresTheVersion) && before.version + 1 != task.version {
                    return Ok(false);
                }
                if self.has(Fault::LooksThenWrites) {
                    tokio::task::yield_now().await;
                } else if self.has(Fault::ProlongsByUpdates) && !self.inner.update(&filed).await? {
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
            Fault::ListsWhatWas => self.first.list(owner).await?,
            Fault::ListsEverybodys => self.first.list(None).await?,
            Fault::TakesNobodyForAnEmptyName => self.inner.list(owner.filter(|owner| !owner.is_empty())).await?,
            _ => self.inner.list(owner).await?,
        };
        if self.has(Fault::ListsTheNewestFirst) {
            all.reverse();
        }
        Ok(all)
    }

    async fn count(&self) -> io::Result<usize> {
        match self.fault {
            Fault::CountsNothing => Ok(0),
            Fault::CountsWhatIsOver => self.first.count().await,
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
        [
            (Fault::CreatesLater, "what was created is there at once, as it was"),
            (Fault::LosesTheAnswers, "what was created is there at once, as it was"),
            (Fault::BringsBack, "what nobody created is not there"),
            (Fault::FoldsCase, "ids are told apart, by every letter"),
            (Fault::UpdatesNothing, "an update takes the place of the version before"),
            (Fault::IgnoresTheVersion, "an update of another version changes nothing"),
            (Fault::LooksThenWrites, "of two updates at a time one is made"),
            (Fault::ListsTheNewestFirst, "a list has the tasks of one owner, the oldest first"),
            (Fault::ListsEverybodys, "a list has the tasks of one owner, the oldest first"),
            (Fault::TakesNobodyForAnEmptyName, "tasks of nobody are a list of their own"),
            (Fault::ListsWhatWas, "a list has tasks as they are now"),
            (Fault::CountsNothing, "the count is that of all there are"),
            (Fault::NeverForgets, "what is over its time is gone"),
            (Fault::ProlongsByUpdates, "an update does not prolong"),
            (Fault::SweepsEverything, "a sweep takes what is over its time, and nothing else"),
            (Fault::CountsWhatIsOver, "a sweep takes what is over its time, and nothing else"),
            (Fault::CountsInMicroseconds, "what is kept for very long is there"),
        ],
        |fault| contract::tasks(move || Faulty::new(fault)),
    );
}

/// Each rule has a time limit.
#[tokio::test(start_paused = true)]
#[should_panic(expected = "it takes longer than")]
async fn hanging_task_store_is_caught() {
    contract::tasks(|| Faulty::new(Fault::Hangs)).await;
}
