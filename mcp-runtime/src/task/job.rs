//! A task while its handler runs in this process: it is created before the client learns of it, and concluded
//! once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

use super::watch::TaskWatch;
use super::{change, load, unavailable};
use crate::ask::AskError;
use crate::call::blocking::call_turns::CallTurns;
use crate::call::invocation::Invocation;
use crate::call::notifier::{CloseOnDrop, Notifier};
use crate::call::run::PendingCall;
use crate::catalog::Catalog;
use crate::era::encode::{self, ResponseTo};
use crate::era::{Method, TaskNegotiation};
use crate::handler::tool::Tool;
use crate::jsonrpc::Id;
use crate::jsonrpc::error::RpcError;
use crate::outcome::{Failure, Outcome, Question, Reply, Work};
use crate::random;
use crate::server::core::Core;
use crate::server::memory::Charge;
use crate::server::memory::Owner;
use crate::server::state::Phase;
use crate::store::{TaskLimit, TaskOutcome, TaskQuestion, TaskQuota, TaskRecord, TaskStatus, with_timeout};
use crate::sync::{lock, spawn};

/// A task of this process, from its plan to its outcome.
#[derive(Debug)]
pub(crate) struct Job {
    core: Arc<Core>,
    task: TaskRecord,
    ttl: Duration,
    /// The handler's timeout.
    pub(crate) timeout: Option<Duration>,
    /// Whether the call stays a call until the handler awaits `start_task`.
    pub(crate) asks_first: bool,
    /// Whether the tool runs as a task only.
    required: bool,
    /// Carries the task's notifications, if its client has a connection for them.
    pub(crate) notifier: Arc<Notifier>,
    watch: Arc<TaskWatch>,
    /// What its arguments take of the memory budget.
    _held: Option<Arc<Charge>>,
    pending: Mutex<PendingUpdate>,
    /// Notified when there is a pending update.
    updated: tokio::sync::Notify,
}

