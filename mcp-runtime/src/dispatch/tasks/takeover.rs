//! Tasks that nobody runs: those of replicas that have died, and those that one which shuts down has handed over. A durable
//! one is taken, and its handler runs again from the top; another one fails.
//!
//! Every replica looks for them, ten times per lease. Of several that find one, the compare-and-set of its record decides
//! who gets it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use crate::call::begin::CallEnv;
use crate::call::invocation::{CallChannel, Invocation};
use crate::call::outbox::Outbox;
use crate::call::run::PendingCall;
use crate::catalog::Catalog;
use crate::dispatch::router::Router;
use crate::era::client_info::ClientInfo;
use crate::era::{self, Era, LegacySession, Method};
use crate::handler::tool::Tool;
use crate::jsonrpc::Id;
use crate::jsonrpc::Request;
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::Raw;
use crate::outcome::Failure;
use crate::panic::catch;
use crate::server::core::Core;
use crate::server::state::Phase;
use crate::store::replica::Replica;
use crate::store::{Change, DurableCall, TaskOutcome, TaskRecord, TaskStatus, Unavailable, quietly, with_timeout};
use crate::sync::spawn;
use crate::task::Job;

/// The tasks that are taken at once.
const BATCH: usize = 16;
const DIED: &str = "The replica that ran this task has died; call the tool again";

/// Looks for such tasks from now on, if there are replicas. Called for every request of a nested service, so it does
/// nothing the second time.
#[inline]
pub(crate) fn start(core: &Arc<Core>) {
    let Some(replica) = &core.tasks.replica else { return };
    if !replica.is_looking.load(Ordering::Relaxed) && !replica.is_looking.swap(true, Ordering::AcqRel) {
        spawn(look(Arc::downgrade(core), core.limits.replica_lease / 10));
    }
}

async fn look(core: Weak<Core>, interval: Duration) {
    loop {
        sleep(interval).await;
        let Some(core) = core.upgrade() else { return };
        if core.shared.phase() > Phase::Running {
            return;
        }
        let (Some(replica), catalog) = (&core.tasks.replica, core.shared.catalog()) else { return };
        if catalog.has_tasks() {
            // Without the store there is nothing to be taken, and others log that it is away.
            let _ = Takeover { core: &core, replica, catalog: &catalog }.look().await;
        }
    }
}

struct Takeover<'a> {
    core: &'a Arc<Core>,
    replica: &'a Arc<Replica>,
    catalog: &'a Catalog,
}

