//! What a client carries between the rounds of a call: the answers so far, the questions that are open, what `once`
//! blocks returned, and the id of the dialogue. Sealed, and bounded in size and time.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::ask::binding::StateBinding;
use crate::ask::question::read_responses;
use crate::ask::sealed_state::StateSealer;
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::from_bytes;

/// The values that `once` blocks returned, by key.
pub(crate) type OnceResults = BTreeMap<String, Value>;

/// What the client carries between rounds, sealed.
#[derive(Debug, Default, Serialize)]
pub(super) struct RoundState {
    /// The id of the dialogue, which all of its rounds have in common.
    #[serde(rename = "d")]
    pub(super) dialogue: String,
    /// In seconds since 1970.
    #[serde(rename = "e")]
    pub(super) expires: u64,
    /// When the last state of this dialogue expires. An earlier one may live longer than this one.
    #[serde(rename = "l")]
    pub(super) last_expires: u64,
    /// The questions that were answered so far.
    #[serde(rename = "a")]
    pub(super) answered: Vec<Asked>,
    /// The questions of the last round.
    #[serde(rename = "p")]
    pub(super) pending: Vec<Asked>,
    #[serde(rename = "o")]
    pub(super) once_results: OnceResults,
    /// How many rounds there were.
    #[serde(rename = "r")]
    pub(super) rounds: usize,
}

/// A question. `Limits::asks_per_call` bounds their number, so they are searched one by one.
#[derive(Debug, Serialize)]
pub(super) struct Asked {
    #[serde(rename = "k")]
    pub(super) key: String,
    /// The digest of the question.
    #[serde(rename = "q")]
    pub(super) question: u64,
    /// Null while it is pending, and if the answer was late: answers are objects.
    #[serde(rename = "a")]
    pub(super) answer: Value,
    /// Until when the answer counts, in milliseconds since 1970, if the ask has a timeout of its own.
    #[serde(rename = "t", skip_serializing_if = "Option::is_none")]
    pub(super) deadline: Option<u64>,
    /// Whether the deadline passed without an answer. It stays so: the handler may have acted on it.
    #[serde(rename = "l", skip_serializing_if = "std::ops::Not::not")]
    pub(super) late: bool,
}

// Read by hand from a `Value`, which is in every server: derived, the parsers of these two are 14 KB.

impl RoundState {
    /// Reads a state; `None` if it has other members than this version's.
    fn read(state: Value) -> Option<Self> {
        let Value::Object(mut members) = state else { return None };
        let Value::Object(returned) = members.remove("o")? else { return None };
        let mut once_results = OnceResults::new();
        for (key, result) in returned {
            once_results.insert(key, result);
        }
        let state = RoundState {
            dialogue: take_text(&mut members, "d")?,
            expires: take_number(&mut members, "e")?,
            last_expires: take_number(&mut members, "l")?,
            answered: Asked::read_all(members.remove("a")?)?,
            pending: Asked::read_all(members.remove("p")?)?,
            once_results,
            rounds: take_number(&mut members, "r")?.try_into().ok()?,
        };
        members.is_empty().then_some(state)
    }
}

fn take_text(members: &mut Map<String, Value>, name: &str) -> Option<String> {
    match members.remove(name)? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn take_number(members: &mut Map<String, Value>, name: &str) -> Option<u64> {
    members.remove(name)?.as_u64()
}

impl Asked {
    fn read_all(list: Value) -> Option<Vec<Self>> {
        let Value::Array(items) = list else { return None };
        let mut all = Vec::with_capacity(items.len());
        for item in items {
            all.push(Self::read(item)?);
        }
        Some(all)
    }

    fn read(asked: Value) -> Option<Self> {
        let Value::Object(mut members) = asked else { return None };
        Some(Asked {
            key: take_text(&mut members, "k")?,
            question: take_number(&mut members, "q")?,
            answer: members.remove("a")?,
            deadline: take_number(&mut members, "t"),
            late: members.remove("l").is_some_and(|late| late == true),
        })
    }

    pub(super) fn find<'a>(asked: &'a [Asked], key: &str) -> Option<&'a Asked> {
        asked.iter().find(|asked| asked.key == key)
    }
}

/// What a retried call brings back: the state, and the answers to the questions of the last round.
#[derive(Debug, Default)]
pub(crate) struct Resumed {
    pub(super) state: RoundState,
    /// Whether there is a state. A first call has none, and may bring answers to any question.
    pub(super) sealed: bool,
    pub(super) responses: BTreeMap<String, Value>,
}

impl Resumed {
    /// Reads what a call brings back, if it is a retry. Rejects a state that is forged, expired, bound to another
    /// call, or longer than one of `state_bytes` can be.
    pub(crate) fn read(
        params: &Object<'_>,
        binding: &StateBinding,
        sealer: &StateSealer,
        state_bytes: usize,
    ) -> Result<Option<Self>, RpcError> {
        let (responses, state) = (params.get("inputResponses"), params.get("requestState"));
        if responses.is_none() && state.is_none() {
            return Ok(None);
        }
        let mut resumed = Self::default();
        if let Some(state) = state {
            let text = state.text().ok_or_else(|| RpcError::wrong_field("requestState", "string", state.kind()))?;
            resumed.state = open(&text, binding, sealer, state_bytes)?;
            resumed.sealed = true;
        }
        if let Some(responses) = responses {
            resumed.responses.extend(read_responses(responses)?);
        }
        resumed.drop_late_answers();
        Ok(Some(resumed))
    }

    /// An answer counts only until its deadline, as in a session, where the handler has stopped waiting by then.
    fn drop_late_answers(&mut self) {
        let now = millis();
        for asked in &mut self.state.pending {
            if asked.deadline.is_some_and(|deadline| deadline < now) {
                asked.late = true;
                self.responses.remove(&asked.key);
            }
        }
    }

    /// The dialogue that is resumed, and when its last state expires. `None` in the first round.
    pub(crate) fn dialogue(&self) -> Option<(&str, u64)> {
        self.sealed.then_some((&*self.state.dialogue, self.state.last_expires))
    }

    /// How many rounds of questions the call had before.
    pub(crate) fn rounds(&self) -> usize {
        self.state.rounds
    }

    pub(crate) fn take_once_results(&mut self) -> OnceResults {
        std::mem::take(&mut self.state.once_results)
    }
}

fn open(text: &str, binding: &StateBinding, sealer: &StateSealer, state_bytes: usize) -> Result<RoundState, RpcError> {
    let rejected = |why: &str| RpcError::invalid_params(format!("Invalid params: `requestState` {why}"));
    // The length first: a forged state costs neither a decoder nor a digest of the arguments.
    let opened = StateSealer::may_be_sealed(text, state_bytes).then(|| sealer.open(text, &binding.bytes()));
    let bytes = opened.flatten().ok_or_else(|| {
        sealer.warn_once();
        rejected("is not what this server sent for this call; make the call again without it and `inputResponses`")
    })?;
    let state = from_bytes(&bytes)
        .and_then(RoundState::read)
        .ok_or_else(|| rejected("is of another version of this server; make the call again without it"))?;
    if state.expires < now() {
        return Err(rejected("has expired; make the call again without it and `inputResponses`"));
    }
    Ok(state)
}

/// In seconds since 1970.
pub(super) fn now() -> u64 {
    since_1970().as_secs()
}

/// In milliseconds since 1970.
pub(super) fn millis() -> u64 {
    u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX)
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
