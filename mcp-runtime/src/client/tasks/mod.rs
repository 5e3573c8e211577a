//! Calls that become tasks, in both forms of the protocol.

mod pace;
pub(super) mod running;

use std::collections::HashSet;
use std::convert::Infallible;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::pace::Pace;
use super::notifications::{NotificationQueue, TASK_STATUS};
use super::rounds::{Settled, responses};
use super::{CallResponse, TestClient};
use crate::era::TaskNegotiation;
use crate::error::{Result, ServerError};
use crate::store::TaskStatus;

/// A call that became a task, from [`TestClient::start_task`].
#[derive(Debug)]
pub struct Task<'a> {
    client: &'a TestClient,
    /// The server that runs the task, if every round has its own.
    other: Option<TestClient>,
    id: String,
    pace: Pace,
}

/// The status of a task, as `tasks/get` reports it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct TaskState {
    /// Whether the task is working, waits for input, or has ended, and how.
    pub status: TaskStatus,
    /// A message for people that describes the status.
    #[serde(rename = "statusMessage")]
    pub message: Option<String>,
}

impl TestClient {
    /// Calls a tool as a task, in the way of the client's revision. Answers questions the tool asks before
    /// it becomes one. An error if the revision has no tasks, or if the call returns a result instead.
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
                return Err(ServerError::msg(format!(
                    "revision {revision} has no tasks; use 2025-11-25 or 2026-07-28"
                )));
            }
        }
        let first = self.request("tools/call", params.clone()).await;
        let Settled { value, other } = self.rounds("tools/call", &params, first).await?;
        match id(&value) {
            Some(id) => Ok(Task { client: self, other, id, pace: self.pace(&value) }),
            None => Err(ServerError::msg(format!("`{name}` did not become a task; its result is {value}"))),
        }
    }

    /// The parameters of a call. In the revision where the client decides, and if this one wants
    /// [tasks](super::TestClientBuilder::tasks), requests a task if the tool supports it.
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

    /// The result of a request, or of the task it became.
    pub(super) async fn outcome(
        &self,
        settled: Settled,
        news: Option<&NotificationQueue>,
    ) -> Result<Value, ServerError> {
        let Settled { value, other } = settled;
        match id(&value) {
            Some(id) => Task { client: self, other, id, pace: self.pace(&value) }.outcome(news).await,
            None => Ok(value),
        }
    }

    fn pace(&self, created: &Value) -> Pace {
        let pace = if self.is_remote { Pace::remote() } else { Pace::in_memory() };
        pace.told(summary(created))
    }

    /// Cancels a task by its id.
    #[cfg(feature = "cli")]
    pub(super) async fn cancel_task(&self, id: String) -> Result<(), ServerError> {
        Task { client: self, other: None, id, pace: Pace::remote() }.cancel().await
    }
}

/// The id of the task, if the call became one.
fn id(result: &Value) -> Option<String> {
    summary(result)["taskId"].as_str().map(str::to_owned)
}

/// The description of the task in the response that created it.
fn summary(created: &Value) -> &Value {
    if created["resultType"] == "task" { created } else { &created["task"] }
}

impl Task<'_> {
    /// The task's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Requests the current status.
    pub async fn status(&self) -> Result<TaskState, ServerError> {
        Ok(serde_json::from_value(self.request("tasks/get", json!({})).await?)?)
    }

    /// Waits for the result, and answers the task's questions meanwhile.
    pub async fn result(&self) -> Result<CallResponse, ServerError> {
        Ok(serde_json::from_value(self.outcome(None).await?)?)
    }

    /// Cancels the task. If it has already finished, 2025-11-25 returns an error and 2026-07-28 does not.
    pub async fn cancel(&self) -> Result<(), ServerError> {
        self.request("tasks/cancel", json!({})).await.map(drop)
    }

    async fn outcome(&self, news: Option<&NotificationQueue>) -> Result<Value, ServerError> {
        let _running = self.client.running.begin(&self.id);
        if self.client.identity.revision.is_stateless() {
            return self.polled(news).await;
        }
        let result = self.request("tasks/result", json!({}));
        let result = match news.filter(|_| self.client.is_remote) {
            Some(news) => tokio::select! {
                biased;
                result = result => result,
                never = self.followed(news) => match never {},
            },
            None => result.await,
        };
        self.client.responder.propagate_panic();
        result
    }

    /// Tells the status of a task whose result another request waits for.
    async fn followed(&self, news: &NotificationQueue) -> Infallible {
        let (mut pace, mut told) = (self.pace.clone(), None);
        loop {
            tokio::time::sleep(pace.pause()).await;
            match self.request("tasks/get", json!({})).await {
                Ok(task) => {
                    tell(&task, &mut told, news);
                    pace = pace.told(&task);
                }
                // The result is what counts, and may still come.
                Err(_) => std::future::pending::<()>().await,
            }
        }
    }

    /// Polls the task until it has finished, and answers its questions.
    async fn polled(&self, news: Option<&NotificationQueue>) -> Result<Value, ServerError> {
        let (mut pace, mut told) = (self.pace.clone(), None);
        let mut answered = HashSet::new();
        loop {
            tokio::time::sleep(pace.pause()).await;
            let mut task = self.request("tasks/get", json!({})).await?;
            if let Some(news) = news {
                tell(&task, &mut told, news);
            }
            pace = pace.told(&task);
            match task["status"].as_str() {
                Some("completed") => return Ok(task["result"].take()),
                Some("failed") => return Err(ServerError::protocol(serde_json::from_value(task["error"].take())?)),
                Some("cancelled") => return Err(ServerError::msg("this task was cancelled and has no result")),
                Some("input_required") => {
                    self.answer(&task["inputRequests"], &mut answered).await?;
                    pace.restart();
                }
                _ => {}
            }
        }
    }

    async fn answer(&self, requests: &Value, answered: &mut HashSet<String>) -> Result<(), ServerError> {
        let answers = responses(requests, &self.client.responder.replies).await?;
        if let Some(again) = answers.keys().find(|key| !answered.insert((*key).clone())) {
            return Err(ServerError::msg(format!(
                "the task asks `{again}` again after it was answered; does the reply have the right shape?"
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

/// Passes the status message on, if it is another than before.
fn tell(task: &Value, told: &mut Option<String>, news: &NotificationQueue) {
    let message = task["statusMessage"].as_str();
    if task["status"] == "working" && message.is_some() && message != told.as_deref() {
        *told = message.map(str::to_owned);
        news.push(json!({"method": TASK_STATUS, "params": {"statusMessage": message}}));
    }
}
