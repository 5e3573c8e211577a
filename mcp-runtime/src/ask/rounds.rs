//! Asking by rounds: the response to the call contains its questions, and the client retries with the answers.
//!
//! An ask without an answer is parked. When the handler waits for nothing but parked asks, it is dropped,
//! and the client gets the questions with a sealed state: the answers so far. The retry runs the handler
//! from the top, and the asks that were answered resolve at once.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>

mod state;

use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Notify;

use super::AskError;
use super::binding::StateBinding;
use super::question::Posed;
use super::sealed_state::StateSealer;
use crate::jsonrpc::error::RpcError;
use crate::outcome::{Failure, Outcome, Reply};
use crate::sync::{lock, until};
use state::{Asked, RoundState, millis, now};
pub(crate) use state::{OnceResults, Resumed};

/// The current round of one call.
#[derive(Debug)]
pub(super) struct Rounds {
    binding: StateBinding,
    sealer: Arc<StateSealer>,
    bounds: Bounds,
    state: Mutex<Round>,
    /// Notified when the round is over.
    ended: Notify,
}

/// The limits of a state: how long it is valid, how large it may be, and after how many rounds the call fails.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) ttl: Duration,
    pub(super) bytes: usize,
    pub(super) rounds: usize,
}

#[derive(Debug, Default)]
struct Round {
    resumed: Resumed,
    /// The questions of the asks that are parked, each with its key.
    asked: Vec<(String, Posed)>,
    /// Whether the handler has repeated a question of the last round.
    familiar: bool,
    /// How many `once` blocks run. The handler is not dropped before they return.
    holds: usize,
    /// The dispatcher polls the handler, which may run on another thread.
    dispatcher: Option<Waker>,
    over: bool,
}

impl Rounds {
    pub(super) fn new(
        binding: StateBinding,
        sealer: Arc<StateSealer>,
        resumed: Option<Resumed>,
        bounds: Bounds,
    ) -> Self {
        let state = Round { resumed: resumed.unwrap_or_default(), ..Round::default() };
        Rounds { binding, sealer, bounds, state: Mutex::new(state), ended: Notify::new() }
    }

    fn round(&self) -> MutexGuard<'_, Round> {
        lock(&self.state)
    }

    /// The answer, if the client has sent it. Otherwise parks: this round brings no answer.
    pub(super) async fn ask(&self, key: &str, posed: Posed) -> Result<Value, AskError> {
        if let Some(answer) = self.round().answer(key, &posed)? {
            return Ok(answer);
        }
        let _parked = self.park(key, posed);
        until(&self.ended, || self.round().over).await;
        // Only a handler on its own thread comes here: others have been dropped.
        Err(AskError::Misused("this round of questions is over, and the call continues without an answer".to_owned()))
    }

    /// How many rounds there were before this one.
    pub(super) fn earlier(&self) -> usize {
        self.round().resumed.rounds()
    }

    fn park(&self, key: &str, posed: Posed) -> ParkedAsk<'_> {
        self.change(|round| round.asked.push((key.to_owned(), posed)));
        ParkedAsk { rounds: self, key: key.to_owned() }
    }

    /// The attempt at which an ask that may be repeated goes on: the newest the client has answered. Its earlier
    /// answers were rejected, and the newest is the user's word, even if an earlier one would be accepted by now.
    pub(super) fn newest_attempt(&self, keys: &[String]) -> usize {
        self.round().newest_attempt(keys)
    }

    /// Keeps the round open until the guard is dropped.
    pub(super) fn hold(&self) -> RoundHold<'_> {
        self.round().holds += 1;
        RoundHold(self)
    }

    /// Changes the round, and wakes the dispatcher after the lock is released.
    fn change(&self, change: impl FnOnce(&mut Round)) {
        let dispatcher = {
            let mut round = self.round();
            change(&mut round);
            round.dispatcher.take()
        };
        if let Some(dispatcher) = dispatcher {
            dispatcher.wake();
        }
    }

    /// The response with the questions of this round, when asks are parked and no `once` block runs.
    pub(super) fn poll(
        &self,
        cx: &mut Context<'_>,
        dialogue: impl FnOnce() -> Result<(String, OnceResults), RpcError>,
    ) -> Poll<Outcome> {
        // Declared before the guard, so that the replaced waker is dropped after it.
        let mut waker = Some(cx.waker().clone());
        let mut round = self.round();
        if round.asked.is_empty() || round.holds > 0 || round.over {
            std::mem::swap(&mut round.dispatcher, &mut waker);
            return Poll::Pending;
        }
        round.over = true;
        let asked = std::mem::take(&mut round.asked);
        let Resumed { mut state, responses, .. } = std::mem::take(&mut round.resumed);
        let lost = state.pending.first().filter(|_| !round.familiar).map(|asked| changed(&asked.key).to_failure());
        drop(round);
        self.ended.notify_waiters();
        // The handler did not come to these asks in this run. The client has answered and is not asked again.
        for (key, answer) in responses {
            if let Some(Asked { question, .. }) = Asked::find(&state.pending, &key) {
                state.answered.push(Asked { question: *question, key, answer, deadline: None, late: false });
            }
        }
        let late = state.pending.extract_if(.., |asked| asked.late);
        state.answered.extend(late);
        Poll::Ready(match (lost, dialogue()) {
            // The next round would be the same, and so on without end.
            (Some(failure), _) => Err(failure),
            (None, Ok((dialogue, once_results))) => {
                self.conclude(asked, RoundState { dialogue, once_results, ..state })
            }
            (None, Err(error)) => Err(error.into()),
        })
    }

    /// Ends the round without a response: the call has become a task.
    pub(super) fn end(&self) {
        self.round().over = true;
        self.ended.notify_waiters();
    }

    fn conclude(&self, asked: Vec<(String, Posed)>, mut state: RoundState) -> Outcome {
        state.rounds += 1;
        if state.rounds > self.bounds.rounds {
            let text = format!("a call has at most {} rounds of questions", self.bounds.rounds);
            return Err(Failure::Handler(text.into()));
        }
        // The state outlives the timeouts of its questions, so that the handler gets to know of them.
        let longest = asked.iter().filter_map(|(_, posed)| posed.limit).max().unwrap_or_default();
        let ttl = self.bounds.ttl.saturating_add(longest).as_secs().max(1);
        state.expires = now().saturating_add(ttl);
        state.last_expires = state.last_expires.max(state.expires);
        state.pending = asked.iter().map(|(key, posed)| pending(key, posed, &state.pending)).collect();
        let failed = |text: &str| Failure::Protocol(RpcError::new(RpcError::INTERNAL, text.to_owned()));
        let text = serde_json::to_vec(&state).map_err(|_| failed("The state of the call cannot be written"))?;
        if text.len() > self.bounds.bytes {
            let text = format!(
                "the state of this call has {} bytes, and {} is the limit (`Limits::state_bytes`): ask for less at a \
                 time, and return less from `ctx.once`",
                text.len(),
                self.bounds.bytes
            );
            return Err(Failure::Handler(text.into()));
        }
        if !self.sealer.is_ready() {
            return Err(Failure::Unavailable("The server cannot ask the client now; retry later"));
        }
        let state = self.sealer.seal(text, &self.binding.bytes()).map_err(|error| {
            tracing::error!(%error, "the state of a call could not be sealed");
            Failure::Unavailable("The server cannot ask the client now; retry later")
        })?;
        let asked = asked.into_iter().map(|(key, posed)| (key, posed.question)).collect();
        Ok(Reply::InputRequired { asked, state })
    }
}

