//! A task while its handler runs in this process: it is created before the client learns of it, and concluded
//! once.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tracing::Instrument as _;

#[cfg(feature = "http")]
use super::durable::{Creating, Durable};
use super::watch::TaskWatch;
use super::{Access, change, load, unavailable};
use crate::call::blocking::call_turns::CallTurns;
use crate::call::invocation::Invocation;
use crate::call::notifier::{CloseOnDrop, Notifier};
use crate::call::run::PendingCall;
use crate::catalog::Catalog;
use crate::era::TaskNegotiation;
use crate::handler::tool::Tool;
use crate::jsonrpc::error::RpcError;
use crate::outcome::{Failure, Outcome, Reply, Work};
#[cfg(feature = "http")]
use crate::panic::runtime_ends;
use crate::random;
use crate::server::core::Core;
use crate::server::memory::Charge;
use crate::server::memory::Owner;
use crate::server::state::Phase;
use crate::store::{TaskLimit, TaskOutcome, TaskQuota, TaskRecord, Unavailable, with_timeout};
use crate::sync::{lock, spawn};

/// A task of this process, from its plan to its outcome.
#[derive(Debug)]
pub(crate) struct Job {
    pub(super) core: Arc<Core>,
    pub(super) task: TaskRecord,
    pub(super) ttl: Duration,
    /// The handler's timeout.
    pub(crate) timeout: Option<Duration>,
    /// Whether the call stays a call until the handler awaits `start_task`.
    pub(crate) asks_first: bool,
    /// Whether the tool runs as a task only.
    pub(super) required: bool,
    /// Carries the task's notifications, if its client has a connection for them.
    pub(crate) notifier: Arc<Notifier>,
    pub(super) watch: Arc<TaskWatch>,
    #[cfg(feature = "http")]
    pub(super) durable: Option<Durable>,
    /// What its arguments take of the memory budget.
    pub(super) _held: Option<Arc<Charge>>,
    pub(super) pending: Mutex<PendingUpdate>,
    /// Notified when there is a pending update.
    pub(super) updated: tokio::sync::Notify,
}

/// What the handler did since the record was last stored.
#[derive(Debug, Default)]
pub(super) struct PendingUpdate {
    /// The newest status message.
    progress: Option<String>,
    /// The keys of the asks that were dropped or timed out.
    withdrawn: Vec<String>,
}

impl Job {
    /// Plans a task. It is not stored before [`launch`].
    pub(super) fn new(
        invocation: &Invocation<'_>,
        catalog: &Catalog,
        tool: &Tool,
        ttl: Duration,
    ) -> Result<Arc<Self>, Failure> {
        let id = random::id().map_err(|_| unavailable(Unavailable))?;
        let mut task = TaskRecord::new(id, invocation.envelope.revision, ttl);
        let watch = TaskWatch::over(invocation.channel.core, &task.id);
        task.owner = invocation.channel.principal().map(ToString::to_string);
        task.account = account(invocation);
        #[cfg(feature = "auth")]
        if let Some(scopes) = &tool.handler.scopes {
            task.scopes = scopes.iter().map(ToString::to_string).collect();
        }
        #[cfg(feature = "http")]
        if let Some(replica) = &invocation.channel.core.tasks.replica {
            task.replica = Some(replica.id.as_ref().to_owned());
        }
        task.request_bytes = invocation.call.and_then(|call| call.raw_params).map_or(0, |params| params.get().len());
        let notifier = invocation.channel.task_notifier(invocation.envelope.revision, &task.id);
        Ok(Arc::new(Job {
            core: Arc::clone(invocation.channel.core),
            task,
            ttl,
            timeout: tool.handler.timeout.or(catalog.settings.timeout),
            asks_first: tool.task.as_ref().is_some_and(|support| support.asks_first),
            required: tool.task.as_ref().is_some_and(|support| support.required),
            notifier,
            watch,
            #[cfg(feature = "http")]
            durable: Durable::planned(invocation, tool)?,
            _held: invocation.channel.held().cloned(),
            pending: Mutex::default(),
            updated: tokio::sync::Notify::new(),
        }))
    }

    #[cfg(test)]
    pub(crate) fn for_tests(core: &Arc<Core>, asks_first: bool) -> Arc<Self> {
        let ttl = Duration::from_secs(60);
        let id = random::id().expect("random bytes");
        let task = TaskRecord::new(id, crate::Revision::V2026_07_28, ttl);
        let notifier = Arc::new(Notifier::live(tokio::sync::mpsc::channel(1).0, core.limits.log_rate));
        Arc::new(Job {
            watch: TaskWatch::over(core, &task.id),
            core: Arc::clone(core),
            task,
            ttl,
            timeout: None,
            asks_first,
            required: true,
            notifier,
            #[cfg(feature = "http")]
            durable: None,
            _held: None,
            pending: Mutex::default(),
            updated: tokio::sync::Notify::new(),
        })
    }

