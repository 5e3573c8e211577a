//! Tasks: calls that outlive their response, in both eras.

mod client;
mod core;
mod extension;
mod hostile;
mod limits;
mod misuse;

use std::time::Duration;

use mcp_runtime::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize, JsonSchema)]
struct Confirm {
    /// Really?
    sure: bool,
}

/// Take a while.
#[tool(task)]
async fn slow(ctx: &Context, millis: u64) -> Result<String> {
    ctx.progress_message(1, 2, "half way").await;
    tokio::time::sleep(Duration::from_millis(millis)).await;
    Ok(format!("{} after {millis}", if ctx.is_task() { "task" } else { "call" }))
}

/// Be a task or nothing, and fail.
#[tool(task = "required")]
async fn failing() -> Result<String> {
    tokio::task::yield_now().await;
    Err(Error::msg("it went wrong"))
}

/// Fail in the protocol.
#[tool(task)]
async fn broken() -> Result<String> {
    tokio::task::yield_now().await;
    Err(Error::internal("no such thing"))
}

/// Ask twice at once, and then once more.
#[tool(task)]
async fn ask(ctx: &Context) -> Result<String> {
    let (one, two) = tokio::join!(ctx.elicit::<Confirm>("One?"), ctx.elicit::<Confirm>("Two?"));
    let three: Confirm = ctx.elicit("Three?").key("three").await?;
    Ok(format!("{} {} {}", one?.sure, two?.sure, three.sure))
}

/// Ask first, then take a while.
#[tool(task = "required", asks_first)]
async fn prepared(ctx: &Context) -> Result<String> {
    let first: Confirm = ctx.elicit("Before?").await?;
    ctx.start_task().await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    let then: Confirm = ctx.elicit("After?").await?;
    Ok(format!("{} {}", first.sure, then.sure))
}

/// Block a thread for a while.
#[tool(task, blocking)]
fn thread(ctx: &Context) -> bool {
    for done in 0..200 {
        if ctx.is_cancelled() {
            return false;
        }
        ctx.try_progress(done, 200);
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// Be no task at all.
#[tool]
fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

fn server() -> Server {
    Server::new("worker", "1.0.0").tools(tools![slow, failing, broken, ask, prepared, thread, greet])
}

fn accept(sure: bool) -> Value {
    json!({"action": "accept", "content": {"sure": sure}})
}
