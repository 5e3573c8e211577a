//! The task store: calls that outlive their request, shared by all replicas.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>

#[cfg(feature = "http")]
pub(super) mod durable;
pub(super) mod quota;
pub(super) mod record;
mod size;

use std::time::Duration;
use std::{fmt, io};

use super::{StoreFuture, TaskLimit, TaskQuota, TaskRecord};

/// Stores tasks while they run, and their results until they expire.
///
/// A task's handler runs in the process that received the call, and that of a durable task goes on at another one when
/// that process dies. Replicas that share a store and a [bus](crate::store::ChangeBus) can all report its status,
/// accept answers for it and cancel it.
///
/// ```
/// use std::collections::HashMap;
/// use std::io::Result;
/// use std::sync::Mutex;
/// use std::time::Duration;
/// use mcp_runtime::store::{TaskLimit, TaskQuota, TaskRecord, TaskStore};
/// use tokio::time::Instant;
///
/// /// Tasks as JSON, as in a database.
/// #[derive(Debug, Default)]
/// struct JsonTasks(Mutex<HashMap<String, Row>>);
///
/// #[derive(Debug)]
/// struct Row {
///     owner: Option<String>,
///     text: String,
///     /// `None` is never.
///     expires: Option<Instant>,
/// }
///
/// impl Row {
///     fn is_live(&self) -> bool {
///         self.expires.is_none_or(|expires| expires > Instant::now())
///     }
/// }
///
/// impl TaskStore for JsonTasks {
///     async fn create(
///         &self,
///         task: &TaskRecord,
///         ttl: Duration,
///         quota: TaskQuota,
///     ) -> Result<std::result::Result<(), TaskLimit>> {
///         let mut all = self.0.lock().unwrap(); // the transaction
///         all.retain(|_, row| row.is_live());
///         let tasks: serde_json::Result<Vec<TaskRecord>> =
///             all.values().map(|row| serde_json::from_str(&row.text)).collect();
///         let evicted = match quota.make_room(task.account.as_deref(), &tasks?) {
///             Ok(evicted) => evicted,
///             Err(limit) => return Ok(Err(limit)),
///         };
///         for id in evicted {
///             all.remove(&id);
///         }
///         let (owner, text) = (task.owner.clone(), serde_json::to_string(task)?);
///         all.insert(task.id.clone(), Row { owner, text, expires: Instant::now().checked_add(ttl) });
///         Ok(Ok(()))
///     }
///
///     async fn load(&self, id: &str) -> Result<Option<TaskRecord>> {
///         match self.0.lock().unwrap().get(id) {
///             Some(row) if row.is_live() => Ok(Some(serde_json::from_str(&row.text)?)),
///             _ => Ok(None),
///         }
///     }
///
///     async fn update(&self, task: &TaskRecord) -> Result<bool> {
///         let mut all = self.0.lock().unwrap(); // the transaction
///         let Some(row) = all.get_mut(&task.id).filter(|row| row.is_live()) else { return Ok(false) };
///         let before: TaskRecord = serde_json::from_str(&row.text)?;
///         if before.version + 1 != task.version {
///             return Ok(false);
///         }
///         row.text = serde_json::to_string(task)?; // the expiry stays
///         Ok(true)
///     }
///
///     async fn list(&self, owner: Option<&str>) -> Result<Vec<TaskRecord>> {
///         let all = self.0.lock().unwrap();
///         let own = all.values().filter(|row| row.is_live() && row.owner.as_deref() == owner);
///         let tasks: serde_json::Result<Vec<TaskRecord>> = own.map(|row| serde_json::from_str(&row.text)).collect();
///         let mut tasks = tasks?;
///         tasks.sort_by_key(|task| task.created_ms);
///         Ok(tasks)
///     }
///
///     async fn holders(&self) -> Result<Vec<String>> {
///         let all = self.0.lock().unwrap();
///         let mut holders = Vec::new();
///         for row in all.values().filter(|row| row.is_live()) {
///             holders.extend(serde_json::from_str::<TaskRecord>(&row.text)?.holder().map(str::to_owned));
///         }
///         holders.sort();
///         holders.dedup();
///         Ok(holders)
///     }
///
///     async fn held_by(&self, holder: &str, limit: usize) -> Result<Vec<TaskRecord>> {
///         let all = self.0.lock().unwrap();
///         let live = all.values().filter(|row| row.is_live());
///         let tasks: serde_json::Result<Vec<TaskRecord>> = live.map(|row| serde_json::from_str(&row.text)).collect();
///         Ok(tasks?.into_iter().filter(|task| task.holder() == Some(holder)).take(limit).collect())
///     }
/// }
///
/// # // In paused time nothing expires too early on a busy machine.
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// mcp_runtime::testing::contract::tasks(JsonTasks::default).await;
/// # }
/// ```
pub trait TaskStore: fmt::Debug + Send + Sync + 'static {
    /// Stores a new task, which expires `ttl` from now, if the quota leaves room for it. The task is readable as
    /// soon as this returns `Ok(Ok(()))`.
    ///
    /// Where there is no room, finished tasks are evicted for it, in the order of [`TaskQuota`]. If that does not
    /// suffice, nothing is stored and the limit is returned. Expired tasks do not count. Check, evict and store
    /// atomically, for example in a transaction or a Redis script: two replicas may create at the same time.
    fn create(
        &self,
        task: &TaskRecord,
        ttl: Duration,
        quota: TaskQuota,
    ) -> impl Future<Output = io::Result<Result<(), TaskLimit>>> + Send;

    /// Loads a task. Returns `None` if it is unknown or expired.
    fn load(&self, id: &str) -> impl Future<Output = io::Result<Option<TaskRecord>>> + Send;

    /// Replaces the stored record if its [version](TaskRecord::version) is the one before
    /// `task.version` (optimistic concurrency). The expiry does not change. Returns `false` and changes
    /// nothing if another replica updated the record first, or if the task is unknown or expired.
    ///
    /// Compare and replace atomically, for example with `WHERE version = …` or a Redis script: two
    /// replicas may update at the same time.
    fn update(&self, task: &TaskRecord) -> impl Future<Output = io::Result<bool>> + Send;

    /// Lists the tasks of an owner, oldest first. `None` lists the tasks without an owner.
    fn list(&self, owner: Option<&str>) -> impl Future<Output = io::Result<Vec<TaskRecord>>> + Send;

    /// Everybody who [holds](TaskRecord::holder) a task, each once. A replica asks ten times per
    /// [`Limits::replica_lease`](crate::Limits::replica_lease), so let it be cheap. A holder whose last task has expired
    /// may stay in the list for a while.
    fn holders(&self) -> impl Future<Output = io::Result<Vec<String>>> + Send;

    /// At most `limit` of the tasks that this holder [holds](TaskRecord::holder), in any order.
    fn held_by(&self, holder: &str, limit: usize) -> impl Future<Output = io::Result<Vec<TaskRecord>>> + Send;

    /// Removes expired tasks, and returns how long it is until the next one expires, if there is one. The server
    /// calls it then, and every half a minute; a store that expires records itself need not implement it.
    fn sweep(&self) -> impl Future<Output = io::Result<Option<Duration>>> + Send {
        async { Ok(None) }
    }
}

