//! Tasks, the calls that outlive their response: which calls become one, and what all tasks of a server share.
//!
//! There is one model for two wire formats: the experimental tasks of 2025-11-25, which the client requests, and
//! the extension of 2026-07-28, where the server decides. `era::encode::task` has the differences.
//!
//! A task is a record, changed by compare-and-set: by the handler's job, by `tasks/update` and by `tasks/cancel`, at
//! any replica. The bus tells the others to load it again. They have no other channel, so a store and a bus are
//! all that replicas need.
//!
//! `asks_first` with `ctx.start_task()` is all a handler says about tasks. The extension forbids rounds once a task
//! has begun, and without it a tool that needs answers to begin would leave a waiting task for each call. The
//! running handler becomes the task; it does not run again.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>

mod asking;
pub(crate) mod claims;
mod conclude;
#[cfg(feature = "http")]
pub(crate) mod durable;
#[cfg(feature = "http")]
mod given;
mod job;
#[cfg(feature = "auth")]
mod permit;
pub(crate) mod watch;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Notify;
#[cfg(feature = "http")]
use tokio::sync::Semaphore;

use crate::ask::{ClientCapability, required};
use crate::call::in_flight::InFlight;
use crate::call::invocation::Invocation;
use crate::catalog::Catalog;
use crate::era::TaskNegotiation;
use crate::handler::tool::{TaskSupport, Tool};
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::object::optional_object;
use crate::jsonrpc::raw::Raw;
use crate::outcome::{Failure, MissingCapability};
use crate::server::core::Core;
#[cfg(feature = "http")]
use crate::store::replica::Replica;
use crate::store::sweeper::{Expiring, SweptStore};
use crate::store::{Change, DynTaskStore, MemoryTasks, TaskRecord, Unavailable, with_timeout};
use crate::sync::until;

use claims::QuestionClaims;
pub(crate) use job::{Job, Ready, launch};
pub(crate) use watch::TaskReader;

/// The shortest time to live: a task that expires before its client can fetch the result is of no use to it.
const LEAST_TTL: Duration = Duration::from_secs(1);
/// How long a task that is stopped may take to store its outcome.
const STOP_GRACE: Duration = Duration::from_secs(1);
/// The pauses between attempts to write what must not be lost while the store is away.
const FIRST_RETRY: Duration = Duration::from_millis(50);
const LONGEST_RETRY: Duration = Duration::from_secs(1);
/// The most tasks that are looked for at once because it is not known whether they were created.
#[cfg(feature = "http")]
const ABANDONED: usize = 1024;
/// How often an update is retried after a conflict with another writer.
const UPDATE_RETRIES: usize = 64;

/// The tasks of a server.
pub(crate) struct Tasks {
    pub(crate) store: Arc<dyn DynTaskStore>,
    /// The tasks whose handlers run in this process.
    pub(crate) running: Arc<InFlight>,
    /// Who asks the questions of tasks in 2025-11-25.
    pub(crate) claims: Arc<QuestionClaims>,
    is_stopped: AtomicBool,
    /// Notified when that is set.
    stopped: Notify,
    /// The store, as what is swept.
    expiring: Arc<dyn Expiring>,
    /// This replica, as others know it, if there is a backend.
    #[cfg(feature = "http")]
    pub(crate) replica: Option<Arc<Replica>>,
    /// Permits to look for tasks that may have been created although their client was told that they were not.
    #[cfg(feature = "http")]
    abandoned: Arc<Semaphore>,
}

impl Default for Tasks {
    fn default() -> Self {
        let store = Arc::new(MemoryTasks::new());
        Self::swept(Arc::clone(&store) as Arc<dyn DynTaskStore>, store)
    }
}

impl Tasks {
    pub(crate) fn new(store: Arc<dyn DynTaskStore>) -> Self {
        let expiring = Arc::new(SweptStore(Arc::clone(&store)));
        Self::swept(store, expiring)
    }

    fn swept(store: Arc<dyn DynTaskStore>, expiring: Arc<dyn Expiring>) -> Self {
        let (running, claims) = (Arc::default(), Arc::default());
        Tasks {
            store,
            running,
            claims,
            is_stopped: AtomicBool::new(false),
            stopped: Notify::new(),
            expiring,
            #[cfg(feature = "http")]
            replica: None,
            #[cfg(feature = "http")]
            abandoned: Arc::new(Semaphore::new(ABANDONED)),
        }
    }

    /// Stops the tasks that run in this process, since no client can fetch their results now. They may
    /// finish within `grace`; then they fail, and their outcome is stored.
    pub(crate) async fn end(&self, grace: Duration) {
        let _ = tokio::time::timeout(grace, self.running.at_most(0)).await;
        self.is_stopped.store(true, Ordering::Release);
        self.stopped.notify_waiters();
        let _ = tokio::time::timeout(STOP_GRACE, self.running.at_most(0)).await;
    }

    async fn stopped(&self) {
        until(&self.stopped, || self.is_stopped.load(Ordering::Acquire)).await;
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the store: one of the user's may show the ids of tasks, which are credentials.
        f.debug_struct("Tasks").finish_non_exhaustive()
    }
}

/// An access to the store. Boxed, so that each of the many places that await one does not have its code.
type Access<'a> = Pin<Box<dyn Future<Output = Result<Option<TaskRecord>, Unavailable>> + Send + 'a>>;

