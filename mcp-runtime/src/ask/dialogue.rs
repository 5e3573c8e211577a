//! One call's dialogue with its client: what it asked, what its `once` blocks returned, and whether it has
//! become a task.
//!
//! A dialogue is a state machine, and [`Phase`] is its state:
//!
//! - `Call`: an ordinary call, which asks through its [`Channel`].
//! - `TaskPlanned`: still a call; it becomes a task when the handler awaits `start_task`.
//! - `TaskWanted`: the handler awaits `start_task`, and the dispatcher creates the task.
//! - `Task`: the call is a task, and asks through the task's record.
//! - `Over`: the handler has returned or was dropped. Asks that are left fail with [`AskError::Disconnected`].
//!
//! ```text
//! Call ─plan, asks_first─► TaskPlanned ─start_task─► TaskWanted ─became─► Task
//! Call ─plan────────────────────────────────────────────────────────────► Task
//! TaskPlanned, TaskWanted ─planned_task─► Call     (the handler has returned without a task)
//! TaskWanted, Task ─declined─► Call                (there is no room for the task)
//! any phase ─end─► Over
//! ```
//!
//! All that changes is one [`State`] under one mutex. Every transition goes through [`Dialogue::transition`],
//! which notifies after it has released the lock. Wakers and user code never run under the lock.

mod clock;
#[cfg(feature = "http")]
mod durable;
mod id;
mod once;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::Notify;

use super::AskError;
use super::claims::DialogueClaims;
use super::error::Unsupported;
use super::question::Posed;
use super::rounds::{OnceResults, Rounds};
use super::session::SessionChannel;
use crate::error::Result;
use crate::jsonrpc::error::RpcError;
use crate::limits::Limits;
use crate::outcome::Outcome;
use crate::protocol::Revision;
use crate::sync::{lock, until};
use crate::task::Job;
use clock::AnswerClock;

/// How a call that is not a task reaches its client.
#[derive(Debug)]
pub(super) enum Channel {
    /// Not at all, and why.
    Unreachable(&'static str),
    /// By a request to the client, in its session.
    Session(SessionChannel),
    /// By the response to the call, which the client then retries.
    Rounds(Box<Rounds>),
}

/// What a dialogue begins with: nothing, or what an earlier round left.
#[derive(Debug, Default)]
pub(super) struct Origin {
    pub(super) id: Option<String>,
    pub(super) once_results: OnceResults,
    pub(super) claims: Option<DialogueClaims>,
}

/// One call's dialogue with its client.
#[derive(Debug)]
pub(crate) struct Dialogue {
    channel: Channel,
    /// Of an earlier round, or made when it is first needed: most calls need none.
    id: OnceLock<String>,
    /// Where `once` blocks are claimed, if there may be copies of this run.
    claims: Option<DialogueClaims>,
    pub(super) asks_per_call: usize,
    answer_timeout: Duration,
    /// The task that was planned for the call. Set once; the phase tells whether the call has become it.
    job: OnceLock<Arc<Job>>,
    state: Mutex<State>,
    /// Notified after every transition.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    phase: Phase,
    /// How many asks were created: an ask without a name is named by its position.
    asks: usize,
    /// The keys of the asks that were awaited.
    asked: HashSet<String>,
    once_results: OnceResults,
    /// The keys of the `once` blocks that run, or have returned in this run of the handler.
    once_keys: HashSet<String>,
    /// How many `once` blocks run that this run has claimed.
    claimed_blocks: usize,
    clock: AnswerClock,
}

/// Where a call is on its way to becoming a task, and to its end. The module documentation has the diagram.
///
/// The transitions are pure: each returns the next phase, or `None` where it does not apply.
#[derive(Debug, Default)]
enum Phase {
    #[default]
    Call,
    /// The dispatcher polls the handler. It has to be woken, since the handler may run on its own thread.
    TaskPlanned {
        dispatcher: Option<Waker>,
    },
    TaskWanted,
    Task,
    Over {
        was_task: bool,
    },
}

impl Phase {
    fn plan(&self, asks_first: bool) -> Option<Phase> {
        match self {
            Phase::Call if asks_first => Some(Phase::TaskPlanned { dispatcher: None }),
            Phase::Call => Some(Phase::Task),
            _ => None,
        }
    }

    fn start_task(&self) -> Option<Phase> {
        matches!(self, Phase::TaskPlanned { .. }).then_some(Phase::TaskWanted)
    }

    fn became(&self) -> Option<Phase> {
        matches!(self, Phase::TaskWanted).then_some(Phase::Task)
    }

    fn declined(&self) -> Option<Phase> {
        matches!(self, Phase::TaskWanted | Phase::Task).then_some(Phase::Call)
    }

