//! Notifications from the server: progress, log messages, changes.

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

/// A finished call with its notifications, from [`TestClient::observe`](super::TestClient::observe).
#[derive(Debug, Clone)]
pub struct Observed {
    pub(super) result: CallResponse,
    pub(super) progress: Vec<ProgressNote>,
    pub(super) logs: Vec<LogMessage>,
}

impl Observed {
    /// The result of the call.
    pub fn result(&self) -> &CallResponse {
        &self.result
    }

    /// The progress reports, in order.
    pub fn progress(&self) -> &[ProgressNote] {
        &self.progress
    }

    /// The log messages, in order.
    pub fn logs(&self) -> &[LogMessage] {
        &self.logs
    }
}

/// A progress report of a call, as the client received it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct ProgressNote {
    /// The work done so far, in the handler's unit.
    #[serde(rename = "progress")]
    pub done: f64,
    /// The total work in the same unit, if the handler knows it.
    pub total: Option<f64>,
    /// A description of the current step.
    pub message: Option<String>,
}

/// A log message of a call, as the client received it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct LogMessage {
    /// The severity of the message.
    pub level: LogLevel,
    /// The name of the logger.
    pub logger: Option<String>,
    /// The message: a text, or a structured value.
    pub data: Value,
}

/// The notifications a queue collects.
#[derive(Debug, Clone)]
pub(super) enum Wanted {
    /// Progress with this token, every log message, and the status of every task: the protocol does not say which call
    /// these belong to.
    Call { id: u64, token: String },
    /// Changes on the stream of this request.
    Stream { id: u64 },
    /// Changes of lists, and of these resources.
    Session { uris: Vec<String> },
}

impl Wanted {
    /// Whether the message is one of them.
    pub(super) fn includes(&self, message: &Value) -> bool {
        let params = &message["params"];
        match (self, message["method"].as_str().unwrap_or_default()) {
            (Wanted::Call { .. }, "notifications/message" | TASK_STATUS) => true,
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
    /// Whether the response to this request ends them.
    pub(super) fn ends_with(&self, request: u64) -> bool {
        matches!(self, Wanted::Call { id, .. } | Wanted::Stream { id } if *id == request)
    }
}

/// The status of a task, as a notification of 2025-11-25. What is polled is told in the same way.
pub(super) const TASK_STATUS: &str = "notifications/tasks/status";

/// A queue of notifications for one consumer.
#[derive(Debug, Default)]
pub(crate) struct NotificationQueue {
    state: Mutex<QueueState>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct QueueState {
    messages: VecDeque<Value>,
    /// Whether no more can arrive.
    closed: bool,
}

impl NotificationQueue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        lock(&self.state)
    }

    pub(super) fn push(&self, message: Value) {
        self.state().messages.push_back(message);
        self.arrived.notify_one();
    }

    pub(super) fn close(&self) {
        self.state().closed = true;
        self.arrived.notify_one();
    }

    pub(crate) fn drain(&self) -> Vec<Value> {
        self.state().messages.drain(..).collect()
    }

    /// Waits for the next notification, for ever if there is none. A call in rounds has some after its first response.
    #[cfg(feature = "cli")]
    pub(crate) async fn arrived(&self) -> Value {
        until_some(&self.arrived, || self.state().messages.pop_front()).await
    }

    /// Waits for the next notification; `None` once the queue is closed and empty.
    pub(super) async fn next(&self) -> Option<Value> {
        until_some(&self.arrived, || {
            let mut state = self.state();
            let message = state.messages.pop_front();
            (message.is_some() || state.closed).then_some(message)
        })
        .await
    }
}

/// A subscription to end.
pub(super) enum End {
    Stream(u64),
    Uri(String),
}

/// Ends subscriptions on drop, if the client is still connected.
#[derive(Debug)]
pub(super) struct UnsubscribeGuard {
    pub(super) input: Weak<mpsc::Sender<Vec<u8>>>,
    pub(super) lines: Vec<String>,
}

impl Drop for UnsubscribeGuard {
    fn drop(&mut self) {
        let Some(input) = self.input.upgrade() else { return };
        for line in self.lines.drain(..) {
            // A server that has closed the connection has ended the subscription, too.
            let _ = input.send(format!("{line}\n").into_bytes());
        }
    }
}

/// A subscription to changes, from [`TestClient::changes`](super::TestClient::changes). Dropping it
/// unsubscribes.
#[derive(Debug)]
pub struct Changes {
    pub(super) notifications: Arc<NotificationQueue>,
    pub(super) acknowledged: Value,
    #[expect(dead_code, reason = "unsubscribes on drop")]
    pub(super) end: UnsubscribeGuard,
}

impl Changes {
    /// The subscription, if the server acknowledged all these URIs: waiting for changes of another would
    /// never end.
    pub(super) fn covering(self, uris: &[String]) -> Result<Self, ServerError> {
        let acknowledged = self.acknowledged["resourceSubscriptions"].as_array();
        let missing = |uri: &&String| !acknowledged.is_some_and(|uris| uris.iter().any(|other| *other == ***uri));
        match uris.iter().find(missing) {
            Some(uri) => Err(ServerError::resource_not_found(uri)),
            None => Ok(self),
        }
    }

    /// Waits for the next change; an error once the stream is closed. Wrap it in a timeout where no change
    /// is expected.
    pub async fn next(&self) -> Result<Change, ServerError> {
        loop {
            let message =
                self.notifications.next().await.ok_or_else(|| ServerError::msg("the stream of changes is closed"))?;
            if let Some(change) = change(&message) {
                return Ok(change);
            }
        }
    }

    /// Takes the changes that have arrived, without waiting.
    pub fn drain(&self) -> Vec<Change> {
        self.notifications.drain().iter().filter_map(change).collect()
    }

    /// The filter the server acknowledged, in 2026-07-28; null in older revisions.
    pub fn acknowledged(&self) -> &Value {
        &self.acknowledged
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
