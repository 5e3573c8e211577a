//! Tools whose calls can become tasks: the client gets a response at once, and polls for the result.
//!
//! A tool with `task` needs no other change. A client without support for tasks waits for the result; with
//! `task = "required"` it gets an error before the tool runs.

use std::io::Write as _;
use std::time::Duration;

use mcp_runtime::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::rounds::Name;

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Whether to continue.
    confirm: bool,
}

/// Greets. Never a task: it returns at once.
#[tool]
fn greet(
    /// Whom to greet.
    name: String,
) -> String {
    format!("Hello, {name}!")
}

/// Runs as long as requested and reports progress. When its task is cancelled, it is dropped at its
/// `.await`.
#[tool(task)]
async fn slow_compute(
    ctx: &Context,
    /// How long to run.
    seconds: f64,
    /// A label for the result.
    label: Option<String>,
) -> Result<String> {
    let time = Duration::try_from_secs_f64(seconds).map_err(|_| Error::msg("no time is so long"))?;
    ctx.progress_message(0, 1, "computing").await;
    tokio::time::sleep(time).await;
    Ok(format!("{} is done after {seconds} s", label.as_deref().unwrap_or("It")))
}

/// Fails after a while. The task completes, with an error result.
#[tool(task = "required")]
async fn failing_job() -> Result<String> {
    tokio::time::sleep(Duration::from_secs(1)).await;
    Err(Error::msg("The job has failed, as it always does"))
}

/// Fails with a protocol error. The task fails, too: it has an error instead of a result.
#[tool(task)]
async fn protocol_error_job() -> Result<String> {
    Err(Error::internal("The job cannot be done"))
}

/// Pretends to delete a file, after asking. The task waits for the answer.
#[tool(task, destructive = false)]
async fn confirm_delete(
    ctx: &Context,
    /// The file.
    filename: String,
) -> Result<String> {
    let Confirm { confirm } = ctx.elicit(format!("Delete {filename}?")).key("confirm").await?;
    Ok(format!("{filename} is {}", if confirm { "deleted" } else { "kept" }))
}

/// Asks two questions at once; the answers may arrive in any order.
#[tool(task)]
async fn multi_input(ctx: &Context) -> Result<String> {
    let name = ctx.elicit::<Name>("What is your name?").key("name");
    let confirm = ctx.elicit::<Confirm>("Shall we go on?").key("confirm");
    let (name, confirm) = tokio::try_join!(name, confirm)?;
    Ok(format!("{}: {}", name.name, if confirm.confirm { "yes" } else { "no" }))
}

/// Asks first and then becomes a task, so that an unanswered question leaves no task behind.
#[tool(task = "required", asks_first)]
async fn test_tool_with_task(ctx: &Context) -> Result<String> {
    let Name { name } = ctx.elicit("What is your name?").key("user_name").await?;
    ctx.start_task().await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    Ok(format!("Hello, {name}!"))
}

/// Takes steps, each of which appends a line `key step` to the file that `EFFECTS_FILE` names. When its replica dies, another
/// one goes on with the next step.
#[tool(task, durable)]
async fn durable_steps(
    ctx: &Context,
    /// How many steps to take.
    #[arg(max = 1000)]
    steps: u32,
    /// How long to take for all of them.
    seconds: f64,
    /// What the lines begin with.
    key: String,
) -> Result<u32> {
    let time = Duration::try_from_secs_f64(seconds).map_err(|_| Error::msg("no time is so long"))?;
    for step in 1..=steps {
        tokio::time::sleep(time / steps).await;
        ctx.once(&format!("step-{step}"), append(format!("{key} {step}\n"))).await?;
        ctx.progress(step, steps).await;
    }
    Ok(steps)
}

/// Appends a line to the file of effects, in one write.
async fn append(line: String) -> Result<()> {
    if let Some(path) = std::env::var_os("EFFECTS_FILE") {
        std::fs::OpenOptions::new().create(true).append(true).open(path)?.write_all(line.as_bytes())?;
    }
    Ok(())
}

pub fn tools() -> [Tool; 8] {
    tools![
        greet,
        slow_compute,
        failing_job,
        protocol_error_job,
        confirm_delete,
        multi_input,
        test_tool_with_task,
        durable_steps,
    ]
}
