//! A server for the command line: `Server::run`, with something for every command.

use std::process::ExitCode;

use mcp_runtime::auth::Auth;
use mcp_runtime::protocol::{LogLevel, ResourceContents};
use mcp_runtime::schemars::JsonSchema;
use mcp_runtime::serde::{Deserialize, Serialize};
use mcp_runtime::{Json, ToolResult, prelude::*};

/// Add two integers.
#[tool(read_only)]
fn add(
    /// The first.
    a: i64,
    /// The second.
    #[arg(default = 1)]
    b: i64,
) -> i64 {
    a + b
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(crate = "mcp_runtime::serde")]
#[schemars(crate = "mcp_runtime::schemars")]
struct Place {
    /// The city.
    city: String,
    lat: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "mcp_runtime::serde")]
#[schemars(crate = "mcp_runtime::schemars")]
struct Given {
    tags: Vec<String>,
    place: Option<Place>,
    loud: bool,
}

/// Return what was given.
///
/// As structured content.
#[tool(read_only)]
fn give(#[arg(default)] tags: Vec<String>, place: Option<Place>, #[arg(default)] loud: bool) -> Json<Given> {
    Json(Given { tags, place, loud })
}

/// Repeat a text.
#[tool(read_only)]
fn repeat(text: String) -> String {
    text
}

/// Always fails.
#[tool]
fn fail() -> Result<()> {
    Err(Error::msg("out of paper"))
}

/// Report progress, and log.
#[tool]
async fn work(ctx: &Context) -> &'static str {
    ctx.progress(1, 2).await;
    ctx.log(LogLevel::Warning, "the paper is low").await;
    ctx.progress(2, 2).await;
    "done"
}

/// Never ends.
#[tool]
async fn hang(ctx: &Context) {
    ctx.progress(1, 2).await;
    std::future::pending::<()>().await;
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "mcp_runtime::serde", rename_all = "snake_case")]
#[schemars(crate = "mcp_runtime::schemars")]
enum Size {
    Small,
    Large,
}

impl Size {
    fn word(&self) -> &'static str {
        match self {
            Size::Small => "small",
            Size::Large => "large",
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "mcp_runtime::serde")]
#[schemars(crate = "mcp_runtime::schemars")]
struct Order {
    /// For whom?
    name: String,
    /// How many?
    #[schemars(range(min = 1, max = 5))]
    count: u8,
    size: Size,
    #[serde(default)]
    note: Option<String>,
}

/// Ask for an order.
#[tool]
async fn order(ctx: &Context) -> Result<String> {
    let Order { name, count, size, note } = ctx.elicit("What would you like?").await?;
    Ok(format!("{count} {} for {name}, {note:?}", size.word()))
}

/// Draw a dot.
#[tool]
fn draw() -> ToolResult {
    ToolResult::new([Content::text("a dot:"), Content::image(b"not really a png", "image/png")])
}

/// Two pictures, and words about them.
#[tool]
fn gallery() -> ToolResult {
    ToolResult::new([
        Content::text("two dots:"),
        Content::image(b"the first", "image/png"),
        Content::image(b"the second", "image/jpeg"),
    ])
}

/// Two texts.
#[tool]
fn essay() -> ToolResult {
    ToolResult::new([Content::text("in the beginning"), Content::text("in the end")])
}

/// Asks in the middle of a task.
#[tool(task)]
async fn order_later(ctx: &Context) -> Result<String> {
    ctx.progress_message(1, 2, "looking for a waiter").await;
    order(ctx).await
}

/// A prompt that cannot be had.
#[prompt]
fn broken() -> Result<String> {
    Err(Error::internal("no words"))
}

/// A text with an escape sequence.
#[resource("text://note", mime = "text/plain")]
fn note() -> &'static str {
    "milk\u{1b}[31m"
}

/// Bytes.
#[resource("blob://{size}", mime = "application/octet-stream")]
fn blob(size: usize) -> ResourceContents {
    ResourceContents::blob(vec![7; size])
}

/// Ask for a summary.
#[prompt]
fn summary(style: String, #[arg(default)] loud: bool) -> String {
    format!("Summarise, {style}, {loud}.")
}

#[tokio::main]
async fn main() -> ExitCode {
    let server = Server::new("commands", "1.2.3")
        .description("Something for every command.")
        .tools(tools![add, give, repeat, fail, work, hang, order, draw, gallery, essay, order_later])
        .resources(resources![note, blob])
        .prompts(prompts![summary, broken]);
    // For `doctor`, which knows the URL then.
    match std::env::var("RESOURCE") {
        Ok(resource) => {
            server.authorize(Auth::bearer([("ci", "token-of-the-ci-server")]).resource(resource)).run().await
        }
        Err(_) => server.run().await,
    }
}
