//! Mistakes in composing a server: a panic at once that says what to change.
#![allow(clippy::unused_self, reason = "the shapes of handlers are what is tested, not what they do")]

use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;

/// Add.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

mod other {
    use mcp_runtime::prelude::*;

    /// Add, otherwise.
    #[tool]
    pub(super) fn add(a: f64, b: f64) -> f64 {
        a + b
    }
}

/// A note.
#[resource("note://{id}")]
fn note(id: String) -> String {
    id
}

/// A note, again.
#[resource("note://{number}")]
fn numbered(number: u64) -> String {
    number.to_string()
}

struct Calculator;

#[handlers]
impl Calculator {
    /// Halve.
    #[tool]
    fn halve(&self, n: f64) -> f64 {
        n / 2.0
    }
}

#[test]
#[should_panic(expected = "there are two tools `add`; rename one, or mount it with `mount_as`")]
fn duplicate_tool_name_panics() {
    let _ = Server::new("s", "1").tools(tools![add, other::add]).into_service();
}

#[test]
#[should_panic(expected = "`note://{id}` and `note://{number}` match the same URIs")]
fn ambiguous_templates_panic() {
    let _ = Server::new("s", "1").resources(resources![note, numbered]).into_service();
}

#[test]
#[should_panic(expected = "tool name `my calc_halve` contains ` `; allowed are ASCII letters")]
fn invalid_mount_prefix_panics() {
    let _ = Server::new("s", "1").mount_as("my calc", Calculator).into_service();
}

#[test]
fn setup_mistakes_are_one_list_with_their_lines() {
    let set_up = || {
        let server = Server::new("s", "1").mount(Calculator).mount(Calculator);
        server.prompts(prompts![listing]).page_size(0).into_service()
    };
    let text = *std::panic::catch_unwind(set_up).map(drop).unwrap_err().downcast::<String>().unwrap();
    assert!(text.starts_with("the server `s` is not set up correctly:"), "{text}");
    for mistake in ["there are two tools `halve`", "prompt `listing`: `items` arrives as text", "`page_size` must be"] {
        assert!(text.contains(mistake), "{text}");
    }
    assert_eq!(text.matches("setup.rs:").count(), 3, "{text}");
    assert!(text.ends_with("/mcp_runtime/errors/index.html#set-up"), "{text}");
}

#[test]
#[should_panic(expected = "/mcp_runtime/errors/index.html#two-of-one-name")]
fn mistakes_of_one_kind_lead_to_their_section() {
    let _ = Server::new("s", "1").mount(Calculator).mount(Calculator).mount(Calculator).into_service();
}

/// A name that hides a list from the macro.
type Items = Vec<String>;

/// Takes what text cannot say.
#[prompt]
fn listing(items: Items) -> String {
    items.join(", ")
}

#[test]
#[should_panic(expected = "`items` arrives as text, which an array cannot be read from")]
fn non_text_prompt_argument_panics() {
    let _ = Server::new("s", "1").prompts(prompts![listing]).into_service();
}

/// Flattens what has no fields.
#[tool]
fn flat(#[arg(flatten)] number: u64) -> u64 {
    number
}

#[test]
#[should_panic(expected = "`#[arg(flatten)]` needs a struct; `uint64` has no fields to be arguments")]
fn flattened_number_panics() {
    let _ = Server::new("s", "1").tools(tools![flat]).into_service();
}

/// What somebody could not fill in.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Address {
    #[allow(dead_code, reason = "nobody gets as far as reading it")]
    lines: Vec<String>,
}

/// Ask for an address.
#[tool]
async fn named(ctx: &Context) -> Result<usize> {
    let (address, ()) = tokio::join!(ctx.elicit::<Address>("Where?"), std::future::ready(()));
    Ok(address?.lines.len())
}

/// Ask for an address, under another name.
#[prompt(name = "ask_where")]
async fn taken_apart(ctx: &Context) -> Result<String> {
    let Address { lines } = ctx.elicit("Where?").await?;
    Ok(lines.concat())
}

struct Post;

#[handlers]
impl Post {
    /// Ask for an address.
    #[resource("post://address")]
    async fn address(&self, context: &Context) -> Result<String> {
        let address: self::Address = context.elicit("Where?").await?;
        Ok(address.lines.concat())
    }
}

