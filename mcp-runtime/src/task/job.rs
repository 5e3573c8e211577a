//! A task while its handler runs: created before anybody is told of it, changed in one step, ended once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

use super::watch::TaskWatch;
use super::{change, load, sweep, unavailable};
use crate::ask::AskError;
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
use crate::server::state::Phase;
use crate::store::{TaskOutcome, TaskQuestion, TaskRecord, TaskStatus, with_timeout};
use crate::sync::lock;

/// One task.
#[derive(Debug)]
pub(crate) struct Job {
    core: Arc<Core>,
    task: TaskRecord,
    ttl: Duration,
    /// How long the handler may take.
    pub(crate) timeout: Option<Duration>,
    /// Whether the call goes on until the handler says that it becomes a task.
    pub(crate) asks_first: bool,
    /// The way to the client, as far as there is one.
    pub(crate) notifier: Arc<Notifier>,
    watch: Arc<TaskWatch>,
    /// What there is to note of what the handler does.
    said: Mutex<PendingUpdate>,
    spoke: tokio::sync::Notify,
}

/// What the handler did, and nobody knows yet.
#[derive(Debug, Default)]
struct PendingUpdate {
    /// How far it is.
    progress: Option<String>,
    /// The questions it does not wait for any more.
    withdrawn: Vec<String>,
}

impl Job {
    /// A task to be, of a call that goes on.
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
        Ok(Arc::new(Job {
            core: Arc::clone(invocation.channel.core),
            task,
            ttl,
            timeout: tool.handler.timeout.or(catalog.settings.timeout),
            asks_first: tool.task.as_ref().is_some_and(|support| support.asks_first),
            notifier: invocation.channel.notifier_of_task(invocation.envelope.revision),
            watch,
            said: Mutex::default(),
            spoke: tokio::sync::Notify::new(),
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
            notifier,
            said: Mutex::default(),
            spoke: tokio::sync::Notify::new(),
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

    /// Whether a client that asked for a task gets one with this answer, rather than the answer: in
    /// 2025-11-25 it does, unless its request is refused.
    pub(crate) fn is_owed(&self, answer: &Outcome) -> bool {
        match answer {
            _ if self.task.revision.task_negotiation() == TaskNegotiation::ByServer => {
                !self.asks_first && answer.is_ok()
            }
            Err(Failure::Protocol(_)) => false,
            _ => true,
        }
    }

    /// Keeps it, if there is room. From then on whoever asks finds it.
    async fn create(&self) -> Result<TaskRecord, Failure> {
        let (core, limits) = (&self.core, &self.core.limits);
        let store = &core.tasks.store;
        let full = |text: &str| Failure::Protocol(RpcError::new(RpcError::INTERNAL, text.to_owned()));
        if let Some(owner) = self.task.owner.as_deref() {
            let own =
                with_timeout(limits.store_timeout, "tasks", store.list(Some(owner))).await.map_err(unavailable)?;
            if own.len() >= limits.tasks_per_principal {
                return Err(full("Too many tasks of yours: wait until the time of some is over"));
            }
        }
        if with_timeout(limits.store_timeout, "tasks", store.count()).await.map_err(unavailable)? >= limits.tasks {
            return Err(full("Too many tasks: try again later"));
        }
        with_timeout(limits.store_timeout, "tasks", store.create(&self.task, self.ttl)).await.map_err(unavailable)?;
        sweep(core);
        Ok(self.task.clone())
    }

    /// Runs the handler to its end, which is also that of the task, in a task of the runtime.
    fn begin(self: Arc<Self>, work: PendingCall) {
        let running = self.core.tasks.running.running();
        tokio::spawn(async move {
            let _running = running;
            let notifier = CloseOnDrop(Some(Arc::clone(&self.notifier)));
            let answer = self.run(work).await;
            drop(notifier);
            if let Some(answer) = answer {
                self.conclude(answer).await;
            }
        });
    }

    /// What comes of the handler; nothing, if nobody wants to know any more.
    async fn run(&self, work: PendingCall) -> Option<Outcome> {
        let mut work = std::pin::pin!(work.finish());
        let mut ended = std::pin::pin!(self.ended());
        let mut over = std::pin::pin!(tokio::time::sleep(self.ttl));
        let mut closed = std::pin::pin!(self.server_ends());
        loop {
            tokio::select! {
                biased;
                answer = &mut work => return Some(answer),
                () = &mut ended => return None,
                () = &mut over => return None,
                () = &mut closed => return Some(Err(given_up())),
                () = self.spoke.notified() => self.tell().await,
            }
        }
    }

    /// Waits until it is cancelled, or gone.
    async fn ended(&self) {
        let mut news = self.watch.news();
        loop {
            TaskWatch::happens(&mut news).await;
            match load(&self.core, self.id()).await {
                Ok(Some(task)) if !task.status.is_over() => {}
                // A store that is not there now may be later.
                Err(_) => {}
                Ok(_) => return,
            }
        }
    }

    /// Waits until the server does not wait for it any more.
    async fn server_ends(&self) {
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

    async fn conclude(&self, answer: Outcome) {
        let outcome = outcome(&self.core, self.task.revision, answer);
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
            tracing::error!(task = self.id(), "what came of a task could not be kept");
        }
    }

    /// Says how far the handler is. The newest is told; what was said before it is not missed.
    pub(crate) fn say(&self, text: String) {
        self.note(|said| said.progress = Some(text));
    }

    fn note(&self, note: impl FnOnce(&mut PendingUpdate)) {
        note(&mut lock(&self.said));
        self.spoke.notify_one();
    }

    async fn tell(&self) {
        let PendingUpdate { progress, withdrawn } = std::mem::take(&mut *lock(&self.said));
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

    /// Asks whoever looks after the task, and waits for the answer.
    pub(crate) async fn ask(&self, key: &str, question: Question, limit: Duration) -> Result<Value, AskError> {
        let news = self.watch.news();
        let mut asked_for = QuestionGuard { job: self, key: Some(key) };
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
            asked_for.key = None;
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
                (Ok(Some(_)), Some(answer)) => return given(answer),
                _ => TaskWatch::happens(&mut news).await,
            }
        }
    }
}

/// A question somebody waits for. If they do not any more, it is taken back.
struct QuestionGuard<'a> {
    job: &'a Job,
    key: Option<&'a str>,
}

impl Drop for QuestionGuard<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.job.note(|said| said.withdrawn.push(key.to_owned()));
        }
    }
}

