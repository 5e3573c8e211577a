//! The server under test: a handler of every kind, all of them quick.

use std::collections::BTreeMap;
use std::sync::Once;
use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::protocol::LogLevel;
use mcp_runtime::{Json, Limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The drain timeout: far longer than any call takes.
pub const DRAIN: Duration = Duration::from_secs(4);
/// The message size limit: small enough for a fuzzer to reach.
pub const MESSAGE_BYTES: usize = 2048;
/// The batch size limit.
pub const BATCH: usize = 6;

/// The panic message of handlers that panic on purpose.
const ON_PURPOSE: &str = "on purpose";

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Shape {
    Point,
    Circle { radius: f64 },
    Polygon(Vec<(i32, i32)>),
}

/// Add two integers.
#[tool(read_only)]
fn add(a: i64, b: i64) -> i64 {
    a.wrapping_add(b)
}

/// Return arguments of many types.
#[tool]
fn types(shape: Option<Shape>, names: Option<BTreeMap<String, u8>>, any: Option<Value>) -> Json<Value> {
    Json(json!({"shape": shape, "names": names, "any": any}))
}

/// Return the text, later.
#[tool]
async fn later(text: String) -> String {
    tokio::task::yield_now().await;
    text
}

/// Take three steps and report progress.
#[tool]
async fn steps(ctx: &Context, wait: Option<bool>) -> Option<String> {
    for step in 1..=3 {
        ctx.progress_message(step, 3, "on the way").await;
        ctx.log(LogLevel::Warning, json!({"step": step})).await;
        if wait == Some(true) {
            tokio::task::yield_now().await;
        }
    }
    ctx.client_name().map(str::to_owned)
}

/// Never ends by itself.
#[tool(timeout = "1ms")]
async fn forever() {
    std::future::pending::<()>().await;
}

/// On a thread of its own.
#[tool(blocking)]
fn block() -> &'static str {
    std::thread::yield_now();
    "blocked"
}

/// Panics.
#[tool]
fn panic() {
    panic!("{ON_PURPOSE}");
}

/// Panics, later.
#[tool]
async fn panic_later() {
    tokio::task::yield_now().await;
    panic!("{ON_PURPOSE}");
}

/// Panics on a thread of its own.
#[tool(blocking)]
fn panic_blocking() {
    panic!("{ON_PURPOSE}");
}

/// Change the catalog or a resource.
#[tool]
fn change(ctx: &Context, uri: Option<String>, tool: Option<String>, on: Option<bool>) -> bool {
    if let Some(uri) = uri {
        ctx.server().resource_updated(uri);
    }
    let tools = ctx.server().tools();
    tool.is_some_and(|name| if on == Some(true) { tools.enable(&name) } else { tools.disable(&name) })
}

/// A form.
#[derive(Debug, Deserialize, JsonSchema)]
struct Name {
    name: String,
    #[serde(default)]
    age: Option<u8>,
}

/// Ask repeatedly, after a side effect.
#[tool]
async fn ask(ctx: &Context, times: Option<u8>) -> Result<String> {
    let done = ctx.once("done", async { Ok(1) }).await?;
    let mut names = format!("{done}");
    for _ in 0..times.unwrap_or(1) {
        let Name { name, age } = ctx.elicit("Who?").await?;
        names += &format!(" {name} {age:?}");
    }
    Ok(names)
}

/// Ask two questions at once, and take the first answer of two others.
#[tool]
async fn ask_both(ctx: &Context) -> Result<String> {
    let (one, roots) = tokio::join!(ctx.elicit::<Name>("Who?").key("who"), ctx.list_roots());
    let first = tokio::select! {
        one = ctx.elicit::<Name>("Who first?") => one,
        other = ctx.elicit::<Name>("Or who?") => other,
    };
    Ok(format!("{one:?} {roots:?} {first:?}"))
}

/// Ask as a task.
#[tool(task)]
async fn job(ctx: &Context) -> Result<String> {
    ctx.progress_message(1, 2, "half way").await;
    let Name { name, .. } = ctx.elicit("Who?").key("who").await?;
    Ok(name)
}

/// Ask, and become a task.
#[tool(task = "required", asks_first)]
async fn prepared(ctx: &Context, start: Option<bool>) -> Result<bool> {
    let Name { .. } = ctx.elicit("Who?").await?;
    if start == Some(true) {
        ctx.start_task().await;
    }
    Ok(ctx.is_task())
}

/// Visible to some callers only.
#[tool(visible_if = |ctx: &Context| ctx.meta("see").is_some())]
fn hidden() {}

async fn colours(typed: &str) -> Vec<&'static str> {
    tokio::task::yield_now().await;
    ["red", "green", "grey"].into_iter().filter(|colour| colour.starts_with(typed)).collect()
}

fn echoes(typed: &str) -> Vec<String> {
    vec![typed.to_owned(); 120]
}

/// Paint something.
#[prompt]
fn paint(#[arg(complete = colours)] colour: String, times: Option<u8>) -> String {
    format!("Paint it {colour}, {} times.", times.unwrap_or(1))
}

/// The manual.
#[resource("docs://manual", mime = "text/markdown")]
fn manual() -> &'static str {
    "# Manual"
}

/// A note.
#[resource("note://{id}/{+path}", subscribe)]
async fn note(id: u64, #[arg(complete = echoes)] path: String) -> Option<String> {
    tokio::task::yield_now().await;
    (id != 0).then_some(path)
}

/// The server. `ends_on_request`: whether it obeys `shutdown` and `exit`.
pub fn server(ends_on_request: bool) -> Server {
    let mut limits = Limits::default();
    limits.message_bytes = MESSAGE_BYTES;
    limits.batch = BATCH;
    limits.in_flight = 5;
    limits.streams = 2;
    limits.subscriptions = 3;
    limits.drain_timeout = DRAIN;
    limits.answer_timeout = Duration::from_millis(20);
    limits.asks_per_call = 5;
    limits.state_bytes = 512;
    limits.tasks = 3;
    Server::new("fuzzed", "1.0.0")
        .limits(limits)
        .allow_remote_shutdown(ends_on_request)
        .tools(tools![add, types, later, steps, forever, block, panic, panic_later, panic_blocking, change, hidden])
        .tools(tools![ask, ask_both, job, prepared])
        .dynamic()
        .page_size(4)
        .method("fuzz.example/echo", |_, any: Value| async move { Ok(any) })
        .notification("fuzz.example/tell", |_, times: BTreeMap<String, u8>| async move {
            assert!(times.len() < 3, "{ON_PURPOSE}");
            tokio::task::yield_now().await;
            Err(Error::msg("never told"))
        })
        .prompts(prompts![paint])
        .resources(resources![manual, note])
}

/// The server catches panics of handlers, and would also catch its own. This hook passes every panic that is
/// not a handler's to the previous hook, which ends the process.
pub fn let_handlers_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let fatal = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info.payload_as_str().is_some_and(|text| text.contains(ON_PURPOSE)) {
                fatal(info);
            }
        }));
    });
}
