//! Subscribing to a server's changes, in the way of the client's revision.

use std::sync::Arc;

use serde_json::{Value, json};

use super::notifications::{Changes, End, UnsubscribeGuard, Wanted};
use super::{TestClient, disconnected, result};
use crate::error::{Result, ServerError};

impl TestClient {
    /// Subscribes to changes of the server's lists and of the resources at these URIs: with
    /// `subscriptions/listen` where the revision has it, otherwise with `resources/subscribe`.
    ///
    /// ```
    /// use mcp_runtime::store::Change;
    /// use mcp_runtime::prelude::*;
    /// use mcp_runtime::testing::TestClient;
    ///
    /// /// The time of day.
    /// #[resource("clock://now", subscribe)]
    /// fn now() -> &'static str {
    ///     "late"
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// let server = Server::new("clock", "1.0.0").resources(resources![now]);
    /// let handle = server.handle();
    /// let client = TestClient::connect(server).await?;
    /// let changes = client.changes(["clock://now"]).await?;
    /// handle.resource_updated("clock://now");
    /// assert_eq!(changes.next().await?, Change::ResourceUpdated("clock://now".into()));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn changes<'a>(&self, uris: impl IntoIterator<Item = &'a str>) -> Result<Changes, ServerError> {
        let uris: Vec<String> = uris.into_iter().map(str::to_owned).collect();
        if !self.identity.revision.is_stateless() {
            let notifications = self.inbox.collect(Wanted::Session { uris: uris.clone() });
            let changes = Changes {
                notifications,
                acknowledged: Value::Null,
                end: self.end(uris.clone().into_iter().map(End::Uri)),
            };
            for uri in uris {
                self.request("resources/subscribe", json!({"uri": uri})).await?;
            }
            return Ok(changes);
        }
        let mut filter = json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true});
        filter["resourceSubscriptions"] = json!(&uris);
        let (id, answer) = self.begin();
        let notifications = self.inbox.collect(Wanted::Stream { id });
        self.send_request(id, "subscriptions/listen", json!({"notifications": filter}))?;
        let end = self.end([End::Stream(id)]);
        tokio::select! {
            biased;
            answer = answer => result(answer).and_then(|_| Err(ServerError::msg("the server closed the stream without an acknowledgement"))),
            first = notifications.next() => {
                let acknowledged = first.ok_or_else(disconnected)?["params"]["notifications"].take();
                Changes { notifications, acknowledged, end }.covering(&uris)
            }
        }
    }

    /// A guard that ends these subscriptions on drop.
    fn end(&self, what: impl IntoIterator<Item = End>) -> UnsubscribeGuard {
        let unsubscribe = |end: End| match end {
            End::Stream(id) => json!({
                "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id},
            }),
            End::Uri(uri) => {
                let (id, _) = self.begin();
                json!({"jsonrpc": "2.0", "id": id, "method": "resources/unsubscribe", "params": {"uri": uri}})
            }
        };
        let lines: Vec<String> = what.into_iter().map(|end| unsubscribe(end).to_string()).collect();
        UnsubscribeGuard { input: Arc::downgrade(&self.input), lines }
    }
}
