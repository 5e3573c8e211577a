//! Asking by rounds: the response to the call contains its questions, and the client retries with the answers.
//!
//! An ask without an answer is parked. When the handler waits for nothing but parked asks, it is dropped,
//! and the client gets the questions with a sealed state: the answers so far. The retry runs the handler
//! from the top, and the asks that were answered resolve at once.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Notify;

use super::question::{canonical, read_responses};
use super::sealed_state::StateSealer;
use super::{AskError, OnceResults};
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::{Raw, from_bytes};
use crate::outcome::{Failure, Outcome, Question, Reply};
use crate::sync::{lock, until};

/// What the client carries between rounds, sealed.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RoundState {
    /// In seconds since 1970.
    #[serde(rename = "e")]
    expires: u64,
    /// The questions that were answered so far.
    #[serde(rename = "a")]
    answered: Vec<Asked>,
    /// The questions of the last round.
    #[serde(rename = "p")]
    pending: Vec<Asked>,
    #[serde(rename = "o")]
    once_results: OnceResults,
    /// How many rounds there were.
    #[serde(rename = "r")]
    rounds: usize,
}

/// A question. `Limits::asks_per_call` bounds their number, so they are searched one by one.
#[derive(Debug, Serialize, Deserialize)]
struct Asked {
    #[serde(rename = "k")]
    key: String,
    /// The digest of the question.
    #[serde(rename = "q")]
    question: u64,
    /// Null while it is pending: answers are objects.
    #[serde(rename = "a")]
    answer: Value,
}

impl Asked {
    fn find<'a>(asked: &'a [Asked], key: &str) -> Option<&'a Asked> {
        asked.iter().find(|asked| asked.key == key)
    }
}

/// What a retried call brings back: the state, and the answers to the questions of the last round.
#[derive(Debug, Default)]
pub(crate) struct Resumed {
    state: RoundState,
    /// Whether there is a state. A first call has none, and may bring answers to any question.
    sealed: bool,
    responses: BTreeMap<String, Value>,
}

impl Resumed {
    /// Reads what a call brings back, if it is a retry. Rejects a state that is forged, expired, or bound to
    /// another call.
    pub(crate) fn read(
        params: &Object<'_>,
        binding: &StateBinding,
        sealer: &StateSealer,
    ) -> Result<Option<Self>, RpcError> {
        let (responses, state) = (params.get("inputResponses"), params.get("requestState"));
        if responses.is_none() && state.is_none() {
            return Ok(None);
        }
        let mut resumed = Self::default();
        if let Some(responses) = responses {
            resumed.responses.extend(read_responses(responses)?);
        }
        if let Some(state) = state {
            let text = state.text().ok_or_else(|| RpcError::wrong_field("requestState", "string", state.kind()))?;
            resumed.state = open(&text, binding, sealer)?;
            resumed.sealed = true;
        }
        Ok(Some(resumed))
    }

    pub(super) fn take_once_results(&mut self) -> OnceResults {
        std::mem::take(&mut self.state.once_results)
    }
}

