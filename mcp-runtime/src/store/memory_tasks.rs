//! Tasks in memory: what a server has that is given no other store.

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{TaskRecord, TaskStore};

/// A [`TaskStore`] in memory. How many there may be is for [`Limits::tasks`](crate::Limits::tasks) to say.
#[derive(Debug, Default)]
pub struct MemoryTasks(Mutex<HashMap<Box<str>, Entry>>);

#[derive(Debug)]
struct Entry {
    task: TaskRecord,
    /// Until when it is kept; for ever if that is further away than time goes.
    end: Option<Instant>,
}

impl Entry {
    fn is_there(&self) -> bool {
        self.end.is_none_or(|end| end > Instant::now())
    }
}

impl MemoryTasks {
    /// A store without tasks.
    pub fn new() -> Self {
        Self::default()
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Box<str>, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskStore for MemoryTasks {
    async fn create(&self, task: &TaskRecord, keep: Duration) -> io::Result<()> {
        let entry = Entry { task: task.clone(), end: Instant::now().checked_add(keep) };
        self.all().insert(task.id.as_str().into(), entry);
        Ok(())
    }

    async fn load(&self, id: &str) -> io::Result<Option<TaskRecord>> {
        Ok(self.all().get(id).filter(|entry| entry.is_there()).map(|entry| entry.task.clone()))
    }

    async fn update(&self, task: &TaskRecord) -> io::Result<bool> {
        let mut all = self.all();
        let before = all.get_mut(&*task.id);
        let before = before.filter(|entry| entry.is_there() && entry.task.version + 1 == task.version);
        Ok(before.map(|entry| entry.task = task.clone()).is_some())
    }

    async fn list(&self, owner: Option<&str>) -> io::Result<Vec<TaskRecord>> {
        let all = self.all();
        let own = all.values().filter(|entry| entry.is_there() && entry.task.owner.as_deref() == owner);
        let mut own: Vec<TaskRecord> = own.map(|entry| entry.task.clone()).collect();
        own.sort_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
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