    /// The keys of the questions that the task waits for.
    #[cfg(test)]
    pub(crate) async fn questions(&self) -> Vec<String> {
        let task = load(&self.core, self.id()).await.ok().flatten();
        task.map(|task| task.questions.into_keys().collect()).unwrap_or_default()
    }

    pub(crate) fn id(&self) -> &str {
        &self.task.id
    }

    /// What a durable task has beside others.
    #[cfg(feature = "http")]
    pub(crate) fn durable(&self) -> Option<&Durable> {
        self.durable.as_ref()
    }

    /// Whether a record is still that of this job, and not of another replica that has taken the task.
    #[cfg_attr(not(feature = "http"), expect(clippy::unused_self, reason = "as with replicas"))]
    pub(super) fn is_mine(&self, task: &TaskRecord) -> bool {
        #[cfg(feature = "http")]
        if let Some(durable) = &self.durable {
            return durable.is_of(task);
        }
        !task.status.is_over()
    }

    /// Changes the record, as [`change`] does, unless it is another replica's.
    pub(super) fn write<'a>(&'a self, mut update: impl FnMut(&mut TaskRecord) -> bool + Send + 'a) -> Access<'a> {
        change(&self.core, self.id(), move |task| self.is_mine(task) && update(task))
    }

    /// Whether a client that requested a task gets one although the handler has already returned. In
    /// 2025-11-25 it does, unless its request is rejected.
    pub(crate) fn is_owed(&self, answer: &Outcome) -> bool {
        match answer {
            _ if self.task.revision.task_negotiation() == TaskNegotiation::ByServer => {
                !self.asks_first && answer.is_ok()
            }
            Err(Failure::Protocol(_) | Failure::Throttled(_)) => false,
            _ => true,
        }
    }

    /// Stores the task, within the limits. From then on the client finds it. Returns `None` if there is no room, and
    /// the call can go on as an ordinary one.
    async fn create(&self) -> Result<Option<TaskRecord>, Failure> {
        let (tasks, limits) = (&self.core.tasks, &self.core.limits);
        #[cfg(feature = "http")]
        if let Some(replica) = &tasks.replica {
            // Others must not take it for dead.
            replica.live(limits).await.map_err(unavailable)?;
        }
        let quota = TaskQuota::new(limits.tasks, limits.tasks_per_principal);
        let task = self.first_record();
        #[cfg(feature = "http")]
        let mut creating = Creating(Some(self));
        let created = with_timeout(limits.store_timeout, "tasks", tasks.store.create(&task, self.ttl, quota));
        let created = created.await.map_err(unavailable)?;
        #[cfg(feature = "http")]
        creating.0.take();
        match created {
            Ok(()) => {
                #[cfg(feature = "http")]
                if let Some(durable) = &self.durable {
                    durable.is_stored();
                }
                self.core.sweeper.expect(Arc::downgrade(&tasks.expiring), self.ttl);
                Ok(Some(self.task.clone()))
            }
            Err(limit) => match self.task.revision.task_negotiation() {
                TaskNegotiation::ByServer if !self.required => Ok(None),
                // The client has requested a task, and cannot read anything else.
                negotiation => Err(full(limit, negotiation == TaskNegotiation::ByClient && !self.required)),
            },
        }
    }