fn open(text: &str, binding: &StateBinding, sealer: &StateSealer) -> Result<RoundState, RpcError> {
    let rejected = |why: &str| RpcError::invalid_params(format!("Invalid params: `requestState` {why}"));
    let bytes = sealer.open(text, &binding.bytes()).ok_or_else(|| {
        sealer.warn_once();
        rejected("is not what this server sent for this call; make the call again without it and `inputResponses`")
    })?;
    let state: RoundState = from_bytes(&bytes)
        .ok_or_else(|| rejected("is of another version of this server; make the call again without it"))?;
    if state.expires < now() {
        return Err(rejected("has expired; make the call again without it and `inputResponses`"));
    }
    Ok(state)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// What a state is bound to: one call of one principal.
#[derive(Debug, Clone)]
pub(crate) struct StateBinding {
    pub(crate) principal: Option<Arc<str>>,
    pub(crate) method: &'static str,
    pub(crate) params: Option<Box<str>>,
}

impl StateBinding {
    /// Canonical bytes: equal for equal calls, in whatever order the client sends the members.
    fn bytes(&self) -> Vec<u8> {
        let params = self.params.as_deref().and_then(|raw| Object::read(Raw::new_unchecked(raw)).ok());
        let params = params.unwrap_or_default();
        let of_the_round = |name: &str| matches!(name, "_meta" | "inputResponses" | "requestState");
        let mut members: Vec<_> = params.iter().filter(|(name, _)| !of_the_round(name)).collect();
        members.sort_unstable_by_key(|(name, _)| *name);
        let mut bytes = Vec::new();
        canonical(&serde_json::json!([self.method, self.principal.as_deref()]), &mut bytes);
        for (name, value) in members {
            canonical(&Value::from(name), &mut bytes);
            match serde_json::from_str(value.get()) {
                Ok(value) => canonical(&value, &mut bytes),
                // JSON that no `Value` can hold, as `1e999`. A handler may ignore it, so it is compared as text.
                Err(_) => bytes.extend_from_slice(format!("!{}", value.get()).as_bytes()),
            }
        }
        bytes
    }
}

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
    /// The questions of the asks that are parked.
    asked: Vec<(String, Question)>,
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
    pub(super) async fn ask(&self, key: &str, question: Question) -> Result<Value, AskError> {
        if let Some(answer) = self.round().answer(key, &question)? {
            return Ok(answer);
        }
        let _parked = self.park(key, question);
        until(&self.ended, || self.round().over).await;
        // Only a handler on its own thread comes here: others have been dropped.
        Err(AskError::Misused("this round of questions is over, and the call continues without an answer".to_owned()))
    }

    fn park(&self, key: &str, question: Question) -> ParkedAsk<'_> {
        self.change(|round| round.asked.push((key.to_owned(), question)));
        ParkedAsk { rounds: self, key: key.to_owned() }
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
    pub(super) fn poll(&self, cx: &mut Context<'_>, once_results: impl FnOnce() -> OnceResults) -> Poll<Outcome> {
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
                state.answered.push(Asked { question: *question, key, answer });
            }
        }
        Poll::Ready(match lost {
            // The next round would be the same, and so on without end.
            Some(failure) => Err(failure),
            None => self.conclude(asked, RoundState { once_results: once_results(), ..state }),
        })
    }

    /// Ends the round without a response: the call has become a task.
    pub(super) fn end(&self) {
        self.round().over = true;
        self.ended.notify_waiters();
    }

    fn conclude(&self, asked: Vec<(String, Question)>, mut state: RoundState) -> Outcome {
        state.expires = now().saturating_add(self.bounds.ttl.as_secs().max(1));
        state.rounds += 1;
        if state.rounds > self.bounds.rounds {
            return Err(Failure::Handler(format!("a call has at most {} rounds of questions", self.bounds.rounds)));
        }
        let pending = |(key, question): &(String, Question)| {
            let question = question.digest();
            Asked { key: key.clone(), question, answer: Value::Null }
        };
        state.pending = asked.iter().map(pending).collect();
        let failed = |text: &str| Failure::Protocol(RpcError::new(RpcError::INTERNAL, text.to_owned()));
        let text = serde_json::to_vec(&state).map_err(|_| failed("The state of the call cannot be written"))?;
        if text.len() > self.bounds.bytes {
            return Err(Failure::Handler(format!(
                "the state of this call has {} bytes, and {} is the limit (`Limits::state_bytes`): ask for less at a \
                 time, and return less from `ctx.once`",
                text.len(),
                self.bounds.bytes
            )));
        }
        let state = self.sealer.seal(text, &self.binding.bytes()).map_err(|error| {
            tracing::error!(%error, "the state of a call could not be sealed");
            failed("The server cannot ask the client now; retry later")
        })?;
        Ok(Reply::InputRequired { asked, state })
    }
}

impl Round {
    /// The client's answer under this key, from this retry or an earlier one.
    fn answer(&mut self, key: &str, question: &Question) -> Result<Option<Value>, AskError> {
        let digest = question.digest();
        let Resumed { state, sealed, responses } = &mut self.resumed;
        let pending = Asked::find(&state.pending, key);
        self.familiar |= pending.is_some();
        match Asked::find(&state.answered, key) {
            Some(answered) if answered.question != digest => return Err(changed(key)),
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
            // It was not asked, so it cannot have been answered.
            None if *sealed => return Ok(None),
            _ => {}
        }
        // A malformed answer is asked for again.
        let Some(answer) = responses.remove(key).filter(|answer| question.is_answered_by(answer)) else {
            return Ok(None);
        };
        state.answered.push(Asked { key: key.to_owned(), question: digest, answer: answer.clone() });
        Ok(Some(answer))
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
