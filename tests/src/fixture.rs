//! A server with a handler of every kind the protocol distinguishes, and servers for single features.

mod asking;
mod changing;
mod guarded;
mod own;
mod paged;

pub use asking::{asking, working};
pub use changing::{changing, growing, watching};
pub use guarded::guarded;
pub use own::own;
pub use paged::paged;

use mcp_runtime::prelude::*;
use mcp_runtime::protocol::{CompletionContext, LogLevel, PromptMessage, ResourceContents, ResourceDescriptor, Role};
use mcp_runtime::{Json, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Add two integers.
#[tool(title = "Adder", read_only, idempotent)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Tone {
    Calm,
    Loud,
}

/// Say a text.
///
/// In a tone.
#[tool]
async fn say(
    /// What to say.
    text: String,
    #[arg(default = Tone::Calm)] tone: Tone,
    times: Option<u8>,
) -> String {
    tokio::task::yield_now().await;
    let text = vec![text; usize::from(times.unwrap_or(1))].join(" ");
    match tone {
        Tone::Calm => text,
        Tone::Loud => text.to_uppercase(),
    }
}

#[derive(Serialize, JsonSchema)]
struct Stats {
    count: u64,
    sum: f64,
}

/// Count and sum.
#[tool]
fn stats(numbers: Vec<f64>) -> Json<Stats> {
    Json(Stats { count: numbers.len() as u64, sum: numbers.iter().sum() })
}

/// The numbers below a number.
#[tool]
fn below(n: u32) -> Json<Vec<u32>> {
    Json((0..n).collect())
}

/// One block of every kind.
#[tool]
fn blocks() -> Vec<Content> {
    vec![
        Content::text("text").with_audience([Role::User]).with_priority(0.5),
        Content::image(b"png", "image/png"),
        Content::audio(b"wav", "audio/wav"),
        Content::link(ResourceDescriptor::new("note://7", "seventh")),
        Content::resource(ResourceContents::text("hello").with_uri("note://7").with_mime("text/plain")),
    ]
}

/// A result with everything.
#[tool]
fn full() -> Result<ToolResult> {
    ToolResult::new([Content::text("seven")])
        .with_structured(&json!({"n": 7}))
        .map(|result| result.with_meta("example.com/cost", 3))
}

/// Nothing to say.
#[tool]
fn nothing() {}

/// Fails.
#[tool]
fn fail() -> Result<String> {
    Err(Error::msg("it is raining"))
}

/// Panics.
#[tool]
fn panic() -> String {
    panic!("secret details")
}

/// Never ends.
#[tool(timeout = "20ms")]
async fn forever() {
    std::future::pending::<()>().await;
}

/// Greet somebody.
#[prompt(title = "Greeting")]
fn greet(
    /// Whom to greet.
    name: String,
    times: Option<u8>,
) -> String {
    vec![format!("Say hello to {name}."); usize::from(times.unwrap_or(1))].join(" ")
}

/// A dialogue.
#[prompt]
async fn dialogue() -> Vec<PromptMessage> {
    tokio::task::yield_now().await;
    vec![
        PromptMessage::user("Knock knock."),
        PromptMessage::assistant("Who is there?"),
        PromptMessage::user(Content::link(ResourceDescriptor::new("note://7", "seventh"))),
    ]
}

/// The manual.
#[resource("docs://manual", mime = "text/markdown", audience = "user", priority = 0.5)]
fn manual() -> &'static str {
    "# Manual"
}

/// A logo.
#[resource("docs://logo", mime = "image/png")]
fn logo() -> Vec<u8> {
    b"png".to_vec()
}

/// A note.
#[resource("note://{id}")]
async fn note(id: u64) -> Option<String> {
    std::future::ready(()).await;
    (id == 7).then(|| "the seventh note".to_owned())
}

/// A file.
#[resource("files:///{+path}", mime = "text/plain")]
fn file(path: String) -> Result<String> {
    if path.contains("..") {
        Err(Error::invalid_params("the path leads outside"))
    } else {
        Ok(format!("contents of {path}"))
    }
}

/// The settings.
#[derive(Serialize, Resource)]
#[resource(uri = "config://app", title = "Settings", size)]
struct Config {
    theme: &'static str,
}

/// The server with everything.
pub fn server() -> Server {
    Server::new("fixture", "1.2.3")
        .title("Fixture")
        .instructions("Add before you say.")
        .tools(tools![add, say, stats, below, blocks, full, nothing, fail, panic, forever])
        .prompts(prompts![greet, dialogue])
        .resources(resources![manual, logo, note, file])
        .resource(Config { theme: "dark" })
}

/// A server with one tool and nothing else.
pub fn only_tools() -> Server {
    Server::new("tools", "1.0.0").tools(tools![add])
}

/// Take so many steps, and tell of each.
#[tool]
async fn steps(ctx: &Context, n: u32) -> String {
    for step in 1..=n {
        ctx.progress_message(step, n, &format!("step {step}")).await;
        tokio::time::sleep(std::time::Duration::from_millis(12)).await;
    }
    format!("{n} steps")
}

/// Tell everything at once.
#[tool]
async fn at_once(ctx: &Context) -> String {
    ctx.progress(1, 2).await;
    ctx.progress(2, 2).await;
    ctx.progress(1, None).await; // backwards: not sent
    for &level in LogLevel::ALL {
        ctx.log(level, json!({"level": level})).await;
    }
    "told".to_owned()
}

/// A server whose handlers talk while they run.
pub fn talkative() -> Server {
    Server::new("talkative", "1.0.0").tools(tools![steps, at_once])
}

fn languages(typed: &str) -> Vec<&'static str> {
    ["python", "rust"].into_iter().filter(|language| language.starts_with(typed)).collect()
}

/// What there is for a language, as long as it is known which.
async fn frameworks(typed: &str, others: &CompletionContext) -> Vec<&'static str> {
    tokio::task::yield_now().await;
    let all = [("rust", "axum"), ("python", "fastapi"), ("python", "flask")];
    let fits = |language| others.get("language").is_none_or(|chosen| chosen == language);
    let fitting = all.into_iter().filter(|(language, name)| fits(*language) && name.starts_with(typed));
    fitting.map(|(_, name)| name).collect()
}

/// Review code.
#[prompt]
fn code_review(
    code: String,
    #[arg(complete = languages)] language: String,
    #[arg(complete = frameworks)] framework: Option<String>,
    tone: Option<Tone>,
    #[arg(default = false)] brief: bool,
) -> String {
    format!("Review this {language} code, {framework:?}, {tone:?}, {brief}:\n{code}")
}

/// A page of a magazine.
#[resource("magazine://{tone}/{page}")]
fn magazine(tone: Tone, #[arg(complete = pages)] page: u8) -> String {
    format!("{tone:?}, page {page}")
}

fn pages(typed: &str) -> Vec<String> {
    (1..=12).map(|page: u8| page.to_string()).filter(|page| page.starts_with(typed)).collect()
}

/// A server whose arguments can be completed.
pub fn completing() -> Server {
    Server::new("completing", "1.0.0").prompts(prompts![code_review]).resources(resources![magazine])
}