const NO_FORM: &str = "`Address` cannot be asked for: its field `lines`";

#[test]
fn form_with_unsupported_field_panics() {
    let set_up = || {
        let server = Server::new("s", "1").tools(tools![named]).prompts(prompts![taken_apart]);
        drop(server.mount(Post).into_service());
    };
    let text = *std::panic::catch_unwind(set_up).unwrap_err().downcast::<String>().unwrap();
    for of in ["tool `named`", "prompt `ask_where`", "resource `address`"] {
        assert!(text.contains(&format!("{of}: {NO_FORM}")), "{text}");
    }
    assert!(text.contains("a form can ask for strings, numbers, booleans, enums without data"), "{text}");
}

/// Anything, or nothing.
#[tool]
fn anything(
    /// What you like.
    value: serde_json::Value,
    #[arg(default)] maybe: Option<u8>,
) -> String {
    format!("{value} {maybe:?}")
}

#[test]
fn schema_of_any_value_has_no_type_or_default() {
    let [tool] = tools![anything];
    let schema = &tool.descriptor().input_schema;
    assert_eq!(schema["properties"]["value"], json!({"description": "What you like."}));
    assert_eq!(schema["properties"]["maybe"].get("default"), None);
}

#[tokio::test]
async fn arc_can_be_mounted_twice() -> Result<()> {
    let calculator = std::sync::Arc::new(Calculator);
    let server = Server::new("s", "1").mount(std::sync::Arc::clone(&calculator)).mount_as("again", calculator);
    let client = TestClient::connect(server).await?;
    assert_eq!(client.call("halve", json!({"n": 3.0})).await?.text(), "1.5");
    assert_eq!(client.call("again_halve", json!({"n": 1})).await?.text(), "0.5");
    Ok(())
}

/// An application's own error, as `thiserror` makes it.
#[derive(Debug, thiserror::Error)]
enum AppError {
    #[error("the server failed")]
    Server(#[from] ServerError),
}

async fn call_unknown_tool() -> Result<(), ServerError> {
    let client = TestClient::connect(Server::new("s", "1").mount(Calculator)).await?;
    client.call("sing", json!({})).await.map(drop)
}

#[tokio::test]
async fn server_error_is_a_std_error() {
    async fn into_anyhow() -> anyhow::Result<()> {
        Ok(call_unknown_tool().await?)
    }
    async fn into_box() -> std::result::Result<(), Box<dyn std::error::Error>> {
        Ok(call_unknown_tool().await?)
    }
    async fn into_own_enum() -> std::result::Result<(), AppError> {
        Ok(call_unknown_tool().await?)
    }
    async fn into_handler_error() -> Result<()> {
        Ok(call_unknown_tool().await?)
    }
    assert_eq!(into_anyhow().await.unwrap_err().to_string(), "Unknown tool: sing");
    assert_eq!(into_box().await.unwrap_err().to_string(), "Unknown tool: sing");
    let AppError::Server(error) = into_own_enum().await.unwrap_err();
    assert_eq!(error.code(), Some(-32602));
    // Passed on by a handler, it keeps its code.
    assert_eq!(into_handler_error().await.unwrap_err().code(), Some(-32602));
}

#[test]
fn handler_error_converts_into_a_std_error() {
    fn failed() -> Result<()> {
        Err(Error::from(std::io::Error::other("the disk is full")))
    }
    fn into_anyhow() -> anyhow::Result<()> {
        Ok(failed().map_err(ServerError::from)?)
    }
    fn into_box() -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>> {
        failed().map_err(Error::into_boxed)
    }
    assert_eq!(into_anyhow().unwrap_err().to_string(), "the disk is full");
    assert_eq!(into_box().unwrap_err().to_string(), "the disk is full");
    assert_eq!(Error::invalid_params("no such thing").into_boxed().to_string(), "no such thing");
    assert!(failed().unwrap_err().downcast_ref::<std::io::Error>().is_some());
}

/// Flattens what may not be there.
#[tool]
fn perhaps(#[arg(flatten)] point: Option<Point>) -> String {
    point.map_or_else(String::new, |point| point.x.to_string())
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Point {
    x: i64,
}

#[test]
#[should_panic(expected = "`#[arg(flatten)]` needs a struct")]
fn flattened_option_panics() {
    let _ = Server::new("s", "1").tools(tools![perhaps]).into_service();
}
