//! The end of a task: its outcome, stored however long the store is away.

use serde_json::Value;

use super::job::Job;
use super::{Access, FIRST_RETRY, retry_after};
use crate::era::Method;
use crate::era::encode::{self, ResponseTo};
use crate::jsonrpc::Id;
use crate::outcome::Outcome;
use crate::store::{TaskOutcome, TaskStatus};

impl Job {
    /// The result or error that the call would have been answered with.
    pub(super) fn outcome(&self, answer: Outcome) -> TaskOutcome {
        let to = ResponseTo { id: Id::NULL, method: Method::ToolsCall, revision: self.task.revision };
        match encode::result_or_error(&self.core.info, to, answer) {
            Ok(result) => TaskOutcome::Result(result),
            Err(error) => TaskOutcome::Error(error),
        }
    }

    /// Stores the outcome, however long the store is away.
    pub(super) async fn conclude(&self, outcome: TaskOutcome) {
        let mut pause = FIRST_RETRY;
        while self.store_outcome(&outcome).await.is_err() {
            if self.task.has_expired() {
                tracing::error!("the outcome of a task could not be stored before it expired");
                return;
            }
            retry_after(&mut pause).await;
        }
    }

    fn store_outcome<'a>(&'a self, outcome: &'a TaskOutcome) -> Access<'a> {
        self.write(move |task| {
            task.questions.clear();
            task.answers.clear();
            let text = |value: &Value| value.as_str().map(|text| crate::jsonrpc::error::shorten(text).into_owned());
            (task.status, task.status_message) = match outcome {
                TaskOutcome::Result(result) if result["isError"] == true => {
                    (TaskStatus::Completed, text(&result["content"][0]["text"]))
                }
                TaskOutcome::Result(_) => (TaskStatus::Completed, task.status_message.take()),
                TaskOutcome::Error(error) => (TaskStatus::Failed, text(&error["message"])),
            };
            task.outcome = Some(outcome.clone());
            true
        })
    }
}
