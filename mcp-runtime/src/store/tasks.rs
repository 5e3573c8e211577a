//! The task store: calls that outlive their request, shared by all replicas.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fmt, io};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::StoreFuture;
use crate::protocol::Revision;

/// Stores tasks while they run, and their results until they expire.
///
/// A task's handler runs in the process that received the call. Replicas that share a store and a
/// [bus](crate::store::ChangeBus) can all report its status, accept answers for it and cancel it.
///
/// ```
/// use std::collections::HashMap;
/// use std::io::Result;
/// use std::sync::Mutex;
/// use std::time::{Duration, Instant};
/// use mcp_runtime::store::{TaskRecord, TaskStore};
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
///     async fn create(&self, task: &TaskRecord, ttl: Duration) -> Result<()> {
///         let (owner, text) = (task.owner.clone(), serde_json::to_string(task)?);
///         let row = Row { owner, text, expires: Instant::now().checked_add(ttl) };
///         self.0.lock().unwrap().insert(task.id.clone(), row);
///         Ok(())
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
///     async fn count(&self) -> Result<usize> {
///         Ok(self.0.lock().unwrap().values().filter(|row| row.is_live()).count())
///     }
///
///     async fn sweep(&self) -> Result<usize> {
///         let mut all = self.0.lock().unwrap();
///         let before = all.len();
///         all.retain(|_, row| row.is_live());
///         Ok(before - all.len())
///     }
/// }
///
/// # #[tokio::main]
/// # async fn main() {
/// mcp_runtime::testing::contract::tasks(JsonTasks::default).await;
/// # }
/// ```
pub trait TaskStore: fmt::Debug + Send + Sync + 'static {
    /// Stores a new task, which expires `ttl` from now. The task is readable as soon as this returns.
    fn create(&self, task: &TaskRecord, ttl: Duration) -> impl Future<Output = io::Result<()>> + Send;

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

    /// Counts the tasks of all owners.
    fn count(&self) -> impl Future<Output = io::Result<usize>> + Send;

    /// Removes expired tasks and returns how many. The server calls it periodically; a store that
    /// expires records itself need not implement it.
    fn sweep(&self) -> impl Future<Output = io::Result<usize>> + Send {
        async { Ok(0) }
    }
}

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskStatus {
    /// The handler is running.
    Working,
    /// The handler is waiting for an answer from the client.
    InputRequired,
    /// The task finished with a result.
    Completed,
    /// The task finished with an error.
    Failed,
    /// The client cancelled the task.
    Cancelled,
}

impl TaskStatus {
    /// Whether the status is final: completed, failed or cancelled.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// The state of a task, enough to serve it at any replica. Serializes to JSON.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TaskRecord {
    /// The task's id. It is unguessable.
    pub id: String,
    /// The version of the record: 0 when the task is created, incremented by each update.
    pub version: u64,
    /// The principal that created the task, if it was authenticated. Other principals cannot see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The revision of the call.
    pub revision: Revision,
    /// The current status.
    pub status: TaskStatus,
    /// A message for people that describes the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// When the task was created, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// When the record last changed, in milliseconds since the Unix epoch.
    pub updated_ms: u64,
    /// How long the task lives from its creation, in milliseconds.
    pub ttl: u64,
    /// The questions the client has yet to answer, by key.
    #[serde(default)]
    pub questions: BTreeMap<String, TaskQuestion>,
    /// The client's answers the handler has yet to read, by key.
    #[serde(default)]
    pub answers: BTreeMap<String, Value>,
    /// The result or error, once the task has finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<TaskOutcome>,
}

/// A request a task makes of the client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskQuestion {
    /// The method, such as `elicitation/create`.
    pub method: String,
    /// The parameters.
    pub params: Value,
}

impl TaskQuestion {
    /// A request with this method and these parameters.
    pub fn new(method: impl Into<String>, params: Value) -> Self {
        TaskQuestion { method: method.into(), params }
    }
}

/// The outcome of a task: the response the call would have had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum TaskOutcome {
    /// The `result` of the call.
    Result(Value),
    /// The JSON-RPC `error` of the call.
    Error(Value),
}

impl TaskRecord {
    /// A task that starts now, without an owner.
    pub fn new(id: impl Into<String>, revision: Revision, ttl: Duration) -> Self {
        let now = now();
        TaskRecord {
            id: id.into(),
            version: 0,
            owner: None,
            revision,
            status: TaskStatus::Working,
            status_message: None,
            created_ms: now,
            updated_ms: now,
            ttl: u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX),
            questions: BTreeMap::new(),
            answers: BTreeMap::new(),
            outcome: None,
        }
    }

    /// The remaining time to live, plus a margin: a waiter wakes after the expiry.
    pub(crate) fn remaining(&self) -> Duration {
        let end = self.created_ms.saturating_add(self.ttl);
        Duration::from_millis(end.saturating_sub(now()).saturating_add(20))
    }

    /// Records a change made now: increments the version and derives the status.
    pub(crate) fn changed(&mut self) {
        self.version += 1;
        self.updated_ms = now().max(self.updated_ms);
        if !self.status.is_over() {
            let waiting = !self.questions.is_empty();
            self.status = if waiting { TaskStatus::InputRequired } else { TaskStatus::Working };
        }
    }
}

/// Without the id, which is a credential, and without what the handler and the client have said.
impl fmt::Debug for TaskRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskRecord")
            .field("version", &self.version)
            .field("revision", &self.revision)
            .field("status", &self.status)
            .field("questions", &self.questions.len())
            .field("answers", &self.answers.len())
            .finish_non_exhaustive()
    }
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// The object-safe form of [`TaskStore`].
pub(crate) trait DynTaskStore: fmt::Debug + Send + Sync {
    fn create<'a>(&'a self, task: &'a TaskRecord, ttl: Duration) -> StoreFuture<'a, ()>;
    fn load<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<TaskRecord>>;
    fn update<'a>(&'a self, task: &'a TaskRecord) -> StoreFuture<'a, bool>;
    fn list<'a>(&'a self, owner: Option<&'a str>) -> StoreFuture<'a, Vec<TaskRecord>>;
    fn count(&self) -> StoreFuture<'_, usize>;
    fn sweep(&self) -> StoreFuture<'_, usize>;
}

impl<T: TaskStore> DynTaskStore for T {
    fn create<'a>(&'a self, task: &'a TaskRecord, ttl: Duration) -> StoreFuture<'a, ()> {
        Box::pin(async move { TaskStore::create(self, task, ttl).await })
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

    fn count(&self) -> StoreFuture<'_, usize> {
        Box::pin(async move { TaskStore::count(self).await })
    }

    fn sweep(&self) -> StoreFuture<'_, usize> {
        Box::pin(async move { TaskStore::sweep(self).await })
    }
}