/// What the handler did since the record was last stored.
#[derive(Debug, Default)]
struct PendingUpdate {
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
        let id = random::id().map_err(|_| unavailable(crate::store::Unavailable))?;
        let mut task = TaskRecord::new(id, invocation.envelope.revision, ttl);
        let watch = TaskWatch::over(invocation.channel.core, &task.id);
        task.owner = invocation.channel.principal().map(ToString::to_string);
        task.account = account(invocation);
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
            _held: invocation.channel.held().cloned(),
            pending: Mutex::default(),
            updated: tokio::sync::Notify::new(),
        }))
    }

    #[cfg(test)]
    pub(crate) fn for_tests(core: &Arc<Core>, asks_first: bool) -> Arc<Self> {
        let ttl = Duration::from_mins(1);
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

    /// Whether a client that requested a task gets one although the handler has already returned. In
    /// 2025-11-25 it does, unless its request is rejected.
    pub(crate) fn is_owed(&self, answer: &Outcome) -> bool {
        match answer {
            _ if self.task.revision.task_negotiation() == TaskNegotiation::ByServer => {
                !self.asks_first && answer.is_ok()
            }
            Err(Failure::Protocol(_)) => false,
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
        let created = with_timeout(limits.store_timeout, "tasks", tasks.store.create(&self.task, self.ttl, quota));
        match created.await.map_err(unavailable)? {
            Ok(()) => {
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

    /// Runs the handler in a Tokio task, and stores the outcome.
    fn begin(self: Arc<Self>, work: PendingCall) {
        let running = self.core.tasks.running.running();
        spawn(async move {
            let _running = running;
            let notifier = CloseOnDrop(Some(Arc::clone(&self.notifier)));
            let answer = self.run(work).await;
            drop(notifier);
            if let Some((answer, turns)) = answer {
                let outcome = turns.encode(|| outcome(&self.core, self.task.revision, answer), TaskOutcome::heap_bytes);
                self.conclude(outcome).await;
            }
        });
    }

    /// The handler's outcome. `None` if the task was cancelled or has expired.
    async fn run(&self, work: PendingCall) -> Option<(Outcome, CallTurns)> {
        let mut work = std::pin::pin!(work.finish());
        let mut cancelled = std::pin::pin!(self.cancelled());
        let mut expired = std::pin::pin!(tokio::time::sleep(self.ttl));
        let mut shutdown = std::pin::pin!(self.shutdown());
        loop {
            tokio::select! {
                biased;
                outcome = &mut work => return Some(outcome),
                () = &mut cancelled => return None,
                () = &mut expired => return None,
                () = &mut shutdown => return Some((Err(shut_down()), CallTurns::default())),
                () = self.updated.notified() => self.store_update().await,
            }
        }
    }

    /// Waits until the task is cancelled, or removed from the store.
    async fn cancelled(&self) {
        let mut news = self.watch.news();
        loop {
            TaskWatch::happens(&mut news).await;
            match load(&self.core, self.id()).await {
                Ok(Some(task)) if !task.status.is_over() => {}
                // The store may recover.
                Err(_) => {}
                Ok(_) => return,
            }
        }
    }

    /// Waits until the server's shutdown leaves no more time for the task.
    async fn shutdown(&self) {
        let drained = async {
            self.core.shared.reaches(Phase::Draining).await;
            tokio::time::sleep(self.core.limits.drain_timeout).await;
        };
        tokio::select! {
            () = drained => {}
            () = self.core.shared.reaches(Phase::Aborted) => {}
            () = self.core.tasks.stopped() => {}
        }
    }

    async fn conclude(&self, outcome: TaskOutcome) {
        let done = change(&self.core, self.id(), |task| {
            task.questions.clear();
            task.answers.clear();
            let text = |value: &Value| value.as_str().map(|text| crate::jsonrpc::error::shorten(text).into_owned());
            (task.status, task.status_message) = match &outcome {
                TaskOutcome::Result(result) if result["isError"] == true => {
                    (TaskStatus::Completed, text(&result["content"][0]["text"]))
                }
                TaskOutcome::Result(_) => (TaskStatus::Completed, task.status_message.take()),
                TaskOutcome::Error(error) => (TaskStatus::Failed, text(&error["message"])),
            };
            task.outcome = Some(outcome.clone());
            true
        });
        if done.await.is_err() {
            tracing::error!("the outcome of a task could not be stored");
        }
    }

    /// Sets the status message. Only the newest is stored: older ones are superseded.
    pub(crate) fn say(&self, text: String) {
        self.update(|pending| pending.progress = Some(text));
    }

    fn update(&self, update: impl FnOnce(&mut PendingUpdate)) {
        update(&mut lock(&self.pending));
        self.updated.notify_one();
    }

    async fn store_update(&self) {
        let PendingUpdate { progress, withdrawn } = std::mem::take(&mut *lock(&self.pending));
        let _ = change(&self.core, self.id(), |task| {
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

    /// Puts a question into the task's record, and waits for the answer.
    pub(crate) async fn ask(&self, key: &str, question: Question, limit: Duration) -> Result<Value, AskError> {
        let news = self.watch.news();
        let mut open = QuestionGuard { job: self, key: Some(key) };
        let asked = change(&self.core, self.id(), |task| {
            let question = TaskQuestion::new(question.method, question.params.clone());
            task.questions.insert(key.to_owned(), question);
            true
        });
        match asked.await {
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return Err(AskError::Disconnected),
        }
        let answer = tokio::time::timeout(limit, self.answer(key, news)).await;
        if answer.is_ok() {
            open.key = None;
        }
        answer.unwrap_or(Err(AskError::TimedOut(limit)))
    }

    async fn answer(&self, key: &str, mut news: watch::Receiver<u64>) -> Result<Value, AskError> {
        loop {
            let mut answer = None;
            let taken = change(&self.core, self.id(), |task| {
                answer = task.answers.remove(key);
                answer.is_some()
            });
            match (taken.await, answer) {
                (Ok(Some(_)), Some(answer)) => return read_answer(answer),
                _ => TaskWatch::happens(&mut news).await,
            }
        }
    }
}

/// An open question. Withdraws it on drop, unless it was answered.
struct QuestionGuard<'a> {
    job: &'a Job,
    key: Option<&'a str>,
}

impl Drop for QuestionGuard<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.job.update(|pending| pending.withdrawn.push(key.to_owned()));
        }
    }
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

/// An answer, or the error that the client sent in its place.
fn read_answer(answer: Value) -> Result<Value, AskError> {
    // An answer may have a member of this name besides others.
    let alone = answer.as_object().is_some_and(|members| members.len() == 1);
    match &answer["error"] {
        error @ Value::Object(_) if alone => Err(AskError::ClientError {
            code: error["code"].as_i64().unwrap_or_default(),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
        }),
        _ => Ok(answer),
    }
}

/// The result or error that the call would have been answered with.
fn outcome(core: &Core, revision: crate::Revision, answer: Outcome) -> TaskOutcome {
    let to = ResponseTo { id: Id::NULL, method: Method::ToolsCall, revision };
    match encode::result_or_error(&core.info, to, answer) {
        Ok(result) => TaskOutcome::Result(result),
        Err(error) => TaskOutcome::Error(error),
    }
}

fn shut_down() -> Failure {
    RpcError::new(RpcError::INTERNAL, "The server shut down before the task was done").into()
}
