//! A call that becomes a task.

use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskManager, TaskOptions};
use rmcp::{ErrorData, RoleServer, ServerHandler};

#[derive(Clone)]
pub struct Press {
    pub tasks: TaskManager,
}

impl ServerHandler for Press {
    async fn call_tool(
        &self,
        _request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if context.client_capabilities().is_some_and(|client| client.supports_tasks()) {
            let task = self.tasks.spawn(TaskOptions::default(), |_task| Box::pin(async { Ok(print().await?) }));
            return Ok(CallToolResponse::Task(CreateTaskResult::new(task)));
        }
        Ok(CallToolResponse::Complete(print().await?))
    }

    // `get_task`, `update_task` and `cancel_task` hand on to `self.tasks`.
}

async fn print() -> Result<CallToolResult, ErrorData> {
    Ok(CallToolResult::success(vec![ContentBlock::text("printed")]))
}
