//! Tasks: calls that go on after they were answered, kept where every replica can find them.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fmt, io};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::StoreFuture;
use crate::protocol::Revision;

/// Keeps tasks: while they run, and after that until their time is over.
///
/// The handler of a task runs in the process that took the call; any replica can tell how far it is,
/// give it answers and cancel it, if they share a store and a [bus](crate::ChangeBus).
/// [`testing::contract::tasks`](crate::testing::contract::tasks) says whether an implementation does
/// what it should.
///
/// ```
/// use std::collections::HashMap;
/// use std::io::Result;
/// use std::sync::Mutex;
/// use std::time::{Duration, Instant};
/// use mcp_runtime::store::{TaskRecord, TaskStore};
///
/// /// Tasks as texts, as a database would have them.
/// #[derive(Debug, Default)]
/// struct Texts(Mutex<HashMap<String, Row>>);
///
/// #[derive(Debug)]
/// struct Row {
///     owner: Option<String>,
///     text: String,
///     /// None is never.
///     end: Option<Instant>,
/// }
///
/// impl Row {
///     fn is_there(&self) -> bool {
///         self.end.is_none_or(|end| end > Instant::now())
///     }
/// }
///
/// impl TaskStore for Texts {
///     async fn create(&self, task: &TaskRecord, keep: Duration) -> Result<()> {
///         let (owner, text) = (task.owner.clone(), serde_json::to_string(task)?);
///         let row = Row { owner, text, end: Instant::now().checked_add(keep) };
///         self.0.lock().unwrap().insert(task.id.clone(), row);
///         Ok(())
///     }
///
///     async fn load(&self, id: &str) -> Result<Option<TaskRecord>> {
///         match self.0.lock().unwrap().get(id) {
///             Some(row) if row.is_there() => Ok(Some(serde_json::from_str(&row.text)?)),
///             _ => Ok(None),
///         }
///     }
///
///     async fn update(&self, task: &TaskRecord) -> Result<bool> {
///         let mut all = self.0.lock().unwrap(); // as a transaction would
///         let Some(row) = all.get_mut(&task.id).filter(|row| row.is_there()) else { return Ok(false) };
///         let before: TaskRecord = serde_json::from_str(&row.text)?;
///         if before.version + 1 != task.version {
///             return Ok(false);
///         }
///         row.text = serde_json::to_string(task)?; // its end stays as it was
///         Ok(true)
///     }
///
///     async fn list(&self, owner: Option<&str>) -> Result<Vec<TaskRecord>> {
///         let all = self.0.lock().unwrap();
///         let own = all.values().filter(|row| row.is_there() && row.owner.as_deref() == owner);
///         let tasks: serde_json::Result<Vec<TaskRecord>> = own.map(|row| serde_json::from_str(&row.text)).collect();
///         let mut tasks = tasks?;
///         tasks.sort_by_key(|task| task.created_ms);
///         Ok(tasks)
///     }
///
///     async fn count(&self) -> Result<usize> {
///         Ok(self.0.lock().unwrap().values().filter(|row| row.is_there()).count())
///     }
///
///     async fn sweep(&self) -> Result<usize> {
///         let mut all = self.0.lock().unwrap();
///         let before = all.len();
///         all.retain(|_, row| row.is_there());
///         Ok(before - all.len())
///     }
/// }
///
/// # #[tokio::main]
/// # async fn main() {
/// mcp_runtime::testing::contract::tasks(Texts::default).await;
/// # }
/// ```
pub trait TaskStore: fmt::Debug + Send + Sync + 'static {
    /// Keeps a new task for as long as `keep`. When it returns, whoever asks finds it.
    fn create(&self, task: &TaskRecord, keep: Duration) -> impl Future<Output = io::Result<()>> + Send;

    /// The task with this id, if there is one and its time is not over.
    fn load(&self, id: &str) -> impl Future<Output = io::Result<Option<TaskRecord>>> + Send;

    /// Puts a record in the place of the one before it, which has the [version](TaskRecord::version) before
    /// its own. False, and nothing changes, if that one is not there: somebody else was faster, or the
    /// task is gone. How long it is kept stays as it was.
    ///
    /// In one step, as a `WHERE version = …` or a script does it: two replicas may try at a time.
    fn update(&self, task: &TaskRecord) -> impl Future<Output = io::Result<bool>> + Send;

    /// The tasks of one owner, the oldest first. `None` are those of nobody.
    fn list(&self, owner: Option<&str>) -> impl Future<Output = io::Result<Vec<TaskRecord>>> + Send;

    /// How many there are in all.
    fn count(&self) -> impl Future<Output = io::Result<usize>> + Send;

    /// Forgets tasks whose time is over; how many. Called now and then, for stores that do not do it
    /// themselves.
    fn sweep(&self) -> impl Future<Output = io::Result<usize>> + Send {
        async { Ok(0) }
    }
}