    fn planned_task(&self) -> Option<Phase> {
        self.is_becoming().then_some(Phase::Call)
    }

    fn end(&self) -> Option<Phase> {
        (!self.is_over()).then_some(Phase::Over { was_task: self.is_task() })
    }

    fn is_becoming(&self) -> bool {
        matches!(self, Phase::TaskPlanned { .. } | Phase::TaskWanted)
    }

    fn is_task(&self) -> bool {
        matches!(self, Phase::Task | Phase::Over { was_task: true })
    }

    fn is_over(&self) -> bool {
        matches!(self, Phase::Over { .. })
    }
}

/// Transitions.
impl Dialogue {
    /// Moves to the phase that `next` returns. Returns the phase before, if there was a transition.
    fn transition(&self, next: impl FnOnce(&Phase) -> Option<Phase>) -> Option<Phase> {
        let before = {
            let phase = &mut self.state().phase;
            let next = next(phase)?;
            std::mem::replace(phase, next)
        };
        self.changed.notify_waiters();
        Some(before)
    }

    /// Makes the call a task, or has it become one when the handler awaits [`start_task`](Self::start_task).
    pub(crate) fn plan(&self, job: Arc<Job>) {
        let asks_first = job.asks_first;
        #[cfg(feature = "http")]
        self.join(&job);
        if self.job.set(job).is_ok() {
            self.transition(|phase| phase.plan(asks_first));
        }
    }

    /// Turns the call into the task that was planned, and returns when it is one. Without a plan, nothing
    /// happens.
    pub(super) async fn start_task(&self) {
        if let Some(Phase::TaskPlanned { dispatcher: Some(dispatcher) }) = self.transition(Phase::start_task) {
            dispatcher.wake();
        }
        until(&self.changed, || !self.state().phase.is_becoming()).await;
    }

    /// The task that the handler waits to become. Otherwise, the dispatcher is woken when there is one.
    pub(crate) fn wanted_task(&self, cx: &Context<'_>) -> Option<Arc<Job>> {
        // Most calls have no task and need no lock.
        let job = self.job.get()?;
        // Declared before the guard, so that the replaced waker is dropped after it.
        let mut waker = Some(cx.waker().clone());
        match &mut self.state().phase {
            Phase::TaskPlanned { dispatcher } => std::mem::swap(dispatcher, &mut waker),
            Phase::TaskWanted => return Some(Arc::clone(job)),
            Phase::Call | Phase::Task | Phase::Over { .. } => {}
        }
        None
    }

    /// Takes back the plan, of a handler that has returned before it became a task.
    pub(crate) fn planned_task(&self) -> Option<Arc<Job>> {
        let job = self.job.get()?;
        self.transition(Phase::planned_task).map(|_| Arc::clone(job))
    }

    /// Decides about the task that was planned: it has been created, or there is no room and the call stays a call.
    pub(crate) fn settle(&self, job: Option<&Arc<Job>>) {
        match job {
            Some(job) => self.became(job),
            None => drop(self.transition(Phase::declined)),
        }
    }

    /// The task has been created: from now on, the call asks through it.
    pub(crate) fn became(&self, job: &Arc<Job>) {
        debug_assert!(self.job.get().is_some_and(|planned| Arc::ptr_eq(planned, job)), "not the task that was planned");
        self.transition(Phase::became);
        // After the transition: no ask may come to a round that is over.
        if let Channel::Rounds(rounds) = &self.channel {
            rounds.end();
        }
    }

