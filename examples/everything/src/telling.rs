//! Tools that send notifications: of their progress, of changed lists, of an updated resource.

use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::protocol::LogLevel;

async fn a_moment() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// Reports its progress.
#[tool]
async fn test_tool_with_progress(ctx: &Context) -> &'static str {
    for done in [0, 50, 100] {
        ctx.progress(done, 100).await;
        a_moment().await;
    }
    "done"
}

/// Logs what it does.
#[tool]
async fn test_tool_with_logging(ctx: &Context) -> &'static str {
    ctx.log(LogLevel::Info, "Tool execution started").await;
    a_moment().await;
    ctx.log(LogLevel::Info, "Tool processing data").await;
    a_moment().await;
    ctx.log(LogLevel::Info, "Tool execution completed").await;
    "logged"
}

/// Logs, for clients that want it.
#[tool]
async fn test_logging_tool(ctx: &Context) -> &'static str {
    ctx.log(LogLevel::Info, "nobody may want this").await;
    "logged"
}

/// Closes the stream; the client reconnects for the result.
#[tool]
async fn test_reconnection(ctx: &Context) -> &'static str {
    ctx.close_stream().await;
    a_moment().await;
    "welcome back"
}

/// Notifies clients of a change of the list of tools.
#[tool]
fn test_trigger_tool_change(ctx: &Context) -> &'static str {
    // The list stays as it is: a handle changes the lists of its own process, and this may be one of several replicas.
    ctx.server().tools().notify_changed();
    "changed"
}

/// Notifies clients of a change of the list of prompts.
#[tool]
fn test_trigger_prompt_change(ctx: &Context) -> &'static str {
    ctx.server().prompts().notify_changed();
    "changed"
}

/// Publishes an update of `test://watched-resource`.
#[tool]
fn test_trigger_resource_update(ctx: &Context) -> &'static str {
    ctx.server().resource_updated("test://watched-resource");
    "updated"
}

pub fn tools() -> [Tool; 7] {
    tools![
        test_tool_with_progress,
        test_tool_with_logging,
        test_logging_tool,
        test_reconnection,
        test_trigger_tool_change,
        test_trigger_prompt_change,
        test_trigger_resource_update,
    ]
}
