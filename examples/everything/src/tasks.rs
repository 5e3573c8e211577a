//! Tools whose calls can be tasks: the client is answered at once, and comes back for what came of it.
//!
//! A tool with `task` does not have to know. Called by a client that has never heard of tasks, it is
//! waited for; with `task = "required"` such a client is refused before the tool runs.

use std::time::Duration;

use mcp_runtime::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::rounds::Name;

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Whether to go on.
    confirm: bool,
}

/// Greets. It is never a task: there is nothing to wait for.
#[tool]
fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

/// Takes as long as it is told to, and tells how far it is. When its task is cancelled, it just ends
/// where it waits.
#[tool(task)]
async fn slow_compute(
    ctx: &Context,
    /// How long.
    seconds: f64,
    /// What the result is to be called.
    label: Option<String>,
) -> Result<String> {
    let time = Duration::try_from_secs_f64(seconds).map_err(|_| Error::msg("no time is so long"))?;
    ctx.progress_message(0, 1, "computing").await;
    tokio::time::sleep(time).await;
    Ok(format!("{} is done after {seconds} s", label.as_deref().unwrap_or("It")))
}

/// Fails after a while. The task does not: it is completed, with a result that is an error.
#[tool(task = "required")]
async fn failing_job() -> Result<String> {
    tokio::time::sleep(Duration::from_secs(1)).await;
    Err(Error::msg("The job has failed, as it always does"))
}

/// Fails as a call, and so does the task: it has an error, and no result.
#[tool(task)]
async fn protocol_error_job() -> Result<String> {
    Err(Error::internal("The job cannot be done"))
}

/// Deletes nothing, after asking. The task waits for the answer, and the tool with it.
#[tool(task)]
async fn confirm_delete(ctx: &Context, filename: String) -> Result<String> {
    let Confirm { confirm } = ctx.elicit(format!("Delete {filename}?")).key("confirm").await?;
    Ok(format!("{filename} is {}", if confirm { "deleted" } else { "kept" }))
}

/// Asks two things at once, which may be answered in any order and one by one.
#[tool(task)]
async fn multi_input(ctx: &Context) -> Result<String> {
    let name = ctx.elicit::<Name>("What is your name?").key("name");
    let confirm = ctx.elicit::<Confirm>("Shall we go on?").key("confirm");
    let (name, confirm) = tokio::try_join!(name, confirm)?;
    Ok(format!("{}: {}", name.name, if confirm.confirm { "yes" } else { "no" }))
}

/// Asks first and becomes a task then, so that whoever does not answer leaves no task behind.
#[tool(task = "required", asks_first)]
async fn test_tool_with_task(ctx: &Context) -> Result<String> {
    let Name { name } = ctx.elicit("What is your name?").key("user_name").await?;
    ctx.start_task().await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    Ok(format!("Hello, {name}!"))
}

pub fn tools() -> [Tool; 7] {
    tools![greet, slow_compute, failing_job, protocol_error_job, confirm_delete, multi_input, test_tool_with_task,]
}
