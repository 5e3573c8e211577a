//! Progress, logging, lists that change, and resources that do.
#![expect(deprecated, reason = "rmcp deprecates sampling, roots and logging, as the specification does")]

use rmcp::model::{
    LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ResourceUpdatedNotificationParam,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServiceError, tool, tool_router};

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
