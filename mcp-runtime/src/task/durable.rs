//! A durable task, from the replica that runs it: what its handler is told and does is in the record before the handler
//! goes on, so that another replica can go on from there.
//!
//! A run has a number, and every write to the record checks it (fencing). A replica that was taken for dead, and whose task
//! another one has taken, learns of that at its next write, and drops the handler. So that it does nothing in the
//! meantime, it also checks its lease before a `once` block, which needs no store while the lease is certain.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};

use super::given::move_answer;
use super::job::Job;
use super::watch::TaskWatch;
use super::{FIRST_RETRY, change, load, retry_after, unavailable};
use crate::ask::{AskError, Posed, read_answer};
use crate::call::invocation::Invocation;
use crate::call::notifier::Notifier;
use crate::handler::tool::Tool;
use crate::outcome::Failure;
use crate::random;
use crate::server::core::Core;
use crate::server::state::Phase;
use crate::store::replica::Replica;
use crate::store::{DurableCall, GivenAnswer, TaskRecord, TaskStatus, Unavailable};
use crate::sync::{lock, spawn, until};

/// How often an abandoned task is looked for in vain: a store that was paused may still have to create it.
const ABSENT_LOOKS: u32 = 5;

/// What the job of a durable task has beside that of another.
#[derive(Debug)]
pub(crate) struct Durable {
    replica: Arc<Replica>,
    /// The number of this run.
    run: u64,
    /// How often the lease of this replica had lapsed when the record was last known to be that of this run.
    lapses: AtomicU64,
    progress: Mutex<Progress>,
    /// Notified when a `once` block has returned.
    idle: Notify,
}

#[derive(Debug)]
struct Progress {
    /// As it is in the record, once there is one.
    call: DurableCall,
    is_stored: bool,
    /// How many `once` blocks run.
    blocks: usize,
}

impl Durable {
    /// What it takes to run the call again, if its tool is durable and there are replicas.
    pub(super) fn planned(invocation: &Invocation<'_>, tool: &Tool) -> Result<Option<Self>, Failure> {
        let replica = invocation.channel.core.tasks.replica.as_ref();
        let Some(replica) = replica.filter(|_| tool.task.is_some_and(|support| support.durable)) else {
            return Ok(None);
        };
        let dialogue = random::id().map_err(|_| unavailable(Unavailable))?;
        let params = invocation.call.and_then(|call| call.raw_params).map_or("{}", |params| params.get());
        let mut call = DurableCall::new(params, dialogue);
        call.initialize_params = invocation.envelope.client().to_remember();
        call.log_level = invocation.envelope.log_level;
        #[cfg(feature = "auth")]
        {
            let user = invocation.channel.access().and_then(|access| access.user.as_ref());
            call.user = user.and_then(|user| user.to_stored());
        }
        Ok(Some(Durable::new(replica, call)))
    }

    /// A run of this call, which is stored already if it is not the first one.
    pub(super) fn new(replica: &Arc<Replica>, call: DurableCall) -> Self {
        let (replica, run) = (Arc::clone(replica), call.run);
        let (lapses, progress) = (replica.lapses().into(), Progress { is_stored: run > 1, call, blocks: 0 });
        Durable { replica, run, lapses, progress: Mutex::new(progress), idle: Notify::new() }
    }

    /// The call, to be stored with the new task.
    pub(super) fn call(&self) -> DurableCall {
        lock(&self.progress).call.clone()
    }

    /// The call is in the record from now on.
    pub(super) fn is_stored(&self) {
        lock(&self.progress).is_stored = true;
    }

    /// Joins the call with the dialogue that asks for it: with its id and its results if it has any, because earlier
    /// rounds made some, or else with those of earlier runs.
    pub(crate) fn join(&self, id: Option<&str>, once: &mut BTreeMap<String, Value>) -> String {
        let call = &mut lock(&self.progress).call;
        if let Some(id) = id {
            id.clone_into(&mut call.dialogue);
        }
        for (key, value) in &*once {
            call.once.insert(key.clone(), value.clone());
        }
        once.clone_from(&call.once);
        call.dialogue.clone()
    }

    /// Whether a record is that of this run: nobody has taken the task since.
    pub(super) fn is_of(&self, task: &TaskRecord) -> bool {
        task.durable.as_ref().is_some_and(|call| call.run == self.run)
    }

    /// The answer that an earlier run got to this question. An error if it has asked another one under this key.
    pub(super) fn given(&self, key: &str, question: u64) -> Option<Result<GivenAnswer, AskError>> {
        let given = lock(&self.progress).call.answered.get(key).cloned()?;
        Some(if given.question == question { Ok(given) } else { Err(changed(key)) })
    }

    /// The last of these keys whose question was answered.
    pub(crate) fn newest_answered(&self, keys: &[String]) -> Option<usize> {
        let progress = lock(&self.progress);
        (0..keys.len()).rev().find(|at| progress.call.answered.contains_key(&keys[*at]))
    }

