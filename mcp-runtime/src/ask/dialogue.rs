//! One call's conversation with its client: what it has asked, what it has done, and its way to ask.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Notify;

use super::error::Unsupported;
use super::rounds::{Busy, Rounds};
use super::session::SessionChannel;
use super::{AskError, once};
use crate::error::Result;
use crate::limits::Limits;
use crate::outcome::{Outcome, Question};
use crate::protocol::Revision;
use crate::sync::lock;
use crate::task::Job;

/// What `once` has done, by key.
pub(crate) type OnceResults = BTreeMap<String, Value>;

/// How a call reaches whoever can answer.
#[derive(Debug)]
pub(super) enum Channel {
    /// Not at all; why.
    Nowhere(&'static str),
    /// A request to the client, in its session.
    Session(SessionChannel),
    /// In the answer to the call, which is made again.
    Rounds(Box<Rounds>),
}

/// One call's conversation.
#[derive(Debug)]
pub(crate) struct Dialogue {
    way: Channel,
    /// The task the call has become.
    task: OnceLock<Arc<Job>>,
    /// The task it becomes when the handler says so.
    later: Mutex<TaskPlan>,
    begun: Notify,
    /// Whether the call is over.
    over: AtomicBool,
    ended: Notify,
    state: Mutex<DialogueState>,
    positions: AtomicUsize,
    most: usize,
    time: Duration,
}

/// Whether a call becomes a task.
#[derive(Debug, Default)]
enum TaskPlan {
    #[default]
    No,
    /// When the handler says so, wherever it does; who is to know.
    Planned(Arc<Job>, Option<Waker>),
    /// The handler has said so, and waits.
    Wanted(Arc<Job>),
}

#[derive(Debug, Default)]
struct DialogueState {
    keys: HashSet<Box<str>>,
    memory: OnceResults,
    /// What `once` is doing, and has done in this run.
    doing: HashSet<Box<str>>,
    /// How many questions wait for their answers, since when, and how long others have.
    waiting: usize,
    since: Option<Instant>,
    waited: Duration,
}

impl Dialogue {
    pub(super) fn new(way: Channel, memory: OnceResults, limits: &Limits) -> Self {
        let state = Mutex::new(DialogueState { memory, ..DialogueState::default() });
        Dialogue {
            way,
            task: OnceLock::new(),
            later: Mutex::default(),
            begun: Notify::new(),
            over: AtomicBool::new(false),
            ended: Notify::new(),
            state,
            positions: AtomicUsize::new(0),
            most: limits.asks_per_call,
            time: limits.answer_timeout,
        }
    }

    /// The call is a task, or becomes one when its handler says so.
    pub(crate) fn plan(&self, job: Arc<Job>) {
        if job.asks_first {
            *self.later() = TaskPlan::Planned(job, None);
        } else {
            let _ = self.task.set(job);
        }
    }

    fn later(&self) -> MutexGuard<'_, TaskPlan> {
        lock(&self.later)
    }

    /// The task the call has become.
    pub(crate) fn task(&self) -> Option<&Arc<Job>> {
        self.task.get()
    }

    /// The task that talks, where it has to say so.
    pub(crate) fn named(&self, revision: Revision) -> Option<&str> {
        self.task().map(|job| job.id()).filter(|_| revision.relates_task_messages())
    }

    /// Becomes the task that was planned; returns when it has. Without a plan, nothing happens.
    pub(super) async fn start_task(&self) {
        {
            let mut later = self.later();
            match std::mem::take(&mut *later) {
                TaskPlan::Planned(job, dispatcher) => {
                    *later = TaskPlan::Wanted(job);
                    // The handler may have a thread of its own.
                    if let Some(dispatcher) = dispatcher {
                        dispatcher.wake();
                    }
                }
                other => *later = other,
            }
        }
        loop {
            let begun = self.begun.notified();
            if matches!(*self.later(), TaskPlan::No) {
                return;
            }
            begun.await;
        }
    }

    /// The task the handler waits to become.
    pub(crate) fn wanted_task(&self, cx: &Context<'_>) -> Option<Arc<Job>> {
        match &mut *self.later() {
            TaskPlan::Wanted(job) => return Some(Arc::clone(job)),
            TaskPlan::Planned(_, dispatcher) => *dispatcher = Some(cx.waker().clone()),
            TaskPlan::No => {}
        }
        None
    }

    /// The task it could have become.
    pub(crate) fn planned_task(&self) -> Option<Arc<Job>> {
        match std::mem::take(&mut *self.later()) {
            TaskPlan::Planned(job, _) | TaskPlan::Wanted(job) => Some(job),
            TaskPlan::No => None,
        }
    }

    /// It has become one: from now on it asks as one.
    pub(crate) fn became(&self, job: &Arc<Job>) {
        let _ = self.task.set(Arc::clone(job));
        if let Channel::Rounds(rounds) = &self.way {
            rounds.end();
        }
        *self.later() = TaskPlan::No;
        self.begun.notify_waiters();
    }