/// Where a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskStatus {
    /// The handler runs.
    Working,
    /// It waits for an answer of the client's.
    InputRequired,
    /// It has a result.
    Completed,
    /// It has an error.
    Failed,
    /// The client did not want it any more.
    Cancelled,
}

impl TaskStatus {
    /// Whether nothing more comes of it.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// What has to be known of a task. Made to be kept as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TaskRecord {
    /// Its id, which nobody can guess.
    pub id: String,
    /// Counts the changes: 0 when it is created, one more for each.
    pub version: u64,
    /// Whose it is, where that is known. For others it does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The revision of the call.
    pub revision: Revision,
    /// Where it is.
    pub status: TaskStatus,
    /// The same, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// When it was created, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it was changed last, in milliseconds since 1970.
    pub updated_ms: u64,
    /// How long it is kept, in milliseconds.
    pub ttl: u64,
    /// What the client is to answer, by key.
    #[serde(default)]
    pub questions: BTreeMap<String, TaskQuestion>,
    /// What it answered, and the handler has not taken yet.
    #[serde(default)]
    pub answers: BTreeMap<String, Value>,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<TaskOutcome>,
}

/// A question of a task's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskQuestion {
    /// The request's method.
    pub method: String,
    /// Its parameters.
    pub params: Value,
}

impl TaskQuestion {
    /// A request of this method.
    pub fn new(method: impl Into<String>, params: Value) -> Self {
        TaskQuestion { method: method.into(), params }
    }
}

/// What came of a task: what the call would have been answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum TaskOutcome {
    /// Its result.
    Result(Value),
    /// Its JSON-RPC error.
    Error(Value),
}

impl TaskRecord {
    /// A task that begins now.
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

    /// How long it is still kept, and a little longer.
    pub(crate) fn left(&self) -> Duration {
        let end = self.created_ms.saturating_add(self.ttl);
        Duration::from_millis(end.saturating_sub(now()).saturating_add(20))
    }

    /// Notes a change, made just now.
    pub(crate) fn changed(&mut self) {
        self.version += 1;
        self.updated_ms = now().max(self.updated_ms);
        if !self.status.is_over() {
            let waits = !self.questions.is_empty();
            self.status = if waits { TaskStatus::InputRequired } else { TaskStatus::Working };
        }
    }
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// A [`TaskStore`], whichever it is.
pub(crate) trait DynTaskStore: fmt::Debug + Send + Sync {
    fn create<'a>(&'a self, task: &'a TaskRecord, keep: Duration) -> StoreFuture<'a, ()>;
    fn load<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<TaskRecord>>;
    fn update<'a>(&'a self, task: &'a TaskRecord) -> StoreFuture<'a, bool>;
    fn list<'a>(&'a self, owner: Option<&'a str>) -> StoreFuture<'a, Vec<TaskRecord>>;
    fn count(&self) -> StoreFuture<'_, usize>;
    fn sweep(&self) -> StoreFuture<'_, usize>;
}

impl<T: TaskStore> DynTaskStore for T {
    fn create<'a>(&'a self, task: &'a TaskRecord, keep: Duration) -> StoreFuture<'a, ()> {
        Box::pin(TaskStore::create(self, task, keep))
    }

    fn load<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<TaskRecord>> {
        Box::pin(TaskStore::load(self, id))
    }

    fn update<'a>(&'a self, task: &'a TaskRecord) -> StoreFuture<'a, bool> {
        Box::pin(TaskStore::update(self, task))
    }

    fn list<'a>(&'a self, owner: Option<&'a str>) -> StoreFuture<'a, Vec<TaskRecord>> {
        Box::pin(TaskStore::list(self, owner))
    }

    fn count(&self) -> StoreFuture<'_, usize> {
        Box::pin(TaskStore::count(self))
    }

    fn sweep(&self) -> StoreFuture<'_, usize> {
        Box::pin(TaskStore::sweep(self))
    }
}
