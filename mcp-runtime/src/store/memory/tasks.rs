//! The task store in memory, the default of a server.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;
use std::{fmt, io};

use super::expiry::WithExpiry;
use crate::store::{TaskRecord, TaskStore};
use crate::sync::lock;

/// A [`TaskStore`] in memory, the default. [`Limits::tasks`](crate::Limits::tasks) bounds its size.
#[derive(Default)]
pub struct MemoryTasks(Mutex<TaskTable>);

type TaskTable = HashMap<Box<str>, WithExpiry<TaskRecord>>;

impl MemoryTasks {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn all(&self) -> MutexGuard<'_, TaskTable> {
        lock(&self.0)
    }
}

impl TaskStore for MemoryTasks {
    async fn create(&self, task: &TaskRecord, ttl: Duration) -> io::Result<()> {
        self.all().insert(task.id.as_str().into(), WithExpiry::new(task.clone(), ttl));
        Ok(())
    }

    async fn load(&self, id: &str) -> io::Result<Option<TaskRecord>> {
        Ok(self.all().get(id).filter(|entry| entry.is_live()).map(|entry| entry.value.clone()))
    }

    async fn update(&self, task: &TaskRecord) -> io::Result<bool> {
        let mut all = self.all();
        let before = all.get_mut(&*task.id);
        let before = before.filter(|entry| entry.is_live() && entry.value.version + 1 == task.version);
        Ok(before.map(|entry| entry.value = task.clone()).is_some())
    }

    async fn list(&self, owner: Option<&str>) -> io::Result<Vec<TaskRecord>> {
        let all = self.all();
        let own = all.values().filter(|entry| entry.is_live() && entry.value.owner.as_deref() == owner);
        let mut own: Vec<&TaskRecord> = own.map(|entry| &entry.value).collect();
        // Ids are unique, so there are no equals whose order a stable sort would keep.
        own.sort_unstable_by(|one, other| by_age(one, other));
        Ok(own.into_iter().cloned().collect())
    }

    async fn count(&self) -> io::Result<usize> {
        Ok(self.all().values().filter(|entry| entry.is_live()).count())
    }

    async fn sweep(&self) -> io::Result<usize> {
        let mut all = self.all();
        let before = all.len();
        all.retain(|_, entry| entry.is_live());
        Ok(before - all.len())
    }
}

/// Not inlined: the sort has a copy of it for each of its comparisons, 8 KB together.
#[inline(never)]
fn by_age(one: &TaskRecord, other: &TaskRecord) -> Ordering {
    (one.created_ms, &one.id).cmp(&(other.created_ms, &other.id))
}

/// Omits the task ids, which are secrets.
impl fmt::Debug for MemoryTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTasks").field("tasks", &self.all().len()).finish_non_exhaustive()
    }
}