    /// The call is over. What the handler has left behind, on its own thread, gets no answers.
    pub(crate) fn end(&self) {
        self.transition(Phase::end);
    }
}

impl Dialogue {
    pub(super) fn new(channel: Channel, origin: Origin, limits: &Limits) -> Self {
        let Origin { id, once_results, claims } = origin;
        Dialogue {
            channel,
            id: id.map_or_else(OnceLock::new, OnceLock::from),
            claims,
            asks_per_call: limits.asks_per_call,
            answer_timeout: limits.answer_timeout,
            job: OnceLock::new(),
            state: Mutex::new(State { once_results, ..State::default() }),
            changed: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// The task that the call has become.
    pub(crate) fn task(&self) -> Option<&Arc<Job>> {
        let job = self.job.get()?;
        self.state().phase.is_task().then_some(job)
    }

    /// The id of the task, in revisions whose notifications name it.
    pub(crate) fn named(&self, revision: Revision) -> Option<&str> {
        self.task().map(|job| job.id()).filter(|_| revision.relates_task_messages())
    }

    /// Whether the client can be asked, or why not.
    pub(super) fn reachable(&self) -> Result<(), &'static str> {
        match &self.channel {
            Channel::Unreachable(why) if self.task().is_none() => Err(why),
            _ => Ok(()),
        }
    }

    /// The key of an ask without a name: its position among the asks of the call.
    pub(super) fn next_key(&self) -> String {
        let mut state = self.state();
        state.asks += 1;
        format!("ask-{}", state.asks)
    }

    /// Asks the client, and waits for the answer or the end of the call.
    pub(super) async fn ask(&self, key: &str, posed: Posed) -> std::result::Result<Value, AskError> {
        once::forbids_asking()?;
        self.admit(key)?;
        tokio::select! {
            biased;
            answer = self.answer(key, posed) => answer,
            () = until(&self.changed, || self.state().phase.is_over()) => Err(AskError::Disconnected),
        }
    }

    /// Counts an ask. Its key is unique in the call: the key tells which answer belongs to which ask.
    fn admit(&self, key: &str) -> std::result::Result<(), AskError> {
        let mut state = self.state();
        if state.asked.len() >= self.asks_per_call {
            return Err(AskError::Misused(format!("a call asks at most {} times", self.asks_per_call)));
        }
        if !state.asked.insert(key.into()) {
            return Err(AskError::Misused(format!("two asks of one call have the key `{key}`; give each its own")));
        }
        if state.phase.is_over() { Err(AskError::Disconnected) } else { Ok(()) }
    }

    async fn answer(&self, key: &str, posed: Posed) -> std::result::Result<Value, AskError> {
        let limit = posed.limit.unwrap_or(self.answer_timeout);
        if let Some(job) = self.task() {
            let _waiting = self.wait();
            return job.ask(key, &posed, limit).await;
        }
        #[cfg(feature = "http")]
        let durable = self.durable().map(|durable| (durable, posed.digest()));
        let answer = self.answer_in_call(key, posed, limit).await;
        #[cfg(feature = "http")]
        if let Some((durable, digest)) = durable {
            durable.remember_early(key, digest, &answer);
        }
        answer
    }

    /// The answer to a question of a call that is not a task.
    async fn answer_in_call(&self, key: &str, posed: Posed, limit: Duration) -> std::result::Result<Value, AskError> {
        match &self.channel {
            Channel::Unreachable(why) => Err(AskError::Unsupported(Unsupported::here(*why))),
            Channel::Session(session) => {
                let _waiting = self.wait();
                session.ask(posed.question.method, &posed.question.params, limit).await
            }
            // The handler does not wait here: it is dropped.
            Channel::Rounds(rounds) => rounds.ask(key, posed).await,
        }
    }

    /// The response that asks the questions of this round, when the handler waits for nothing but answers.
    pub(crate) fn poll_round(&self, cx: &mut Context<'_>) -> Poll<Outcome> {
        match &self.channel {
            Channel::Rounds(rounds) => rounds.poll(cx, || {
                let id = self.try_id().map_err(|error| {
                    tracing::error!(%error, "no id for a dialogue");
                    RpcError::new(RpcError::INTERNAL, "The server cannot ask the client now; retry later")
                })?;
                Ok((id.to_owned(), self.state().once_results.clone()))
            }),
            Channel::Unreachable(_) | Channel::Session(_) => Poll::Pending,
        }
    }

    /// The attempt at which an ask with these keys goes on, one for each of its retries.
    pub(super) fn newest_attempt(&self, keys: &[String]) -> usize {
        #[cfg(feature = "http")]
        if let Some(newest) = self.durable().and_then(|durable| durable.newest_answered(keys)) {
            return newest;
        }
        match &self.channel {
            Channel::Rounds(rounds) if keys.len() > 1 && self.task().is_none() => rounds.newest_attempt(keys),
            _ => 0,
        }
    }

    pub(crate) fn answer_timeout(&self) -> Duration {
        self.answer_timeout
    }

    /// How long the call has waited for answers so far. The handler's timeout does not include it.
    pub(crate) fn waited(&self) -> Duration {
        self.state().clock.waited(Instant::now())
    }

    /// Whether the handler waits for an answer of its client, in a session or as a task.
    pub(crate) fn is_waiting(&self) -> bool {
        self.state().clock.waiting > 0
    }

    /// How many rounds of questions the call had before this one.
    pub(crate) fn earlier_rounds(&self) -> usize {
        match &self.channel {
            Channel::Rounds(rounds) => rounds.earlier(),
            Channel::Unreachable(_) | Channel::Session(_) => 0,
        }
    }

    fn wait(&self) -> WaitGuard<'_> {
        self.state().clock.start(Instant::now());
        WaitGuard(self)
    }
}

/// An ask that waits. Stops the clock on drop.
struct WaitGuard<'a>(&'a Dialogue);

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        self.0.state().clock.stop(Instant::now());
    }
}

#[cfg(test)]
mod tests;
