//! The record of a task: everything a replica needs to serve it.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[cfg(feature = "http")]
use super::durable::DurableCall;
use super::size::heap_bytes;
use crate::protocol::Revision;

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskStatus {
    /// The handler is running.
    Working,
    /// The handler is waiting for an answer from the client.
    InputRequired,
    /// The task finished with a result.
    Completed,
    /// The task finished with an error.
    Failed,
    /// The client cancelled the task.
    Cancelled,
}

impl TaskStatus {
    /// Whether the status is final: completed, failed or cancelled.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// The state of a task, enough to serve it at any replica. Serializes to JSON.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TaskRecord {
    /// The task's id. It is unguessable.
    pub id: String,
    /// The version of the record: 0 when the task is created, incremented by each update.
    pub version: u64,
    /// The principal that created the task, if it was authenticated. Other principals cannot see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Whom the task counts against in a [`TaskQuota`](crate::store::TaskQuota): its owner, or the address of an
    /// anonymous caller. `None` if neither is known, as over stdio: then only the total limit applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The scopes of the tool. Whoever asks about the task needs them, too: a token may have fewer than the one that has
    /// created it. Requires the feature `auth`.
    #[cfg(feature = "auth")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The replica that runs the task, if there are several. When it dies, the task fails, unless it is durable. `None`
    /// if a durable task was handed over, and any replica may take it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica: Option<String>,
    /// What it takes to run a durable task again, until it is over. Requires the feature `http`.
    #[cfg(feature = "http")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durable: Option<Box<DurableCall>>,
    /// The revision of the call.
    pub revision: Revision,
    /// The current status.
    pub status: TaskStatus,
    /// A message for people that describes the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// When the task was created, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// When the record last changed, in milliseconds since the Unix epoch.
    pub updated_ms: u64,
    /// How long the task lives from its creation, in milliseconds.
    pub ttl: u64,
    /// The questions the client has yet to answer, by key.
    #[serde(default)]
    pub questions: BTreeMap<String, TaskQuestion>,
    /// The client's answers the handler has yet to read, by key.
    #[serde(default)]
    pub answers: BTreeMap<String, Value>,
    /// The result or error, once the task has finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<TaskOutcome>,
    /// Whether a client has fetched the outcome. Such a task is the first to be evicted when there is no room.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fetched: bool,
    /// The size of the call that became the task, in bytes. The handler holds its arguments while it runs.
    #[serde(default)]
    pub request_bytes: usize,
}

/// A request a task makes of the client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskQuestion {
    /// The method, such as `elicitation/create`.
    pub method: String,
    /// The `params` of the request.
    pub params: Value,
}

impl TaskQuestion {
    /// A request with this method and these parameters.
    pub fn new(method: impl Into<String>, params: Value) -> Self {
        TaskQuestion { method: method.into(), params }
    }
}

/// The outcome of a task: the response the call would have had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum TaskOutcome {
    /// The `result` of the call.
    Result(Value),
    /// The JSON-RPC `error` of the call.
    Error(Value),
}

impl TaskOutcome {
    /// The memory behind it.
    pub(crate) fn heap_bytes(&self) -> usize {
        let (Self::Result(value) | Self::Error(value)) = self;
        heap_bytes(value)
    }
}