/// A question of this round. One that was asked before keeps its deadline: the client has had that time.
fn pending(key: &str, posed: &Posed, before: &[Asked]) -> Asked {
    let question = posed.digest();
    let asked_before = Asked::find(before, key).filter(|asked| asked.question == question);
    let deadline = || {
        let limit = u64::try_from(posed.limit?.as_millis()).unwrap_or(u64::MAX);
        Some(millis().saturating_add(limit))
    };
    let deadline = asked_before.map_or_else(deadline, |asked| asked.deadline);
    Asked { key: key.to_owned(), question, answer: Value::Null, deadline, late: false }
}

impl Round {
    /// The client's answer under this key, from this retry or an earlier one.
    fn answer(&mut self, key: &str, posed: &Posed) -> Result<Option<Value>, AskError> {
        let (digest, question) = (posed.digest(), &posed.question);
        let Resumed { state, sealed, responses } = &mut self.resumed;
        let pending = Asked::find(&state.pending, key);
        self.familiar |= pending.is_some();
        match Asked::find(&state.answered, key) {
            Some(answered) if answered.question != digest => return Err(changed(key)),
            Some(Asked { late: true, .. }) => return Err(posed.timed_out()),
            Some(Asked { answer, .. }) if question.is_answered_by(answer) => return Ok(Some(answer.clone())),
            // Malformed: it was kept without a look at it.
            Some(_) => {
                state.answered.retain(|answered| answered.key != key);
                return Ok(None);
            }
            None => {}
        }
        match pending {
            Some(asked) if asked.question != digest => return Err(changed(key)),
            Some(Asked { late: true, .. }) => return Err(posed.timed_out()),
            // It was not asked, so it cannot have been answered.
            None if *sealed => return Ok(None),
            _ => {}
        }
        // A malformed answer is asked for again.
        let Some(answer) = responses.remove(key).filter(|answer| question.is_answered_by(answer)) else {
            return Ok(None);
        };
        let (key, deadline) = (key.to_owned(), None);
        state.answered.push(Asked { key, question: digest, answer: answer.clone(), deadline, late: false });
        Ok(Some(answer))
    }

    fn newest_attempt(&mut self, keys: &[String]) -> usize {
        let Resumed { state, responses, .. } = &self.resumed;
        let is_known =
            |key: &str| Asked::find(&state.pending, key).is_some() || Asked::find(&state.answered, key).is_some();
        let Some(newest) = (1..keys.len()).rev().find(|at| is_known(&keys[*at])) else { return 0 };
        let key = &keys[newest];
        // The handler may not come to it: if it is not answered yet, the answer before tells what was wrong.
        self.familiar |= Asked::find(&state.pending, key).is_some();
        let late = Asked::find(&state.pending, key).is_some_and(|asked| asked.late);
        let settled = late || responses.contains_key(key) || Asked::find(&state.answered, key).is_some();
        if settled { newest } else { newest - 1 }
    }
}

fn changed(key: &str) -> AskError {
    AskError::Misused(format!(
        "this call does not ask under the key `{key}` what it asked in the round before. A call that asks runs again \
         for every answer: ask in the same order with the same texts, name asks with `.key(…)`, and keep what changes \
         between runs in `ctx.once`"
    ))
}

/// An ask that is parked in this round. Its question is withdrawn on drop.
struct ParkedAsk<'a> {
    rounds: &'a Rounds,
    key: String,
}

impl Drop for ParkedAsk<'_> {
    fn drop(&mut self) {
        self.rounds.round().asked.retain(|(key, _)| *key != self.key);
    }
}

/// Keeps the round open: the handler is not dropped before this is.
pub(super) struct RoundHold<'a>(&'a Rounds);

impl Drop for RoundHold<'_> {
    fn drop(&mut self) {
        self.0.change(|round| round.holds -= 1);
    }
}

#[cfg(test)]
mod tests;
