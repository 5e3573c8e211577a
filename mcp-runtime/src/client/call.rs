//! Calls in flight: their progress, cancellation and result.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::notifications::{NotificationQueue, Observed, ProgressNote, Wanted};
use super::{CallResponse, TestClient, result};
use crate::error::{Result, ServerError};
use crate::jsonrpc::error::RpcError;

/// How long a server may take to confirm that it cancels a task.
#[cfg(feature = "cli")]
const CONFIRMATION: std::time::Duration = std::time::Duration::from_secs(2);

/// A call in flight, from [`TestClient::start`].
#[derive(Debug)]
pub struct Call<'a> {
    client: &'a TestClient,
    id: u64,
    params: Value,
    answer: oneshot::Receiver<Value>,
    notifications: Arc<NotificationQueue>,
}

impl TestClient {
    /// Calls a tool and records its progress and log messages of every level. Log messages of concurrent
    /// calls are included: the protocol does not say which call a message belongs to.
    ///
    /// ```
    /// use mcp_runtime::protocol::LogLevel;
    /// use mcp_runtime::prelude::*;
    /// use mcp_runtime::testing::TestClient;
    ///
    /// /// Count to three.
    /// #[tool]
    /// async fn count(ctx: &Context) {
    ///     ctx.progress(3, 3).await;
    ///     ctx.log(LogLevel::Debug, "that was quick").await;
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// let client = TestClient::connect(Server::new("counter", "1.0.0").tools(tools![count])).await?;
    /// let call = client.observe("count", json!({})).await?;
    /// assert_eq!(call.progress()[0].done, 3.0);
    /// assert_eq!(call.logs()[0].data, "that was quick");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn observe(&self, name: &str, arguments: impl Serialize) -> Result<Observed, ServerError> {
        if !self.identity.revision.is_stateless()
            && let Err(error) = self.request("logging/setLevel", json!({"level": "debug"})).await
            && error.code() != Some(RpcError::METHOD_NOT_FOUND)
        {
            return Err(error);
        }
        self.begin_call(self.call_params(name, arguments).await?)?.observed().await
    }

    /// Starts a call without waiting for its result: to follow its progress, or to cancel it.
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    /// use mcp_runtime::testing::TestClient;
    ///
    /// /// Count forever.
    /// #[tool]
    /// async fn count(ctx: &Context) {
    ///     for number in 1.. {
    ///         ctx.progress(number, None).await;
    ///         tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    ///     }
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// let client = TestClient::connect(Server::new("counter", "1.0.0").tools(tools![count])).await?;
    /// let call = client.start("count", json!({}))?;
    /// assert_eq!(call.progress().await?.done, 1.0);
    /// call.cancel()?; // the server does not respond
    /// # Ok(())
    /// # }
    /// ```
    pub fn start(&self, name: &str, arguments: impl Serialize) -> Result<Call<'_>, ServerError> {
        self.begin_call(json!({"name": name, "arguments": arguments}))
    }

    /// Like [`start`](Self::start); the call becomes a task if this client wants tasks and the tool supports it.
    #[cfg(feature = "cli")]
    pub(crate) async fn start_call(&self, name: &str, arguments: impl Serialize) -> Result<Call<'_>, ServerError> {
        self.begin_call(self.call_params(name, arguments).await?)
    }

    /// Cancels what this client waits for: with `tasks/cancel` the calls that became tasks, otherwise the requests
    /// without a response, to which none is expected any more. The futures that wait must not be dropped before.
    #[cfg(feature = "cli")]
    pub(crate) async fn abandon(&self) {
        let tasks = self.running.ids();
        if tasks.is_empty() {
            for id in self.inbox.pending() {
                // A server that has closed the connection has nothing to cancel.
                let _ = self.notify("notifications/cancelled", &json!({"requestId": id}));
            }
        }
        let cancelled = async {
            for id in tasks {
                let _ = self.cancel_task(id).await;
            }
        };
        let _ = tokio::time::timeout(CONFIRMATION, cancelled).await;
    }

    fn begin_call(&self, mut params: Value) -> Result<Call<'_>, ServerError> {
        let (id, answer) = self.begin();
        let token = format!("progress-{id}");
        let notifications = self.inbox.collect(Wanted::Call { id, token: token.clone() });
        params["_meta"] = json!({"progressToken": token});
        if self.identity.revision.is_stateless() {
            params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
        }
        self.send_request(id, "tools/call", params.clone())?;
        Ok(Call { client: self, id, params, answer, notifications })
    }
}

impl Call<'_> {
    /// The id of the request.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Waits for the next progress report; an error when the call has finished or the server has closed
    /// the connection.
    pub async fn progress(&self) -> Result<ProgressNote, ServerError> {
        loop {
            let message = self.notifications.next().await.ok_or_else(|| ServerError::msg("the call has finished"))?;
            if let Some(note) = report(message) {
                return Ok(note);
            }
        }
    }

    /// Cancels the call. The server does not respond, unless it already has.
    pub fn cancel(&self) -> Result<(), ServerError> {
        self.client.notify("notifications/cancelled", &json!({"requestId": self.id}))
    }

    /// The notifications of the call, to be read while another future waits for its result.
    #[cfg(feature = "cli")]
    pub(crate) fn notifications(&self) -> Arc<NotificationQueue> {
        Arc::clone(&self.notifications)
    }

    /// Waits for the result, and answers the tool's questions meanwhile.
    pub async fn result(self) -> Result<CallResponse, ServerError> {
        let first = result(self.answer.await);
        let settled = self.client.settled("tools/call", &self.params, first, Some(&*self.notifications));
        Ok(serde_json::from_value(settled.await?)?)
    }

    /// Waits for the result, and collects the notifications sent before it.
    async fn observed(self) -> Result<Observed, ServerError> {
        let notifications = Arc::clone(&self.notifications);
        let result = self.result().await?;
        let (mut progress, mut logs) = (Vec::new(), Vec::new());
        for message in notifications.drain() {
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