    /// The task as it is created.
    fn first_record(&self) -> Cow<'_, TaskRecord> {
        #[cfg(feature = "http")]
        if let Some(durable) = &self.durable {
            return Cow::Owned(TaskRecord { durable: Some(Box::new(durable.call())), ..self.task.clone() });
        }
        Cow::Borrowed(&self.task)
    }

    /// Runs the handler in a Tokio task, and stores the outcome.
    pub(crate) fn begin(self: Arc<Self>, work: PendingCall) {
        let running = self.core.tasks.running.running();
        let span = self.core.watcher.as_ref().and_then(|watcher| watcher.task_span());
        spawn(async move {
            let _running = running;
            let notifier = CloseOnDrop(Some(Arc::clone(&self.notifier)));
            let answer = match span {
                Some(span) => self.run(work).instrument(span).await,
                None => self.run(work).await,
            };
            drop(notifier);
            match answer {
                // This process ends, not the handler: another replica runs it again.
                #[cfg(feature = "http")]
                RunEnd::Returned(Err(Failure::Panicked), _) if self.durable.is_some() && runtime_ends() => {}
                RunEnd::Returned(answer, turns) => {
                    self.conclude(turns.encode(|| self.outcome(answer), TaskOutcome::heap_bytes)).await;
                }
                #[cfg(feature = "http")]
                RunEnd::ShutDown if self.durable.is_some() => self.hand_over().await,
                RunEnd::ShutDown => self.conclude(self.outcome(Err(shut_down()))).await,
                RunEnd::Gone => {}
            }
        });
    }

    /// Runs the handler until one of its ends.
    async fn run(&self, work: PendingCall) -> RunEnd {
        let mut work = std::pin::pin!(work.finish());
        let mut cancelled = std::pin::pin!(self.cancelled());
        let mut expired = std::pin::pin!(tokio::time::sleep(self.ttl));
        let mut shutdown = std::pin::pin!(self.shutdown());
        loop {
            tokio::select! {
                biased;
                (outcome, turns) = &mut work => return RunEnd::Returned(outcome, turns),
                () = &mut cancelled => return RunEnd::Gone,
                () = &mut expired => return RunEnd::Gone,
                () = &mut shutdown => return RunEnd::ShutDown,
                () = self.updated.notified() => self.store_update().await,
            }
        }
    }

    /// Waits until the task is cancelled, removed from the store, or another replica's.
    async fn cancelled(&self) {
        let mut news = self.watch.news();
        loop {
            TaskWatch::happens(&mut news).await;
            match load(&self.core, self.id()).await {
                Ok(Some(task)) if self.is_mine(&task) => {}
                // The store may recover.
                Err(_) => {}
                Ok(_) => return,
            }
        }
    }

    /// Waits until the server's shutdown leaves no more time for the task. A durable one has no time at all: it goes on
    /// elsewhere as soon as it is in the middle of nothing.
    async fn shutdown(&self) {
        let drained = async {
            self.core.shared.reaches(Phase::Draining).await;
            let timeout = tokio::time::sleep(self.core.limits.drain_timeout);
            #[cfg(feature = "http")]
            if let Some(durable) = &self.durable {
                tokio::select! {
                    () = durable.idle() => {}
                    () = timeout => {}
                }
                return;
            }
            timeout.await;
        };
        tokio::select! {
            () = drained => {}
            () = self.core.shared.reaches(Phase::Aborted) => {}
            () = self.core.tasks.stopped() => {}
        }
    }

    /// Sets the status message. Only the newest is stored: older ones are superseded.
    pub(crate) fn say(&self, text: String) {
        self.update(|pending| pending.progress = Some(text));
    }

    /// Withdraws a question that was dropped or timed out.
    pub(super) fn withdraw(&self, key: &str) {
        self.update(|pending| pending.withdrawn.push(key.to_owned()));
    }

    fn update(&self, update: impl FnOnce(&mut PendingUpdate)) {
        update(&mut lock(&self.pending));
        self.updated.notify_one();
    }

    async fn store_update(&self) {
        let PendingUpdate { progress, withdrawn } = std::mem::take(&mut *lock(&self.pending));
        let _ = self
            .write(|task| {
                let mut changed = progress.is_some();
                for key in &withdrawn {
                    let answered = task.answers.remove(key).is_some();
                    changed |= task.questions.remove(key).is_some() || answered;
                }
                task.status_message = progress.clone().or(task.status_message.take());
                changed
            })
            .await;
    }
}

/// How a run of a handler ends.
enum RunEnd {
    Returned(Outcome, CallTurns),
    /// The task was cancelled, has expired, or is another replica's now.
    Gone,
    /// The server leaves no more time.
    ShutDown,
}

/// What is called before the handler of a task runs on: with the task if it was stored, without it if there was no
/// room and the call goes on as an ordinary one.
pub(crate) type Ready = Box<dyn FnOnce(Option<&Arc<Job>>) + Send>;

/// Turns a call into a task: stores it, calls `ready`, runs `work` in the background, and returns the response. If there
/// is no room for an optional task, runs `work` here and returns its outcome.
pub(crate) fn launch(job: Arc<Job>, work: PendingCall, ready: Option<Ready>) -> Work {
    Box::pin(async move {
        let created = job.create().await?;
        if let Some(ready) = ready {
            ready(created.is_some().then_some(&job));
        }
        match created {
            None => work.finish().await.0,
            Some(task) => {
                job.begin(work);
                Ok(Reply::TaskCreated(Box::new(task)))
            }
        }
    })
}

/// The error of a call that leaves no room for its task. `optional` if the client may call without one.
fn full(limit: TaskLimit, optional: bool) -> Failure {
    let whose =
        if limit == TaskLimit::PerAccount { "Too many running tasks of yours" } else { "Too many running tasks" };
    let next = match limit {
        _ if optional => "call the tool without `task`, or retry later",
        TaskLimit::PerAccount => "wait until one ends, or cancel one",
        TaskLimit::Total => "retry later",
    };
    RpcError::new(RpcError::INTERNAL, format!("{whose}: {next}")).into()
}

/// Whom a task counts against. The prefix keeps principals apart from addresses.
fn account(invocation: &Invocation<'_>) -> Option<String> {
    match invocation.channel.owner() {
        Owner::Principal(principal) => Some(format!("principal:{principal}")),
        Owner::Peer(network) => Some(format!("peer:{network}")),
        Owner::Unknown => None,
    }
}

fn shut_down() -> Failure {
    RpcError::new(RpcError::INTERNAL, "The server shut down before the task was done").into()
}
