//! Asking without a session: the call is answered with its questions, and made again with the answers.
//!
//! An ask that has no answer yet is noted and stays pending. When the handler waits for that, it is
//! dropped, and the client gets the questions with a sealed state: what was answered so far. The call
//! that comes back runs the handler from the top, and the same lines resolve at once.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Notify;

use super::question::canonical;
use super::sealed_state::StateSealer;
use super::{AskError, OnceResults};
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::object::{Object, optional_object};
use crate::jsonrpc::raw::Raw;
use crate::outcome::{Failure, Outcome, Question, Reply};
use crate::sync::{lock, until};

/// What the client keeps for us between rounds.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RoundState {
    /// When it is worth nothing any more, in seconds since 1970.
    #[serde(rename = "e")]
    expires: u64,
    /// What was answered, by key.
    #[serde(rename = "a")]
    answers: BTreeMap<String, Answered>,
    /// What was asked last, by key: the digests of the questions.
    #[serde(rename = "p")]
    pending: BTreeMap<String, u64>,
    /// What `once` has done.
    #[serde(rename = "o")]
    memory: OnceResults,
    /// How many rounds there were.
    #[serde(rename = "r")]
    rounds: usize,
}

#[derive(Debug, Serialize, Deserialize)]
struct Answered {
    #[serde(rename = "q")]
    question: u64,
    #[serde(rename = "a")]
    answer: Value,
}

/// What a call brings back: the state, and answers to what was asked last.
#[derive(Debug, Default)]
pub(crate) struct Resumed {
    state: RoundState,
    /// Without a state, every answer is as good as any: it is the first round.
    sealed: bool,
    responses: BTreeMap<String, Value>,
}

impl Resumed {
    /// What a call brings back, if it does. A state that is not ours, for this call and of today, is refused.
    pub(crate) fn read(
        params: &Object<'_>,
        purpose: &StateBinding,
        secrets: &StateSealer,
    ) -> Result<Option<Self>, RpcError> {
        let (responses, state) = (params.get("inputResponses"), params.get("requestState"));
        if responses.is_none() && state.is_none() {
            return Ok(None);
        }
        let mut resumed = Resumed { responses: read_responses(responses)?, ..Self::default() };
        if let Some(state) = state {
            let sealed = state.text().ok_or_else(|| RpcError::wrong_field("requestState", "string", state.kind()))?;
            resumed.state = open(&sealed, purpose, secrets)?;
            resumed.sealed = true;
        }
        Ok(Some(resumed))
    }

    pub(super) fn memory(&mut self) -> OnceResults {
        std::mem::take(&mut self.state.memory)
    }
}

fn read_responses(raw: Option<Raw<'_>>) -> Result<BTreeMap<String, Value>, RpcError> {
    let Some(raw) = raw else { return Ok(BTreeMap::new()) };
    if raw.kind() != "object" {
        return Err(RpcError::wrong_field("inputResponses", "object", raw.kind()));
    }
    let all = optional_object("inputResponses", Some(raw))?;
    let mut responses = BTreeMap::new();
    for (key, response) in all.iter() {
        match serde_json::from_str(response.get()) {
            Ok(Value::Object(response)) => drop(responses.insert(key.to_owned(), response.into())),
            _ => {
                let field = format!("inputResponses.{}", crate::jsonrpc::error::shorten(key));
                return Err(RpcError::wrong_field(&field, "object", response.kind()));
            }
        }
    }
    Ok(responses)
}

fn open(sealed: &str, purpose: &StateBinding, secrets: &StateSealer) -> Result<RoundState, RpcError> {
    let refused = |why: &str| RpcError::invalid_params(format!("Invalid params: `requestState` {why}"));
    let bytes = secrets.open(sealed, &purpose.bytes()).ok_or_else(|| {
        secrets.warn_once();
        refused("is not what this server sent for this call; make the call again without it and `inputResponses`")
    })?;
    let state: RoundState = serde_json::from_slice(&bytes)
        .map_err(|_| refused("is of another version of this server; make the call again without it"))?;
    if state.expires < now() {
        return Err(refused("has expired; make the call again without it and `inputResponses`"));
    }
    Ok(state)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// What a state is good for: one call, whoever makes it.
#[derive(Debug, Clone)]
pub(crate) struct StateBinding {
    pub(crate) principal: Option<Arc<str>>,
    pub(crate) method: &'static str,
    pub(crate) params: Option<Box<str>>,
}

impl StateBinding {
    /// The same for the same call, in whatever order its members came.
    fn bytes(&self) -> Vec<u8> {
        let params = self.params.as_deref().and_then(|raw| Object::read(Raw::new_unchecked(raw)).ok());
        let params = params.unwrap_or_default();
        let of_the_round = |name: &str| matches!(name, "_meta" | "inputResponses" | "requestState");
        let mut optional_object: Vec<_> = params.iter().filter(|(name, _)| !of_the_round(name)).collect();
        optional_object.sort_unstable_by_key(|(name, _)| *name);
        let mut bytes = Vec::new();
        canonical(&serde_json::json!([self.method, self.principal.as_deref()]), &mut bytes);
        for (name, value) in optional_object {
            canonical(&Value::from(name), &mut bytes);
            match serde_json::from_str(value.get()) {
                Ok(value) => canonical(&value, &mut bytes),
                // No value can hold it, and a handler may overlook it: then it is the same letter by letter.
                Err(_) => bytes.extend_from_slice(format!("!{}", value.get()).as_bytes()),
            }
        }
        bytes
    }
}

/// One call's rounds.
#[derive(Debug)]
pub(super) struct Rounds {
    purpose: StateBinding,
    secrets: Arc<StateSealer>,
    bounds: Bounds,
    state: Mutex<Round>,
    /// Told when the round is over.
    ended: Notify,
}

/// How long a state is good, and how long it may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) time: Duration,
    pub(super) bytes: usize,
    pub(super) rounds: usize,
}