    /// The call is over: whoever was left behind asks nobody.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
        self.ended.notify_waiters();
        *self.later() = TaskPlan::No;
        self.begun.notify_waiters();
    }

    async fn ended(&self) {
        loop {
            let ended = self.ended.notified();
            if self.over.load(Ordering::SeqCst) {
                return;
            }
            ended.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, DialogueState> {
        lock(&self.state)
    }

    /// Whether anybody can be asked; why not.
    pub(super) fn reaches(&self) -> Result<(), &'static str> {
        match &self.way {
            _ if self.task.get().is_some() => Ok(()),
            Channel::Nowhere(why) => Err(why),
            Channel::Session(_) | Channel::Rounds(_) => Ok(()),
        }
    }

    /// The key of an ask that has no name: its place among all of the call.
    pub(super) fn next_key(&self) -> String {
        format!("ask-{}", self.positions.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The answer to a question.
    pub(super) async fn ask(
        &self,
        key: &str,
        question: Question,
        limit: Option<Duration>,
    ) -> std::result::Result<Value, AskError> {
        once::forbids_asking()?;
        self.enter(key)?;
        if self.over.load(Ordering::SeqCst) {
            return Err(AskError::Disconnected);
        }
        tokio::select! {
            biased;
            answer = self.answer(key, question, limit) => answer,
            () = self.ended() => Err(AskError::Disconnected),
        }
    }

    async fn answer(
        &self,
        key: &str,
        question: Question,
        limit: Option<Duration>,
    ) -> std::result::Result<Value, AskError> {
        if let Some(job) = self.task.get() {
            let _waiting = self.wait();
            return job.ask(key, question, limit.unwrap_or(self.time)).await;
        }
        match &self.way {
            Channel::Nowhere(why) => Err(AskError::Unsupported(Unsupported::here(*why))),
            Channel::Session(exchange) => {
                let _waiting = self.wait();
                exchange.ask(question.method, &question.params, limit.unwrap_or(self.time)).await
            }
            Channel::Rounds(rounds) => rounds.ask(key, question).await,
        }
    }

    /// One more, of another name than the others: the answers would be taken for each other's.
    fn enter(&self, key: &str) -> std::result::Result<(), AskError> {
        let mut state = self.state();
        if state.keys.len() >= self.most {
            return Err(AskError::Misused(format!("a call asks at most {} times", self.most)));
        }
        if !state.keys.insert(key.into()) {
            return Err(AskError::Misused(format!("two asks of one call have the key `{key}`; give each its own")));
        }
        Ok(())
    }

    /// Does something once, however often the call runs.
    pub(super) async fn once<T>(&self, key: &str, work: impl Future<Output = Result<T>>) -> Result<T>
    where
        T: Serialize + DeserializeOwned,
    {
        let _doing = self.begin(key)?;
        if let Some(done) = self.state().memory.get(key) {
            return Ok(T::deserialize(done)?);
        }
        let value = once::inside(work).await?;
        let json = serde_json::to_value(&value)?;
        self.state().memory.insert(key.to_owned(), json);
        Ok(value)
    }

    fn begin(&self, key: &str) -> Result<OnceGuard<'_>> {
        if !self.state().doing.insert(key.into()) {
            let text =
                format!("two `once` of one call have the key `{key}`, and only one would be done; give each its own");
            return Err(AskError::Misused(text).into());
        }
        let busy = match &self.way {
            Channel::Rounds(rounds) => Some(rounds.busy()),
            Channel::Nowhere(_) | Channel::Session(_) => None,
        };
        Ok(OnceGuard { dialogue: self, key: key.into(), _busy: busy })
    }

    /// The questions the call is to be answered with, if it waits for them.
    pub(crate) fn poll_round(&self, cx: &mut Context<'_>) -> Poll<Outcome> {
        match &self.way {
            Channel::Rounds(rounds) => rounds.poll(cx, || self.state().memory.clone()),
            Channel::Nowhere(_) | Channel::Session(_) => Poll::Pending,
        }
    }

    /// How long the call has waited for answers. It is not the handler's time.
    pub(crate) fn waited(&self) -> Duration {
        let state = self.state();
        state.waited + state.since.map(|since| since.elapsed()).unwrap_or_default()
    }

    fn wait(&self) -> WaitingGuard<'_> {
        let mut state = self.state();
        state.waiting += 1;
        state.since.get_or_insert_with(Instant::now);
        WaitingGuard(self)
    }
}

/// A question that waits.
struct WaitingGuard<'a>(&'a Dialogue);

impl Drop for WaitingGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.waiting -= 1;
        if state.waiting == 0
            && let Some(since) = state.since.take()
        {
            state.waited += since.elapsed();
        }
    }
}

/// Something that is done once.
struct OnceGuard<'a> {
    dialogue: &'a Dialogue,
    key: Box<str>,
    _busy: Option<Busy<'a>>,
}

impl Drop for OnceGuard<'_> {
    fn drop(&mut self) {
        // What failed may be tried again.
        let mut state = self.dialogue.state();
        if !state.memory.contains_key(&*self.key) {
            state.doing.remove(&self.key);
        }
    }
}
