//! Asking: in a request of the server, up to 2025-11-25.
#![expect(deprecated, reason = "rmcp deprecates sampling, roots and logging, as the specification does")]

use rmcp::model::{CallToolResult, ContentBlock, CreateMessageRequestParams, SamplingMessage};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, elicit_safe, tool, tool_router};

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Confirm {
    sure: bool,
}

elicit_safe!(Confirm);

#[derive(Clone)]
pub struct Asking;

#[tool_router(server_handler)]
impl Asking {
    #[tool(description = "Delete the notes, after asking.")]
    async fn delete(&self, ctx: RequestContext<RoleServer>) -> CallToolResult {
        match ctx.peer.elicit::<Confirm>("Delete all notes?").await {
            Ok(Some(Confirm { sure: true })) => CallToolResult::success(vec![ContentBlock::text("deleted")]),
            Ok(_) => CallToolResult::success(vec![ContentBlock::text("kept")]),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
        }
    }

    #[tool(description = "Say the answers of the other asks.")]
    async fn others(&self, ctx: RequestContext<RoleServer>) -> Result<String, String> {
        let url = url::Url::parse("https://example.com/setup").map_err(|error| error.to_string())?;
        let action = ctx.peer.elicit_url("Finish the set-up", url, "setup-1").await;
        let question = vec![SamplingMessage::user_text("Why is the sky blue?")];
        let sample = ctx.peer.create_message(CreateMessageRequestParams::new(question, 100)).await;
        let roots = ctx.peer.list_roots().await.map_err(|error| error.to_string())?;
        Ok(format!("{action:?} {sample:?} {}", roots.roots.len()))
    }
}