    /// Remembers an answer that the call got before it became a task.
    pub(crate) fn remember_early(&self, key: &str, question: u64, answer: &Result<Value, AskError>) {
        let answer = match answer {
            Ok(answer) => Some(answer.clone()),
            Err(AskError::TimedOut(_)) => None,
            Err(AskError::ClientError { code, message }) => Some(json!({"error": {"code": code, "message": message}})),
            // The handler has a mistake, or the client is gone.
            Err(_) => return,
        };
        self.remember(key, GivenAnswer { question, answer });
    }

    pub(super) fn remember(&self, key: &str, given: GivenAnswer) {
        lock(&self.progress).call.answered.insert(key.to_owned(), given);
    }

    /// Waits until no `once` block runs.
    pub(super) async fn idle(&self) {
        until(&self.idle, || lock(&self.progress).blocks == 0).await;
    }
}

/// A `once` block of a durable task that runs, until what it returned is stored. The task is not handed over meanwhile.
#[derive(Debug)]
pub(crate) struct Effect<'a> {
    job: &'a Job,
    durable: &'a Durable,
}

impl Drop for Effect<'_> {
    fn drop(&mut self) {
        lock(&self.durable.progress).blocks -= 1;
        self.durable.idle.notify_waiters();
    }
}

impl Effect<'_> {
    /// Stores what the block returned under this key, before the handler goes on.
    pub(crate) async fn returned(self, key: &str, value: &Value) -> Result<(), AskError> {
        let limit = self.job.core.limits.state_bytes;
        let (bytes, is_stored) = {
            let progress = lock(&self.durable.progress);
            (progress.call.remembered_bytes() + key.len() + value.to_string().len(), progress.is_stored)
        };
        if bytes > limit {
            return Err(AskError::Misused(format!(
                "this task would have to remember {bytes} bytes with what `once` `{key}` returned, and {limit} is the limit \
                 (`Limits::state_bytes`): return an id from `ctx.once`, not the data"
            )));
        }
        if is_stored {
            let insert = |task: &mut TaskRecord| {
                if let Some(call) = &mut task.durable {
                    call.once.insert(key.to_owned(), value.clone());
                }
            };
            self.job.persist(insert).await;
        }
        lock(&self.durable.progress).call.once.insert(key.to_owned(), value.clone());
        Ok(())
    }
}

impl Job {
    /// The job of a task that this replica has taken.
    pub(crate) fn taken(
        core: &Arc<Core>,
        replica: &Arc<Replica>,
        task: TaskRecord,
        timeout: Option<Duration>,
    ) -> Option<Arc<Self>> {
        let call = task.durable.as_deref()?.clone();
        Some(Arc::new(Job {
            watch: TaskWatch::over(core, &task.id),
            core: Arc::clone(core),
            ttl: task.remaining(),
            task,
            timeout,
            // It has asked, and begun.
            asks_first: false,
            required: true,
            // Clients read the progress in the record.
            notifier: Arc::new(Notifier::live(tokio::sync::mpsc::channel(1).0, core.limits.log_rate)),
            durable: Some(Durable::new(replica, call)),
            _held: None,
            pending: Mutex::default(),
            updated: tokio::sync::Notify::new(),
        }))
    }
}

/// The questions of a durable task.
impl Job {
    /// Asks as other tasks do, and keeps the answer in the record: another run gets it without asking.
    pub(super) async fn ask_durably(
        &self,
        durable: &Durable,
        key: &str,
        posed: &Posed,
        limit: Duration,
    ) -> Result<Value, AskError> {
        let digest = posed.digest();
        if let Some(given) = durable.given(key, digest) {
            return given?.answer.map_or(Err(AskError::TimedOut(limit)), read_answer);
        }
        let news = self.watch.news();
        let mut open = self.open_question(key);
        self.persist(|task| {
            // An earlier run may have asked, and the client answered since.
            if !task.answers.contains_key(key) {
                task.ask(key, &posed.question);
            }
        })
        .await;
        let answer = match tokio::time::timeout(limit, self.take_answer(key, digest, news)).await {
            Ok(answer) => Some(answer),
            Err(_) => self.give_up(key, digest).await,
        };
        open.settle();
        durable.remember(key, GivenAnswer { question: digest, answer: answer.clone() });
        answer.map_or(Err(AskError::TimedOut(limit)), read_answer)
    }

    /// Waits for an answer, and moves it to those that other runs get.
    async fn take_answer(&self, key: &str, question: u64, mut news: watch::Receiver<u64>) -> Value {
        loop {
            let mut answer = None;
            let taken = self.write(|task| {
                answer = move_answer(task, key, question, self.core.limits.state_bytes);
                answer.is_some()
            });
            match (taken.await, answer) {
                (Ok(Some(_)), Some(answer)) => return answer,
                _ => TaskWatch::happens(&mut news).await,
            }
        }
    }