/// Makes a task of a handler that has been called, and answers with it.
pub(crate) fn launch(job: Arc<Job>, work: PendingCall, ready: impl FnOnce(&Arc<Job>) + Send + 'static) -> Work {
    Box::pin(async move {
        let task = job.create().await?;
        ready(&job);
        job.begin(work);
        Ok(Reply::TaskCreated(Box::new(task)))
    })
}

/// An answer, or the error the client sent in its place.
fn given(answer: Value) -> Result<Value, AskError> {
    // An answer may have a member of this name among others.
    let alone = answer.as_object().is_some_and(|members| members.len() == 1);
    match &answer["error"] {
        error @ Value::Object(_) if alone => Err(AskError::ClientError {
            code: error["code"].as_i64().unwrap_or_default(),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
        }),
        _ => Ok(answer),
    }
}

/// What the call would have been answered, as JSON.
fn outcome(core: &Core, revision: crate::Revision, answer: Outcome) -> TaskOutcome {
    let site = ResponseTo { id: Id::NULL, method: Method::ToolsCall, revision };
    let mut line = Vec::new();
    encode::answer(&core.info, site, answer, &mut line);
    let mut message: Value = serde_json::from_slice(&line).unwrap_or_default();
    match message["error"].take() {
        Value::Null => TaskOutcome::Result(message["result"].take()),
        error => TaskOutcome::Error(error),
    }
}

fn given_up() -> Failure {
    RpcError::new(RpcError::INTERNAL, "The server has ended before the task was done").into()
}
