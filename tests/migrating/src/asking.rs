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

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[schemars(inline, extend("type" = "string"))]
enum Priority {
    #[schemars(title = "When there is time")]
    Low,
    #[schemars(title = "Before everything else")]
    High,
}

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Ticket {
    priority: Priority,
}

elicit_safe!(Ticket);

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

    #[tool(description = "File a ticket.")]
    async fn file(&self, ctx: RequestContext<RoleServer>) -> CallToolResult {
        match ctx.peer.elicit::<Ticket>("How urgent is it?").await {
            Ok(Some(Ticket { priority: Priority::High })) => {
                CallToolResult::success(vec![ContentBlock::text("called")])
            }
            Ok(_) => CallToolResult::success(vec![ContentBlock::text("filed")]),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
        }
    }

    #[tool(description = "Summarize a text.")]
    async fn summarize(&self, ctx: RequestContext<RoleServer>) -> Result<String, String> {
        let question = vec![SamplingMessage::user_text("Summarize: it rained all day.")];
        let request = CreateMessageRequestParams::new(question, 100).with_system_prompt("One sentence.");
        let answer = ctx.peer.create_message(request).await.map_err(|error| error.to_string())?;
        let text = answer.message.content.first().and_then(|content| content.as_text());
        text.map(|text| text.text.clone()).ok_or("no text".to_owned())
    }

    #[tool(description = "List the directories of the user.")]
    async fn directories(&self, ctx: RequestContext<RoleServer>) -> Result<String, String> {
        let known = ctx.peer.list_roots().await.map_err(|error| error.to_string())?;
        Ok(known.roots.into_iter().map(|root| root.uri).collect::<Vec<_>>().join(" "))
    }

    #[tool(description = "Have the user visit a page.")]
    async fn visit(&self, ctx: RequestContext<RoleServer>) -> Result<String, String> {
        let url = url::Url::parse("https://example.com/setup").map_err(|error| error.to_string())?;
        Ok(format!("{:?}", ctx.peer.elicit_url("Finish the set-up", url, "setup-1").await))
    }
}
