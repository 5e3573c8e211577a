//! What a server told without being asked: progress, log messages, changes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, Weak, mpsc};

use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Notify;

use super::CallResponse;
use crate::error::{Result, ServerError};
use crate::protocol::LogLevel;
use crate::store::Change;
use crate::sync::{lock, until_some};

/// A call and what it told while it ran.
#[derive(Debug, Clone)]
pub struct Observed {
    pub(super) result: CallResponse,
    pub(super) progress: Vec<ProgressNote>,
    pub(super) logs: Vec<LogMessage>,
}

impl Observed {
    /// What the tool answered.
    pub fn result(&self) -> &CallResponse {
        &self.result
    }

    /// How far it said it had come, each time it said so.
    pub fn progress(&self) -> &[ProgressNote] {
        &self.progress
    }

    /// What it logged.
    pub fn logs(&self) -> &[LogMessage] {
        &self.logs
    }
}

/// How far a call had come.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct ProgressNote {
    /// So much.
    #[serde(rename = "progress")]
    pub done: f64,
    /// Of so much, if that is known.
    pub total: Option<f64>,
    /// In words.
    pub message: Option<String>,
}

/// What a server logged.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct LogMessage {
    /// How grave it is.
    pub level: LogLevel,
    /// Who says it.
    pub logger: Option<String>,
    /// What it says.
    pub data: Value,
}

/// Which notifications belong to whom.
#[derive(Debug, Clone)]
pub(super) enum Wanted {
    /// Progress with this token, and every log message.
    Call { id: u64, token: String },
    /// Changes on the stream of this request.
    Stream { id: u64 },
    /// Changes of lists, and of these resources.
    Session { uris: Vec<String> },
}

impl Wanted {
    /// Whether a message is one of them.
    pub(super) fn includes(&self, message: &Value) -> bool {
        let params = &message["params"];
        match (self, message["method"].as_str().unwrap_or_default()) {
            (Wanted::Call { .. }, "notifications/message") => true,
            (Wanted::Call { token, .. }, "notifications/progress") => params["progressToken"] == **token,
            (Wanted::Stream { id }, _) => params["_meta"]["io.modelcontextprotocol/subscriptionId"] == *id,
            (Wanted::Session { .. }, method) if method.ends_with("/list_changed") => true,
            (Wanted::Session { uris }, "notifications/resources/updated") => {
                uris.iter().any(|uri| params["uri"] == **uri)
            }
            _ => false,
        }
    }
}

impl Wanted {
    /// Whether none can come any more when this request is answered.
    pub(super) fn ends_with(&self, request: u64) -> bool {
        matches!(self, Wanted::Call { id, .. } | Wanted::Stream { id } if *id == request)
    }
}

/// Notifications kept for one who wants them.
#[derive(Debug, Default)]
pub(super) struct ObservedLog {
    state: Mutex<ObservedState>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct ObservedState {
    messages: VecDeque<Value>,
    /// Whether none can come any more.
    over: bool,
}

impl ObservedLog {
    fn state(&self) -> MutexGuard<'_, ObservedState> {
        lock(&self.state)
    }

    pub(super) fn push(&self, message: Value) {
        self.state().messages.push_back(message);
        self.arrived.notify_one();
    }

    pub(super) fn end(&self) {
        self.state().over = true;
        self.arrived.notify_one();
    }

    pub(super) fn all(&self) -> Vec<Value> {
        self.state().messages.drain(..).collect()
    }

    /// The next; nothing if none can come any more.
    pub(super) async fn next(&self) -> Option<Value> {
        until_some(&self.arrived, || {
            let mut state = self.state();
            let message = state.messages.pop_front();
            (message.is_some() || state.over).then_some(message)
        })
        .await
    }
}

/// What has to be ended.
pub(super) enum End {
    Stream(u64),
    Uri(String),
}

/// Ends a subscription when it is dropped, if there still is a server.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) input: Weak<mpsc::Sender<Vec<u8>>>,
    pub(super) lines: Vec<String>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        let Some(input) = self.input.upgrade() else { return };
        for line in self.lines.drain(..) {
            // A server that is gone has ended it already.
            let _ = input.send(format!("{line}\n").into_bytes());
        }
    }
}

/// Changes a server tells of, from [`TestClient::changes`](super::TestClient::changes); dropping it
/// ends the subscription.
#[derive(Debug)]
pub struct Changes {
    pub(super) kept: Arc<ObservedLog>,
    pub(super) agreed: Value,
    #[expect(dead_code, reason = "for its end")]
    pub(super) end: Ending,
}

impl Changes {
    /// All of it, or an error: who waits for changes nobody tells waits for ever.
    pub(super) fn of(self, uris: &[String]) -> Result<Self, ServerError> {
        let agreed = self.agreed["resourceSubscriptions"].as_array();
        let missing = |uri: &&String| !agreed.is_some_and(|agreed| agreed.iter().any(|other| *other == ***uri));
        match uris.iter().find(missing) {
            Some(uri) => Err(ServerError::resource_not_found(uri)),
            None => Ok(self),
        }
    }

    /// The next change, when there is one; an error when there can be none any more. Wrap it in a
    /// timeout where there may be none.
    pub async fn next(&self) -> Result<Change, ServerError> {
        loop {
            let message = self.kept.next().await.ok_or_else(|| ServerError::msg("the server sends no more changes"))?;
            if let Some(change) = change(&message) {
                return Ok(change);
            }
        }
    }

    /// The changes that have arrived and were not looked at.
    pub fn drain(&self) -> Vec<Change> {
        self.kept.all().iter().filter_map(change).collect()
    }

    /// What the server said it would tell: the filter of 2026-07-28, null before.
    pub fn acknowledged(&self) -> &Value {
        &self.agreed
    }
}

fn change(message: &Value) -> Option<Change> {
    Some(match message["method"].as_str()? {
        "notifications/tools/list_changed" => Change::ToolList,
        "notifications/prompts/list_changed" => Change::PromptList,
        "notifications/resources/list_changed" => Change::ResourceList,
        "notifications/resources/updated" => Change::ResourceUpdated(message["params"]["uri"].as_str()?.to_owned()),
        _ => return None,
    })
}
