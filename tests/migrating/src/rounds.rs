//! Asking in rounds, as in 2026-07-28, and a question that is taken back.

use std::sync::Arc;

use rmcp::handler::server::tool::InputResponses;
use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, tool, tool_router};
use tokio::sync::Notify;

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Confirm {
    sure: bool,
}

fn form(message: &str) -> Result<ElicitRequest, ErrorData> {
    let schema = ElicitationSchema::from_type::<Confirm>();
    Ok(ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.into(),
        requested_schema: schema.map_err(|error| ErrorData::internal_error(error.to_string(), None))?,
    }))
}

#[derive(Clone, Default)]
pub struct Rounds {
    pub sold_out: Arc<Notify>,
}

#[tool_router(server_handler)]
impl Rounds {
    #[tool(description = "Delete the notes, after asking.")]
    async fn delete(&self, InputResponses(answers): InputResponses) -> Result<CallToolResponse, ErrorData> {
        let Some(answers) = answers else {
            let question = InputRequest::Elicitation(form("Delete all notes?")?);
            let questions = InputRequests::from([("sure".into(), question)]);
            return Ok(InputRequiredResult::from_input_requests(questions).into());
        };
        let answer = answers.get("sure").filter(|answer| answer["action"] == "accept");
        let sure = answer.is_some_and(|answer| answer["content"]["sure"] == true);
        Ok(CallToolResult::success(vec![ContentBlock::text(if sure { "deleted" } else { "kept" })]).into())
    }

    #[tool(description = "Buy a ticket, unless the last one goes meanwhile.")]
    async fn buy(&self, ctx: RequestContext<RoleServer>) -> Result<String, ErrorData> {
        let failed = |error: rmcp::ServiceError| ErrorData::internal_error(error.to_string(), None);
        let question = ServerRequest::ElicitRequest(form("Buy it?")?);
        let asked = ctx.peer.send_cancellable_request(question, Default::default()).await.map_err(failed)?;
        let id = asked.id.clone();
        tokio::select! {
            () = self.sold_out.notified() => {
                let reason = CancelledNotificationParam::new(Some(id), Some("sold out".into()));
                ctx.peer.notify_cancelled(reason).await.map_err(failed)?;
                Ok("sold out".into())
            }
            answer = asked.await_response() => match answer.map_err(failed)? {
                ClientResult::ElicitResult(answer) if answer.action == ElicitationAction::Accept => Ok("bought".into()),
                _ => Ok("not bought".into()),
            },
        }
    }
}
