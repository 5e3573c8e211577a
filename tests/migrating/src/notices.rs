//! Progress, logging, lists that change, and resources that do.
#![expect(deprecated, reason = "rmcp deprecates sampling, roots and logging, as the specification does")]

use std::sync::{Arc, Mutex};

use rmcp::model::*;
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceError, tool, tool_router};
use tokio::sync::broadcast;

#[derive(Clone)]
pub struct Notices;

#[tool_router(server_handler)]
impl Notices {
    #[tool(description = "Import the notes.")]
    async fn import(&self, ctx: RequestContext<RoleServer>) -> String {
        for page in 1..=3 {
            if let Some(token) = ctx.meta.get_progress_token() {
                let progress = ProgressNotificationParam::new(token, f64::from(page)).with_total(3.0);
                let _ = ctx.peer.notify_progress(progress).await;
            }
        }
        "3 pages".into()
    }
}

/// The notifications that a handler sends through its peer.
pub async fn send(ctx: &RequestContext<RoleServer>) -> Result<(), ServiceError> {
    let text = LoggingMessageNotificationParam::new(LoggingLevel::Info, serde_json::json!("imported"));
    ctx.peer.notify_logging_message(text).await?;
    ctx.peer.notify_tool_list_changed().await?;
    ctx.peer.notify_resource_updated(ResourceUpdatedNotificationParam::new("note://1")).await
}

/// A server that keeps the level of its client, and tells of resources that change.
#[derive(Clone)]
pub struct Notebook {
    pub level: Arc<Mutex<LoggingLevel>>,
    pub changes: broadcast::Sender<String>,
}

impl ServerHandler for Notebook {
    fn get_info(&self) -> ServerConfig {
        let offered = ServerCapabilities::builder().enable_logging().enable_resources().enable_resources_subscribe();
        ServerConfig::new(offered.build())
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        *self.level.lock().unwrap() = request.level;
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.changes.subscribe();
        loop {
            let uri = tokio::select! {
                () = context.cancelled() => return Ok(()),
                changed = changes.recv() => changed.map_err(|error| ErrorData::internal_error(error.to_string(), None))?,
            };
            let subscribed = context.accepted().resource_subscriptions.as_ref();
            if subscribed.is_some_and(|uris| uris.contains(&uri)) {
                let sent = context.sink().notify_resource_updated(uri).await;
                sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            }
        }
    }
}