    /// Withdraws a question whose time is over; other runs do not wait for it either. Returns the answer if it has come
    /// at the last moment.
    async fn give_up(&self, key: &str, question: u64) -> Option<Value> {
        let mut answer = None;
        self.persist(|task| {
            answer = move_answer(task, key, question, self.core.limits.state_bytes);
            task.questions.remove(key);
            if let (None, Some(call)) = (&answer, &mut task.durable) {
                call.answered.insert(key.to_owned(), GivenAnswer { question, answer: None });
            }
        })
        .await;
        answer
    }
}

/// Writes of a durable task.
impl Job {
    /// Begins a `once` block, if the task is durable. Returns when this replica certainly runs the task: one that was
    /// silent for longer than its lease may have lost it. Does not return once this replica shuts down: the task is handed
    /// over between two blocks, however close they are.
    pub(crate) async fn effect(&self) -> Option<Effect<'_>> {
        let durable = self.durable()?;
        let begun = {
            let mut progress = lock(&durable.progress);
            let leaves = progress.is_stored && self.core.shared.phase() >= Phase::Draining;
            (!leaves).then(|| {
                progress.blocks += 1;
                progress.is_stored
            })
        };
        let Some(is_stored) = begun else { return std::future::pending().await };
        let effect = Effect { job: self, durable };
        if is_stored {
            self.holds_certainly(durable).await;
        }
        Some(effect)
    }

    async fn holds_certainly(&self, durable: &Durable) {
        let limits = &self.core.limits;
        let mut pause = FIRST_RETRY;
        // A lease that lapsed and was renewed is certain again, but the task may have been taken in between.
        while durable.replica.certainty(limits) != Some(durable.lapses.load(Ordering::Relaxed)) {
            // The lease first: with it, nobody takes the task after it was looked at.
            let renewed = durable.replica.renew(limits).await;
            let lapses = durable.replica.lapses();
            match load(&self.core, self.id()).await {
                Ok(Some(task)) if renewed.is_ok() && self.is_mine(&task) => {
                    return durable.lapses.store(lapses, Ordering::Relaxed);
                }
                Ok(Some(task)) if self.is_mine(&task) => {}
                Ok(_) => return std::future::pending().await,
                Err(Unavailable) => {}
            }
            retry_after(&mut pause).await;
        }
    }

    /// Changes the record, however long the store is away. Does not return if the task is over, gone, or another
    /// replica's: the handler is dropped soon.
    pub(super) async fn persist(&self, mut change: impl FnMut(&mut TaskRecord) + Send) {
        let mut pause = FIRST_RETRY;
        loop {
            let written = self.write(|task| {
                change(task);
                true
            });
            match written.await {
                Ok(Some(_)) => return,
                Ok(None) => return std::future::pending().await,
                Err(Unavailable) => retry_after(&mut pause).await,
            }
        }
    }

    /// Lets another replica take the task.
    pub(crate) async fn hand_over(&self) {
        let free = self.write(|task| {
            task.replica = None;
            true
        });
        if free.await.is_err() {
            tracing::warn!("a durable task could not be handed over; it goes on when this replica counts as dead");
        }
    }
}

/// A task that is being created: without `None` in time, because that failed or nobody waits any more, it is abandoned.
#[derive(Debug)]
pub(super) struct Creating<'a>(pub(super) Option<&'a Job>);

impl Drop for Creating<'_> {
    fn drop(&mut self) {
        if let Some(job) = self.0 {
            abandon(&job.core, job.id(), job.ttl);
        }
    }
}

/// Cancels a task whose creation failed as far as is known: the store may have created it all the same, and its client was
/// told to call again. Left as it is, another replica would run it when this one dies.
fn abandon(core: &Arc<Core>, id: &str, ttl: Duration) {
    // A process that ends has no runtime any more.
    if core.tasks.replica.is_none() || Handle::try_current().is_err() {
        return;
    }
    let Ok(permit) = Arc::clone(&core.tasks.abandoned).try_acquire_owned() else { return };
    let (core, id) = (Arc::clone(core), id.to_owned());
    let cancelled = async move {
        let (mut pause, mut absent) = (FIRST_RETRY, 0);
        while absent < ABSENT_LOOKS {
            retry_after(&mut pause).await;
            let cancelled = change(&core, &id, |task| {
                task.status = TaskStatus::Cancelled;
                true
            });
            match cancelled.await {
                Ok(Some(_)) => return,
                Ok(None) => absent += 1,
                Err(Unavailable) => {}
            }
        }
    };
    spawn(async move {
        let _permit = permit;
        let _ = tokio::time::timeout(ttl, cancelled).await;
    });
}

fn changed(key: &str) -> AskError {
    AskError::Misused(format!(
        "this run of a durable task does not ask under the key `{key}` what an earlier run asked. A durable task runs \
         again from the top when its replica dies: ask in the same order with the same texts, name asks with `.key(…)`, \
         and keep what changes between runs in `ctx.once`"
    ))
}
