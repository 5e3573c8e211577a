//! Calls that go on after they were answered: when one becomes a task, and what all of them share.
//!
//! One model for two wires: the experimental tasks of 2025-11-25, which the client asks for, and the
//! extension of 2026-07-28, where the server decides. `era::task` knows how they differ.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>

mod job;
pub(crate) mod watch;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::watch::Sender;

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
use crate::store::{Change, DynTaskStore, MemoryTasks, TaskRecord, Unavailable, with_timeout};

pub(crate) use job::{Job, launch};
pub(crate) use watch::TaskReader;

/// How often somebody looks for tasks whose time is over.
const SWEEP: Duration = Duration::from_secs(30);
/// How long it may take to keep that a task was given up.
const LAST_WORD: Duration = Duration::from_secs(1);
/// How often a change is tried again that somebody else was faster with.
const TRIES: usize = 64;

/// The tasks of a server.
pub(crate) struct Tasks {
    pub(crate) store: Arc<dyn DynTaskStore>,
    /// Those whose handlers run here.
    pub(crate) running: Arc<InFlight>,
    stopped: Sender<bool>,
    sweeping: AtomicBool,
}

impl Default for Tasks {
    fn default() -> Self {
        Self::new(Arc::new(MemoryTasks::new()))
    }
}

impl Tasks {
    pub(crate) fn new(store: Arc<dyn DynTaskStore>) -> Self {
        let (running, stopped) = (Arc::default(), Sender::new(false));
        Tasks { store, running, stopped, sweeping: AtomicBool::new(false) }
    }

    /// Ends those that run here: nobody will serve who could ask for them. Who can, goes on for as long
    /// as `grace`; the others have their last change kept.
    pub(crate) async fn end(&self, grace: Duration) {
        let _ = tokio::time::timeout(grace, self.running.at_most(0)).await;
        self.stopped.send_replace(true);
        let _ = tokio::time::timeout(LAST_WORD, self.running.at_most(0)).await;
    }

    async fn stopped(&self) {
        // The sender is here, so it cannot be gone.
        let _ = self.stopped.subscribe().wait_for(|stopped| *stopped).await;
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks").field("store", &self.store).finish_non_exhaustive()
    }
}

/// Has somebody look for tasks whose time is over, for as long as there is a server.
fn sweep(core: &Arc<Core>) {
    if core.tasks.sweeping.swap(true, Ordering::AcqRel) {
        return;
    }
    let core: Weak<Core> = Arc::downgrade(core);
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(SWEEP).await;
            let Some(core) = core.upgrade() else { return };
            let _ = with_timeout(core.limits.store_timeout, "tasks", core.tasks.store.sweep()).await;
        }
    });
}

pub(crate) async fn load(core: &Core, id: &str) -> Result<Option<TaskRecord>, Unavailable> {
    with_timeout(core.limits.store_timeout, "tasks", core.tasks.store.load(id)).await
}

/// Changes a task that is not over, and tells everyone. None, if there is nothing to change: `change`
/// says so, or it is over or gone.
pub(crate) async fn change(
    core: &Core,
    id: &str,
    mut change: impl FnMut(&mut TaskRecord) -> bool,
) -> Result<Option<TaskRecord>, Unavailable> {
    for _ in 0..TRIES {
        let Some(mut task) = load(core, id).await? else { return Ok(None) };
        if task.status.is_over() || !change(&mut task) {
            return Ok(None);
        }
        task.changed();
        if with_timeout(core.limits.store_timeout, "tasks", core.tasks.store.update(&task)).await? {
            // The bus may be the user's.
            crate::panic::catch(|| core.shared.publish(&Change::Task(id.to_owned())));
            return Ok(Some(task));
        }
    }
    Err(Unavailable)
}

/// The answer where a store does not do what it should.
pub(crate) fn unavailable(_: Unavailable) -> Failure {
    RpcError::new(RpcError::INTERNAL, "Tasks cannot be kept or found now; try again later").into()
}

/// How a tool is called: a task is made of it, or not.
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
    Ok(Some(Job::new(invocation, catalog, tool, ttl.min(invocation.channel.core.limits.task_ttl))?))
}

/// How long at most a call of 2025-11-25 is to be a task, if it is to be one.
/// <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#tool-level-negotiation>
fn augmented(
    invocation: &Invocation<'_>,
    catalog: &Catalog,
    support: Option<&TaskSupport>,
) -> Result<Option<Duration>, Failure> {
    let refused = |text: &str| Err(RpcError::new(RpcError::METHOD_NOT_FOUND, text.to_owned()).into());
    let wish = invocation.call.and_then(|call| call.params.get("task"));
    match (wish, support) {
        (None, Some(TaskSupport { required: true, .. })) => {
            refused("This tool runs as a task: call it with `task`, as `{\"ttl\": 60000}`")
        }
        (None, _) => Ok(None),
        // Nobody said that there are tasks.
        (Some(_), None) if !catalog.has_tasks() => Ok(None),
        (Some(_), None) => refused("This tool does not run as a task: call it without `task`"),
        (Some(raw), Some(_)) => {
            let wish = optional_object("task", Some(raw))?;
            Ok(Some(wish.get("ttl").map_or(Ok(Duration::MAX), time)?))
        }
    }
}

/// How many milliseconds a client means: any number that is not negative, or none for as many as there are.
fn time(raw: Raw<'_>) -> Result<Duration, RpcError> {
    let refused = || RpcError::wrong_field("task.ttl", "number of milliseconds", raw.kind());
    match serde_json::from_str(raw.get()).map_err(|_| refused())? {
        None => Ok(Duration::MAX),
        // More than a duration can be is for ever.
        Some(millis) if millis >= 0.0 => Ok(Duration::try_from_secs_f64(millis / 1000.0).unwrap_or(Duration::MAX)),
        Some::<f64>(_) => Err(refused()),
    }
}

/// Refuses who does not declare the extension, where there is one.
pub(crate) fn declared(invocation: &Invocation<'_>) -> Result<(), MissingCapability> {
    let by_server = invocation.envelope.revision.task_negotiation() == TaskNegotiation::ByServer;
    if by_server { required(ClientCapability::Tasks, invocation) } else { Ok(()) }
}
