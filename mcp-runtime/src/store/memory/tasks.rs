//! Tasks in memory: what a server has that is given no other store.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use super::expiring::Expiring;
use crate::store::{TaskRecord, TaskStore};

/// A [`TaskStore`] in memory. How many there may be is for [`Limits::tasks`](crate::Limits::tasks) to say.
#[derive(Default)]
pub struct MemoryTasks(Mutex<TaskTable>);

type TaskTable = HashMap<Box<str>, Expiring<TaskRecord>>;

impl MemoryTasks {
    /// A store without tasks.
    pub fn new() -> Self {
        Self::default()
    }

    fn all(&self) -> MutexGuard<'_, TaskTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskStore for MemoryTasks {
    async fn create(&self, task: &TaskRecord, keep: Duration) -> io::Result<()> {
        self.all().insert(task.id.as_str().into(), Expiring::new(task.clone(), keep));
        Ok(())
    }

    async fn load(&self, id: &str) -> io::Result<Option<TaskRecord>> {
        Ok(self.all().get(id).filter(|entry| entry.is_there()).map(|entry| entry.value.clone()))
    }

    async fn update(&self, task: &TaskRecord) -> io::Result<bool> {
        let mut all = self.all();
        let before = all.get_mut(&*task.id);
        let before = before.filter(|entry| entry.is_there() && entry.value.version + 1 == task.version);
        Ok(before.map(|entry| entry.value = task.clone()).is_some())
    }

    async fn list(&self, owner: Option<&str>) -> io::Result<Vec<TaskRecord>> {
        let all = self.all();
        let own = all.values().filter(|entry| entry.is_there() && entry.value.owner.as_deref() == owner);
        let mut own: Vec<TaskRecord> = own.map(|entry| entry.value.clone()).collect();
        own.sort_by(|one, other| (one.created_ms, &one.id).cmp(&(other.created_ms, &other.id)));
        Ok(own)
    }

    async fn count(&self) -> io::Result<usize> {
        Ok(self.all().values().filter(|entry| entry.is_there()).count())
    }

    async fn sweep(&self) -> io::Result<usize> {
        let mut all = self.all();
        let before = all.len();
        all.retain(|_, entry| entry.is_there());
        Ok(before - all.len())
    }
}

/// Without ids, which are secrets.
impl fmt::Debug for MemoryTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTasks").field("tasks", &self.all().len()).finish_non_exhaustive()
    }
}