/// Whether a task was created, or the limit that left no room for it.
type Created = Result<(), TaskLimit>;

/// The object-safe form of [`TaskStore`].
pub(crate) trait DynTaskStore: fmt::Debug + Send + Sync {
    fn create<'a>(&'a self, task: &'a TaskRecord, ttl: Duration, quota: TaskQuota) -> StoreFuture<'a, Created>;
    fn load<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<TaskRecord>>;
    fn update<'a>(&'a self, task: &'a TaskRecord) -> StoreFuture<'a, bool>;
    fn list<'a>(&'a self, owner: Option<&'a str>) -> StoreFuture<'a, Vec<TaskRecord>>;
    #[cfg(feature = "http")]
    fn holders(&self) -> StoreFuture<'_, Vec<String>>;
    #[cfg(feature = "http")]
    fn held_by<'a>(&'a self, holder: &'a str, limit: usize) -> StoreFuture<'a, Vec<TaskRecord>>;
    fn sweep(&self) -> StoreFuture<'_, Option<Duration>>;
}

impl<T: TaskStore> DynTaskStore for T {
    fn create<'a>(&'a self, task: &'a TaskRecord, ttl: Duration, quota: TaskQuota) -> StoreFuture<'a, Created> {
        Box::pin(async move { TaskStore::create(self, task, ttl, quota).await })
    }

    fn load<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<TaskRecord>> {
        Box::pin(async move { TaskStore::load(self, id).await })
    }

    fn update<'a>(&'a self, task: &'a TaskRecord) -> StoreFuture<'a, bool> {
        Box::pin(async move { TaskStore::update(self, task).await })
    }

    fn list<'a>(&'a self, owner: Option<&'a str>) -> StoreFuture<'a, Vec<TaskRecord>> {
        Box::pin(async move { TaskStore::list(self, owner).await })
    }

    #[cfg(feature = "http")]
    fn holders(&self) -> StoreFuture<'_, Vec<String>> {
        Box::pin(async move { TaskStore::holders(self).await })
    }

    #[cfg(feature = "http")]
    fn held_by<'a>(&'a self, holder: &'a str, limit: usize) -> StoreFuture<'a, Vec<TaskRecord>> {
        Box::pin(async move { TaskStore::held_by(self, holder, limit).await })
    }

    fn sweep(&self) -> StoreFuture<'_, Option<Duration>> {
        Box::pin(async move { TaskStore::sweep(self).await })
    }
}