#[derive(Debug, Default)]
struct Round {
    resumed: Resumed,
    asked: Vec<(String, Question)>,
    /// Whether something was asked again of what was asked last.
    familiar: bool,
    /// Effects that must not be cut off.
    busy: usize,
    dispatcher: Option<Waker>,
    over: bool,
}

impl Rounds {
    pub(super) fn new(
        purpose: StateBinding,
        secrets: Arc<StateSealer>,
        resumed: Option<Resumed>,
        bounds: Bounds,
    ) -> Self {
        let state = Round { resumed: resumed.unwrap_or_default(), ..Round::default() };
        Rounds { purpose, secrets, bounds, state: Mutex::new(state), ended: Notify::new() }
    }

    fn round(&self) -> MutexGuard<'_, Round> {
        lock(&self.state)
    }

    /// The answer, if it is there; otherwise it never comes in this round.
    pub(super) async fn ask(&self, key: &str, question: Question) -> Result<Value, AskError> {
        if let Some(answer) = self.round().answer(key, &question)? {
            return Ok(answer);
        }
        let _asked = self.note(key, question);
        until(&self.ended, || self.round().over).await;
        // Nobody is here but a handler on a thread of its own, which cannot be dropped.
        Err(AskError::Misused("the call goes on without this question; its round is over".to_owned()))
    }

    fn note(&self, key: &str, question: Question) -> AnsweredQuestion<'_> {
        let mut round = self.round();
        round.asked.push((key.to_owned(), question));
        round.wake();
        AnsweredQuestion { rounds: self, key: key.to_owned() }
    }

    /// Says that something must not be cut off, until what is returned is dropped.
    pub(super) fn busy(&self) -> Busy<'_> {
        self.round().busy += 1;
        Busy(self)
    }

    /// The questions of this round, when there are some and nothing else goes on that matters.
    pub(super) fn poll(&self, cx: &mut Context<'_>, memory: impl FnOnce() -> OnceResults) -> Poll<Outcome> {
        let mut round = self.round();
        if round.asked.is_empty() || round.busy > 0 || round.over {
            round.dispatcher = Some(cx.waker().clone());
            return Poll::Pending;
        }
        round.over = true;
        let asked = std::mem::take(&mut round.asked);
        let state = std::mem::take(&mut round.resumed.state);
        let lost = state.pending.keys().next().filter(|_| !round.familiar).map(|key| changed(key).to_failure());
        drop(round);
        self.ended.notify_waiters();
        Poll::Ready(match lost {
            // The next round would be like this one, without end.
            Some(failure) => Err(failure),
            None => self.conclude(asked, RoundState { memory: memory(), ..state }),
        })
    }

    /// There is no other round: the call has been answered with a task.
    pub(super) fn end(&self) {
        self.round().over = true;
        self.ended.notify_waiters();
    }

    fn conclude(&self, asked: Vec<(String, Question)>, mut state: RoundState) -> Outcome {
        state.expires = now().saturating_add(self.bounds.time.as_secs().max(1));
        state.rounds += 1;
        if state.rounds > self.bounds.rounds {
            return Err(Failure::Handler(format!("a call has at most {} rounds of questions", self.bounds.rounds)));
        }
        state.pending = asked.iter().map(|(key, question)| (key.clone(), question.digest())).collect();
        let failed = |text: &str| Failure::Protocol(RpcError::new(RpcError::INTERNAL, text.to_owned()));
        let text = serde_json::to_vec(&state).map_err(|_| failed("The state of the call cannot be written"))?;
        if text.len() > self.bounds.bytes {
            return Err(Failure::Handler(format!(
                "this call would have to remember {} bytes between its questions, and {} is the limit",
                text.len(),
                self.bounds.bytes
            )));
        }
        let state = self.secrets.seal(text, &self.purpose.bytes()).map_err(|error| {
            tracing::error!(%error, "the state of a call could not be sealed");
            failed("The server cannot ask now; try again")
        })?;
        Ok(Reply::InputRequired { asked, state })
    }
}

impl Round {
    fn wake(&mut self) {
        if let Some(dispatcher) = self.dispatcher.take() {
            dispatcher.wake();
        }
    }

    /// What the client answered under this key, now or in an earlier round.
    fn answer(&mut self, key: &str, question: &Question) -> Result<Option<Value>, AskError> {
        let digest = question.digest();
        let Resumed { state, sealed, responses } = &mut self.resumed;
        self.familiar |= state.pending.contains_key(key);
        if let Some(answered) = state.answers.get(key) {
            return if answered.question == digest { Ok(Some(answered.answer.clone())) } else { Err(changed(key)) };
        }
        match state.pending.get(key) {
            Some(asked) if *asked != digest => return Err(changed(key)),
            // It was not asked: nobody can have answered it.
            None if *sealed => return Ok(None),
            _ => {}
        }
        // What is no answer is asked for again.
        let Some(answer) = responses.remove(key).filter(|answer| question.is_answered_by(answer)) else {
            return Ok(None);
        };
        state.answers.insert(key.to_owned(), Answered { question: digest, answer: answer.clone() });
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

/// A question of this round, until whoever asked it has gone.
struct AnsweredQuestion<'a> {
    rounds: &'a Rounds,
    key: String,
}

impl Drop for AnsweredQuestion<'_> {
    fn drop(&mut self) {
        self.rounds.round().asked.retain(|(key, _)| *key != self.key);
    }
}

/// Something that must not be cut off.
pub(super) struct Busy<'a>(&'a Rounds);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut round = self.0.round();
        round.busy -= 1;
        round.wake();
    }
}