impl Takeover<'_> {
    async fn look(&self) -> Result<(), Unavailable> {
        let (store, limits) = (&self.core.tasks.store, &self.core.limits);
        for holder in quietly(limits.store_timeout, store.holders()).await? {
            let is_free = holder.is_empty();
            let is_orphaned = is_free || (*holder != *self.replica.id && self.replica.is_dead(&holder, limits).await);
            if is_orphaned {
                self.take_all(&holder, !is_free).await?;
            }
        }
        Ok(())
    }

    /// Takes the tasks of a holder, a few at a time, so that other replicas get some, too.
    async fn take_all(&self, holder: &str, has_died: bool) -> Result<(), Unavailable> {
        let (store, limits) = (&self.core.tasks.store, &self.core.limits);
        loop {
            let tasks = quietly(limits.store_timeout, store.held_by(holder, BATCH)).await?;
            let (found, mut taken) = (tasks.len(), false);
            for task in tasks {
                taken |= self.take(task, has_died).await?;
            }
            // Those that are left are of tools that only others have.
            if found < BATCH || !taken || self.core.shared.phase() > Phase::Running {
                return Ok(());
            }
        }
    }

    /// Takes a task of a replica that has died, or has handed it over. False if it is still there.
    async fn take(&self, mut task: TaskRecord, has_died: bool) -> Result<bool, Unavailable> {
        let attempts = self.core.limits.task_attempts;
        let Some(call) = &mut task.durable else {
            fail(&mut task, DIED);
            return self.store(&mut task).await;
        };
        call.run += 1;
        call.deaths = call.deaths.saturating_add(u32::from(has_died));
        let deaths = call.deaths;
        if deaths >= attempts {
            let text = format!(
                "{deaths} replicas have died while they ran this task, and it is not tried again: look into their logs"
            );
            fail(&mut task, &text);
            return self.store(&mut task).await;
        }
        // A replica of another version may have the tool.
        let Some(tool) = durable_tool(self.catalog, call) else { return Ok(false) };
        // Others must not take this replica for dead.
        self.replica.live(&self.core.limits).await?;
        task.replica = Some(self.replica.id.as_ref().to_owned());
        let stored = self.store(&mut task).await?;
        if stored {
            self.run(&task, tool, deaths);
        }
        Ok(stored)
    }

    /// Stores a task that was changed. False if another replica was faster.
    async fn store(&self, task: &mut TaskRecord) -> Result<bool, Unavailable> {
        task.changed();
        let (store, limit) = (&self.core.tasks.store, self.core.limits.store_timeout);
        let updated = match with_timeout(limit, "tasks", store.update(task)).await {
            Ok(updated) => updated,
            // It may have been stored, and the reply lost. Nobody else would run it then.
            Err(Unavailable) => self.loaded(&task.id).await?.as_ref() == Some(task),
        };
        if updated {
            // The bus may be user code.
            catch(|| self.core.shared.publish(&Change::Task(task.id.clone())));
        }
        Ok(updated)
    }

    /// A task as it is in the store, as soon as that answers. An error if this replica shuts down before.
    async fn loaded(&self, id: &str) -> Result<Option<TaskRecord>, Unavailable> {
        let limits = &self.core.limits;
        loop {
            match quietly(limits.store_timeout, self.core.tasks.store.load(id)).await {
                Err(Unavailable) if self.core.shared.phase() <= Phase::Running => {
                    sleep(limits.replica_lease / 10).await;
                }
                loaded => return loaded,
            }
        }
    }

    /// Runs the handler again.
    fn run(&self, task: &TaskRecord, tool: &Tool, deaths: u32) {
        let timeout = tool.handler.timeout.or(self.catalog.settings.timeout);
        let Some(job) = Job::taken(self.core, self.replica, task.clone(), timeout) else { return };
        let Some(call) = &task.durable else { return };
        let outcome = catch(|| self.work(&job, task, call)).unwrap_or(Err(Failure::Panicked));
        let work = outcome.unwrap_or_else(|failure| PendingCall::new(async { Err(failure) }));
        let pause = backoff(self.core.limits.replica_lease, deaths);
        let (core, running) = (Arc::clone(self.core), self.core.tasks.running.running());
        spawn(async move {
            let _running = running;
            tokio::select! {
                () = sleep(pause) => job.begin(work),
                () = core.shared.reaches(Phase::Draining) => job.hand_over().await,
            }
        });
    }

    /// The call, as it was made.
    fn work(&self, job: &Arc<Job>, task: &TaskRecord, call: &DurableCall) -> Result<PendingCall, Failure> {
        let session = LegacySession::restored(task.revision, ClientInfo::remembered(&call.initialize_params));
        if let Some(level) = call.log_level {
            session.set_log_level(level);
        }
        #[cfg(feature = "auth")]
        let access = call.user.as_deref().and_then(|stored| self.core.access_of(stored));
        let params = Some(Raw::new_unchecked(&call.params));
        let request = Request { id: Id::NULL, method: Method::ToolsCall.name().into(), params };
        let era = if task.revision.is_stateless() { Era::Stateless } else { Era::Session };
        let call = era::accept(era, &request, era::read(&request), &session, self.catalog, &())?;
        let outbox = Outbox::connection().0.of_caller(task.owner.as_deref().map(Arc::from), None);
        #[cfg(feature = "auth")]
        let outbox = outbox.with_access(access);
        let env = CallEnv { core: self.core, catalog: self.catalog, outbox: &outbox, control: None };
        let channel = CallChannel::new(&env);
        let invocation = Invocation { job: Some(job), ..Invocation::new(Id::NULL, &call, &channel) };
        Router { core: self.core, catalog: self.catalog, invocation: &invocation }.rerun(&call.params)
    }
}

/// How long a task waits that has seen replicas die: twice as long each time, up to a fifth of their lease.
fn backoff(lease: Duration, deaths: u32) -> Duration {
    let first = if deaths == 0 { Duration::ZERO } else { lease / 40 };
    first.saturating_mul(1 << deaths.saturating_sub(1).min(8)).min(lease / 5)
}

/// The tool that a durable task has called, if there is one.
fn durable_tool<'a>(catalog: &'a Catalog, call: &DurableCall) -> Option<&'a Tool> {
    let params = Object::read(Raw::new_unchecked(&call.params)).ok()?;
    let tool = catalog.tools.get(&params.string("name").ok()?)?;
    tool.task.is_some_and(|support| support.durable).then_some(tool)
}

/// Ends a task that nobody will run.
fn fail(task: &mut TaskRecord, text: &str) {
    task.questions.clear();
    task.answers.clear();
    (task.status, task.status_message) = (TaskStatus::Failed, Some(text.to_owned()));
    let error = RpcError::new(RpcError::INTERNAL, text.to_owned()).with_data(json!({"retryable": true}));
    task.outcome = Some(TaskOutcome::Error(json!(error)));
}
