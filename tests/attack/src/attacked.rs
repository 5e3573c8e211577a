//! The server under attack: `serve_http` with its default limits, and a tool for every scenario.
//!
//! It is a command of the driver's own binary, so that both are always of the same build.

use std::time::Duration;
use std::{io, process, thread};

use mcp_runtime::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

/// The longest answer a tool gives.
const LONGEST: usize = 8 * 1024 * 1024;

/// Add two integers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Wait, and keep the text meanwhile.
#[tool]
async fn wait(ms: u64, text: Option<String>) -> usize {
    tokio::time::sleep(Duration::from_millis(ms)).await;
    text.map_or(0, |text| text.len())
}

/// Report progress until the time is over, keep the text meanwhile, and give a long answer.
#[tool]
async fn report(ctx: &Context, ms: u64, answer: usize, text: Option<String>) -> String {
    const STEP: u64 = 500;
    ctx.progress(0, None).await;
    for step in 1..=ms / STEP {
        tokio::time::sleep(Duration::from_millis(STEP)).await;
        ctx.progress(u32::try_from(step).unwrap_or(u32::MAX), None).await;
    }
    tokio::time::sleep(Duration::from_millis(ms % STEP)).await;
    drop(text);
    "x".repeat(answer.min(LONGEST))
}

/// Give a long answer at once.
#[tool]
fn big(answer: usize) -> String {
    "x".repeat(answer.min(LONGEST))
}

/// Hold the thread: what no `fn` without `blocking` should do, and some do.
#[tool]
fn block(ms: u64) -> u64 {
    thread::sleep(Duration::from_millis(ms.min(10_000)));
    ms
}

/// Work as a task, keep the text meanwhile, and give a long answer.
#[tool(task)]
async fn work(ms: u64, answer: usize, text: Option<String>) -> String {
    // Even no time at all would be a millisecond on the timer.
    if ms > 0 {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
    drop(text);
    "x".repeat(answer.min(LONGEST))
}

#[derive(Deserialize, JsonSchema)]
struct Consent {
    sure: bool,
}

/// How long a question stays open: less than the rest after a load that leaves questions behind, so that what memory they
/// take then is not theirs by right.
const QUESTION: Duration = Duration::from_secs(20);

/// Ask the user.
#[tool]
async fn ask(ctx: &Context) -> Result<bool> {
    let Consent { sure } = ctx.elicit("Sure?").timeout(QUESTION).await?;
    Ok(sure)
}

/// A note.
#[resource("note://{id}", subscribe)]
fn note(id: String) -> String {
    id
}

#[tokio::main]
pub(crate) async fn serve(address: &str, sse: bool) -> crate::Result<()> {
    thread::spawn(end_with_the_driver);
    let server = Server::new("attacked", "1.0.0")
        .tools(tools![add, wait, report, big, block, work, ask])
        .resources(resources![note]);
    // HTTP+SSE is off by default; everything else is what `serve_http` alone does.
    if sse {
        server.into_service().legacy_sse().serve(address).await?;
    } else {
        server.serve_http(address).await?;
    }
    Ok(())
}

/// However the driver ends, the server's standard input ends with it.
fn end_with_the_driver() {
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    process::exit(0);
}
