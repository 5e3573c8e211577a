//! Calls that go on as tasks, as a client of either wire follows them.

use std::collections::HashSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::rounds::{Settled, responses};
use super::{CallResponse, TestClient};
use crate::era::TaskNegotiation;
use crate::error::{Result, ServerError};
use crate::store::TaskStatus;

/// How long to wait before asking where a task is: first, and at most.
const POLL: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(20));

/// A call that goes on as a task, from [`TestClient::start_task`].
#[derive(Debug)]
pub struct Task<'a> {
    client: &'a TestClient,
    /// The server that has it, where every round had its own.
    other: Option<TestClient>,
    id: String,
}

/// Where a task is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct TaskState {
    /// In a word.
    pub status: TaskStatus,
    /// In more words, if there are some.
    #[serde(rename = "statusMessage")]
    pub message: Option<String>,
}

impl TestClient {
    /// Calls a tool as a task, in the way of the client's revision, after it was answered what it asks
    /// before. An error where the revision has no tasks, and where the call is answered at once.
    ///
    /// ```
    /// use mcp_runtime::{Revision, prelude::*, store::TaskStatus};
    /// use mcp_runtime::testing::TestClient;
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Where { /** In which city? */ city: String }
    ///
    /// /// Print a report.
    /// #[tool(task)]
    /// async fn report(ctx: &Context) -> Result<String> {
    ///     let place: Where = ctx.elicit("Where?").await?;
    ///     Ok(format!("the report of {}", place.city))
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
    ///     let server = Server::new("press", "1.0.0").tools(tools![report]);
    ///     let client = TestClient::builder(server).revision(revision);
    ///     let client = client.on_elicit(|_| json!({"city": "Rome"})).connect().await?;
    ///     let task = client.start_task("report", json!({})).await?;
    ///     assert_eq!(task.result().await?.text(), "the report of Rome");
    ///     assert_eq!(task.status().await?.status, TaskStatus::Completed);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn start_task(&self, name: &str, arguments: impl Serialize) -> Result<Task<'_>, ServerError> {
        let mut params = json!({"name": name, "arguments": arguments});
        match self.identity.revision.task_negotiation() {
            TaskNegotiation::ByServer => self.identity.with_tasks().sign(&mut params),
            TaskNegotiation::ByClient => params["task"] = json!({}),
            TaskNegotiation::None => {
                let revision = self.identity.revision;
                return Err(ServerError::msg(format!("{revision} has no tasks; 2025-11-25 and 2026-07-28 have")));
            }
        }
        let first = self.request("tools/call", params.clone()).await;
        let Settled { value, other } = self.rounds("tools/call", &params, first).await?;
        match id(&value) {
            Some(id) => Ok(Task { client: self, other, id }),
            None => Err(ServerError::msg(format!("`{name}` is no task, it was answered at once: {value}"))),
        }
    }

    /// The parameters of a call. Where the client decides what is a task, and this one wants
    /// [tasks](super::TestClientBuilder::tasks), it looks whether the tool can be one.
    pub(super) async fn call_params(&self, name: &str, arguments: impl Serialize) -> Result<Value, ServerError> {
        let mut params = json!({"name": name, "arguments": arguments});
        if self.identity.tasks && self.identity.revision.task_negotiation() == TaskNegotiation::ByClient {
            let tools = self.list_tools().await?;
            let tool = tools.iter().find(|tool| tool.name == name);
            let support = tool.and_then(|tool| tool.execution.as_ref()).map(|execution| &*execution.task_support);
            if matches!(support, Some("optional" | "required")) {
                params["task"] = json!({});
            }
        }
        Ok(params)
    }

    /// What came of a request: if that is a task, what came of it.
    pub(super) async fn outcome(&self, settled: Settled) -> Result<Value, ServerError> {
        let Settled { value, other } = settled;
        match id(&value) {
            Some(id) => Task { client: self, other, id }.outcome().await,
            None => Ok(value),
        }
    }
}

/// The id of the task a call was answered with, if it was.
fn id(result: &Value) -> Option<String> {
    let task = if result["resultType"] == "task" { result } else { &result["task"] };
    task["taskId"].as_str().map(str::to_owned)
}

impl Task<'_> {
    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Where it is now.
    pub async fn status(&self) -> Result<TaskState, ServerError> {
        Ok(serde_json::from_value(self.request("tasks/get", json!({})).await?)?)
    }

    /// What the tool answers, after the task was answered what it asks.
    pub async fn result(&self) -> Result<CallResponse, ServerError> {
        Ok(serde_json::from_value(self.outcome().await?)?)
    }

    /// Ends it. Only 2025-11-25 says so where it is over already.
    pub async fn cancel(&self) -> Result<(), ServerError> {
        self.request("tasks/cancel", json!({})).await.map(drop)
    }

    async fn outcome(&self) -> Result<Value, ServerError> {
        if self.client.identity.revision.is_stateless() {
            return self.polled().await;
        }
        let result = self.request("tasks/result", json!({})).await;
        self.client.responder.raise();
        result
    }

    /// Looks where it is until it is over, and answers what it asks.
    async fn polled(&self) -> Result<Value, ServerError> {
        let (mut pause, longest) = POLL;
        let mut answered = HashSet::new();
        loop {
            let mut task = self.request("tasks/get", json!({})).await?;
            match task["status"].as_str() {
                Some("completed") => return Ok(task["result"].take()),
                Some("failed") => return Err(ServerError::protocol(serde_json::from_value(task["error"].take())?)),
                Some("cancelled") => return Err(ServerError::msg("this task was cancelled; nothing came of it")),
                Some("input_required") => {
                    self.answer(&task["inputRequests"], &mut answered).await?;
                    (pause, _) = POLL;
                }
                _ => {}
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(longest);
        }
    }

    async fn answer(&self, requests: &Value, answered: &mut HashSet<String>) -> Result<(), ServerError> {
        let answers = responses(requests, &self.client.responder.answers)?;
        if let Some(again) = answers.keys().find(|key| !answered.insert((*key).clone())) {
            return Err(ServerError::msg(format!(
                "the task still asks `{again}`, which was answered; was that an answer?"
            )));
        }
        self.request("tasks/update", json!({"inputResponses": answers})).await.map(drop)
    }

    async fn request(&self, method: &str, mut params: Value) -> Result<Value, ServerError> {
        params["taskId"] = json!(self.id);
        let client = self.other.as_ref().unwrap_or(self.client);
        if client.identity.revision.is_stateless() {
            client.identity.with_tasks().sign(&mut params);
        }
        client.request(method, params).await
    }
}