impl TaskRecord {
    /// A task that starts now, without an owner.
    pub fn new(id: impl Into<String>, revision: Revision, ttl: Duration) -> Self {
        let now = now();
        TaskRecord {
            id: id.into(),
            version: 0,
            owner: None,
            account: None,
            #[cfg(feature = "auth")]
            scopes: Vec::new(),
            replica: None,
            #[cfg(feature = "http")]
            durable: None,
            revision,
            status: TaskStatus::Working,
            status_message: None,
            created_ms: now,
            updated_ms: now,
            ttl: u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX),
            questions: BTreeMap::new(),
            answers: BTreeMap::new(),
            outcome: None,
            fetched: false,
            request_bytes: 0,
        }
    }

    /// Who has to be alive for the task to go on: the replica that runs it, or `""` if it is durable, was handed over and
    /// waits for one. `None` if it is over, or if there are no replicas.
    pub fn holder(&self) -> Option<&str> {
        #[cfg(feature = "http")]
        let waits = self.durable.as_ref().map(|_| "");
        #[cfg(not(feature = "http"))]
        let waits = None;
        self.replica.as_deref().or(waits).filter(|_| !self.status.is_over())
    }

    /// Whether the task has ended and its outcome has been fetched, or there is none to fetch.
    pub fn is_spent(&self) -> bool {
        self.status.is_over() && (self.fetched || self.outcome.is_none())
    }

    /// The approximate memory that the task occupies, in bytes: its questions, answers and outcome, and while it runs
    /// the arguments of its handler.
    pub fn retained_bytes(&self) -> usize {
        let texts = [Some(&self.id), self.owner.as_ref(), self.account.as_ref(), self.status_message.as_ref()];
        let texts: usize = texts.into_iter().flatten().map(String::len).sum();
        let question = |(key, question): (&String, &TaskQuestion)| {
            key.len() + question.method.len() + size_of::<TaskQuestion>() + heap_bytes(&question.params)
        };
        let questions: usize = self.questions.iter().map(question).sum();
        let answer = |(key, answer): (&String, &Value)| key.len() + size_of::<Value>() + heap_bytes(answer);
        let answers: usize = self.answers.iter().map(answer).sum();
        let outcome = self.outcome.as_ref().map_or(0, TaskOutcome::heap_bytes);
        #[cfg(feature = "http")]
        let durable = self.durable.as_ref().map_or(0, |durable| durable.heap_bytes());
        #[cfg(not(feature = "http"))]
        let durable = 0;
        // As decoded values, and as the text that the call's state is bound to.
        let arguments = if self.status.is_over() { 0 } else { self.request_bytes.saturating_mul(2) };
        size_of::<Self>().saturating_add(texts + questions + answers + outcome + durable).saturating_add(arguments)
    }

    /// Whether its time to live is over.
    pub(crate) fn has_expired(&self) -> bool {
        self.created_ms.saturating_add(self.ttl) <= now()
    }

    /// The remaining time to live, plus a margin: a waiter wakes after the expiry.
    pub(crate) fn remaining(&self) -> Duration {
        let end = self.created_ms.saturating_add(self.ttl);
        Duration::from_millis(end.saturating_sub(now()).saturating_add(20))
    }

    /// Records a change made now: increments the version and derives the status.
    pub(crate) fn changed(&mut self) {
        self.version += 1;
        self.updated_ms = now().max(self.updated_ms);
        #[cfg(feature = "http")]
        if self.status.is_over() {
            self.durable = None;
        }
        if !self.status.is_over() {
            let waiting = !self.questions.is_empty();
            self.status = if waiting { TaskStatus::InputRequired } else { TaskStatus::Working };
        }
    }
}

/// Without the id, which is a credential, and without what the handler and the client have said.
impl fmt::Debug for TaskRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskRecord")
            .field("version", &self.version)
            .field("revision", &self.revision)
            .field("status", &self.status)
            .field("questions", &self.questions.len())
            .field("answers", &self.answers.len())
            .finish_non_exhaustive()
    }
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn retained_bytes_follow_the_contents() {
        let long = "x".repeat(100_000);
        let mut task = TaskRecord::new("id", Revision::LATEST, Duration::from_secs(1));
        let empty = task.retained_bytes();
        assert!(empty < 2000, "{empty}");
        task.request_bytes = 100_000;
        assert!(task.retained_bytes() >= empty + 100_000, "the arguments, while it runs");
        task.questions.insert("a".into(), TaskQuestion::new("elicitation/create", json!({"message": long})));
        task.answers.insert("b".into(), json!([{"c": long}]));
        assert!(task.retained_bytes() >= empty + 300_000);
        (task.status, task.outcome) = (TaskStatus::Completed, Some(TaskOutcome::Result(json!({"content": [long]}))));
        task.questions.clear();
        task.answers.clear();
        let done = task.retained_bytes();
        assert!((100_000..200_000).contains(&done), "the outcome alone: {done}");
    }

    #[test]
    fn ended_task_without_an_unfetched_outcome_is_spent() {
        let mut task = TaskRecord::new("id", Revision::LATEST, Duration::from_secs(1));
        assert!(!task.is_spent());
        task.status = TaskStatus::Cancelled;
        assert!(task.is_spent());
        (task.status, task.outcome) = (TaskStatus::Completed, Some(TaskOutcome::Result(json!({}))));
        assert!(!task.is_spent());
        task.fetched = true;
        assert!(task.is_spent());
    }
}
