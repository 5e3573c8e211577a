//! What the record of a durable task has beside that of another: the call, to run it again, and what its handler was
//! told and has done.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::size::heap_bytes;
use crate::protocol::LogLevel;

/// The call behind a durable task, and its progress: enough to run its handler again, at any replica.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DurableCall {
    /// The `params` of the call, as JSON.
    pub params: String,
    /// The `params` of the client's `initialize`; empty since 2026-07-28.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub initialize_params: Map<String, Value>,
    /// The lowest level of log messages the client wants, if it wants any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_level: Option<LogLevel>,
    /// The authenticated user who called, as JSON: issuer, subject, client, scopes, expiry and claims, but no token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The id of the call's dialogue with its client, the same in all runs.
    pub dialogue: String,
    /// The number of the newest run, from 1. A replica that has an older one has lost the task: it is its fencing token.
    pub run: u64,
    /// How many replicas have died while they ran it.
    #[serde(default)]
    pub deaths: u32,
    /// What the blocks of `ctx.once` returned, by key.
    #[serde(default)]
    pub once: BTreeMap<String, Value>,
    /// What the client has answered, by the key of the question.
    #[serde(default)]
    pub answered: BTreeMap<String, GivenAnswer>,
}

/// The answer to a question, as the handler got it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GivenAnswer {
    /// The digest of the question: another run has to ask the same.
    pub question: u64,
    /// The answer. `None` if it came too late.
    pub answer: Option<Value>,
}

impl DurableCall {
    /// The first run of a call with these `params`.
    pub fn new(params: impl Into<String>, dialogue: impl Into<String>) -> Self {
        DurableCall {
            params: params.into(),
            initialize_params: Map::new(),
            log_level: None,
            user: None,
            dialogue: dialogue.into(),
            run: 1,
            deaths: 0,
            once: BTreeMap::new(),
            answered: BTreeMap::new(),
        }
    }

    /// The bytes of what the handler was told and has done.
    pub(crate) fn remembered_bytes(&self) -> usize {
        let once = self.once.iter().map(|(key, value)| key.len() + size_of::<Value>() + heap_bytes(value));
        let answer = |given: &GivenAnswer| given.answer.as_ref().map_or(0, heap_bytes);
        let answered = self.answered.iter().map(|(key, given)| key.len() + size_of::<GivenAnswer>() + answer(given));
        once.sum::<usize>() + answered.sum::<usize>()
    }

    /// The approximate memory that it occupies.
    pub(crate) fn heap_bytes(&self) -> usize {
        let initialize: usize = self
            .initialize_params
            .iter()
            .map(|(name, value)| name.len() + size_of::<Value>() + heap_bytes(value))
            .sum();
        let user = self.user.as_ref().map_or(0, String::len);
        size_of::<Self>() + self.params.len() + user + self.dialogue.len() + initialize + self.remembered_bytes()
    }
}

/// Without what the client and the handler have said, and without the dialogue, which names what the call holds.
impl std::fmt::Debug for DurableCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DurableCall").field("run", &self.run).field("deaths", &self.deaths).finish_non_exhaustive()
    }
}