/// The task as it is now.
pub(crate) fn load<'a>(core: &'a Core, id: &'a str) -> Access<'a> {
    Box::pin(with_timeout(core.limits.store_timeout, "tasks", core.tasks.store.load(id)))
}

/// Updates a task that is not over, with optimistic concurrency, and publishes the change. `change` may run
/// several times. Returns `None` if nothing was changed: `change` returned false, or the task is over or gone.
pub(crate) fn change<'a>(
    core: &'a Core,
    id: &'a str,
    change: impl FnMut(&mut TaskRecord) -> bool + Send + 'a,
) -> Access<'a> {
    Box::pin(change_boxed(core, id, Box::new(change)))
}

/// Not generic, so that the loop is compiled once, not for every change.
async fn change_boxed(
    core: &Core,
    id: &str,
    mut change: Box<dyn FnMut(&mut TaskRecord) -> bool + Send + '_>,
) -> Result<Option<TaskRecord>, Unavailable> {
    for _ in 0..UPDATE_RETRIES {
        let Some(mut task) = load(core, id).await? else { return Ok(None) };
        if task.status.is_over() || !change(&mut task) {
            return Ok(None);
        }
        task.changed();
        if with_timeout(core.limits.store_timeout, "tasks", core.tasks.store.update(&task)).await? {
            // The bus may be user code.
            crate::panic::catch(|| core.shared.publish(&Change::Task(id.to_owned())));
            return Ok(Some(task));
        }
    }
    Err(Unavailable)
}

async fn retry_after(pause: &mut Duration) {
    tokio::time::sleep(*pause).await;
    *pause = (*pause * 2).min(LONGEST_RETRY);
}

/// Records that a client has fetched the outcome of a task, which may then be evicted before others. A failure is
/// ignored: the client has its result, and the task expires in any case.
pub(crate) async fn mark_fetched(core: &Core, task: &TaskRecord) {
    if task.status.is_over() && !task.is_spent() {
        let task = TaskRecord { version: task.version + 1, fetched: true, ..task.clone() };
        let _ = with_timeout(core.limits.store_timeout, "tasks", core.tasks.store.update(&task)).await;
    }
}

/// The error of a request whose store access failed.
pub(crate) fn unavailable(_: Unavailable) -> Failure {
    Failure::Unavailable("Task store unavailable; retry later")
}

/// The task that a call of this tool becomes, if it becomes one.
pub(crate) fn wanted(invocation: &Invocation<'_>, catalog: &Catalog, tool: &Tool) -> Result<Option<Arc<Job>>, Failure> {
    let revision = invocation.envelope.revision;
    let asked = match (revision.task_negotiation(), &tool.task) {
        (TaskNegotiation::ByServer, Some(TaskSupport { required: needed, .. })) => {
            match required(ClientCapability::Tasks, invocation) {
                Err(missing) if *needed => return Err(Failure::MissingCapability(missing)),
                declared => declared.is_ok().then_some(Duration::MAX),
            }
        }
        (TaskNegotiation::ByClient, support) => augmented(invocation, catalog, support.as_ref())?,
        _ => None,
    };
    let Some(ttl) = asked else { return Ok(None) };
    let ttl = ttl.max(LEAST_TTL).min(invocation.channel.core.limits.task_ttl);
    Ok(Some(Job::new(invocation, catalog, tool, ttl)?))
}

/// The TTL that a client of 2025-11-25 requests, if its call is to become a task.
/// <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#tool-level-negotiation>
fn augmented(
    invocation: &Invocation<'_>,
    catalog: &Catalog,
    support: Option<&TaskSupport>,
) -> Result<Option<Duration>, Failure> {
    let rejected = |text: &str| Err(RpcError::new(RpcError::METHOD_NOT_FOUND, text.to_owned()).into());
    let requested = invocation.call.and_then(|call| call.params.get("task"));
    match (requested, support) {
        (None, Some(TaskSupport { required: true, .. })) => {
            rejected("This tool runs as a task: call it with `task`, as `{\"ttl\": 60000}`")
        }
        (None, _) => Ok(None),
        // The server has not declared tasks.
        (Some(_), None) if !catalog.has_tasks() => Ok(None),
        (Some(_), None) => rejected("This tool does not run as a task: call it without `task`"),
        (Some(raw), Some(_)) => {
            let requested = optional_object("task", Some(raw))?;
            Ok(Some(requested.get("ttl").map_or(Ok(Duration::MAX), read_ttl)?))
        }
    }
}

/// Reads a TTL in milliseconds: any number that is not negative, or `null` for no limit.
fn read_ttl(raw: Raw<'_>) -> Result<Duration, RpcError> {
    let rejected = || RpcError::wrong_field("task.ttl", "number of milliseconds", raw.kind());
    match serde_json::from_str(raw.get()).map_err(|_| rejected())? {
        Value::Null => Ok(Duration::MAX),
        ttl => match ttl.as_f64() {
            // More than a `Duration` can hold is no limit either.
            Some(millis) if millis >= 0.0 => Ok(Duration::try_from_secs_f64(millis / 1000.0).unwrap_or(Duration::MAX)),
            _ => Err(rejected()),
        },
    }
}

/// Rejects clients that do not declare the extension, in revisions where tasks are one.
pub(crate) fn declared(invocation: &Invocation<'_>) -> Result<(), MissingCapability> {
    let by_server = invocation.envelope.revision.task_negotiation() == TaskNegotiation::ByServer;
    if by_server { required(ClientCapability::Tasks, invocation) } else { Ok(()) }
}
