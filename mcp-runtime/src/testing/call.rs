//! A call under way: what it tells, how it is cancelled, what comes of it.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::told::{Kept, Observed, ProgressNote};
use super::{CallResult, TestClient, result};
use crate::error::Result;

/// A call that was [started](TestClient::start).
#[derive(Debug)]
pub struct Call<'a> {
    pub(super) client: &'a TestClient,
    pub(super) id: u64,
    pub(super) params: Value,
    pub(super) answer: oneshot::Receiver<Value>,
    pub(super) kept: Arc<Kept>,
}

impl Call<'_> {
    /// The id of its request.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The next report of its progress; an error when the call is over, or the server gone.
    pub async fn progress(&self) -> Result<ProgressNote> {
        loop {
            let message = self.kept.next().await.ok_or("the call is over")?;
            if let Some(note) = report(message) {
                return Ok(note);
            }
        }
    }

    /// Cancels it. The server answers nothing, unless it had done so already.
    pub fn cancel(&self) -> Result<()> {
        self.client.notify("notifications/cancelled", &json!({"requestId": self.id}))
    }

    /// What the tool answers, after it was answered what it asks.
    pub async fn result(self) -> Result<CallResult> {
        let first = result(self.answer.await);
        Ok(serde_json::from_value(self.client.settled("tools/call", &self.params, first).await?)?)
    }

    /// What the tool answers, and what it told before.
    pub(super) async fn observed(self) -> Result<Observed> {
        let kept = Arc::clone(&self.kept);
        let result = self.result().await?;
        let (mut progress, mut logs) = (Vec::new(), Vec::new());
        for message in kept.all() {
            if message["method"] == "notifications/message" {
                logs.push(serde_json::from_value(message["params"].clone())?);
            }
            progress.extend(report(message));
        }
        Ok(Observed { result, progress, logs })
    }
}

fn report(mut message: Value) -> Option<ProgressNote> {
    (message["method"] == "notifications/progress").then(|| serde_json::from_value(message["params"].take()).ok())?
}
