//! Prompts: text on the wire, types in the function.

use mcp_runtime::prelude::*;
use mcp_runtime::protocol::{PromptMessage, PromptResult, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::connect;

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Style {
    Plain,
    VeryFancy,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Id(u64);

/// Typed arguments.
#[prompt]
#[expect(clippy::too_many_arguments)]
fn typed(
    /// Some text.
    text: String,
    number: i64,
    float: f64,
    flag: bool,
    style: Style,
    id: Id,
    letter: char,
    #[arg(default = Style::Plain)] with_default: Style,
    optional: Option<u8>,
) -> String {
    format!("{text} {number} {float} {flag} {style:?} {id:?} {letter} {with_default:?} {optional:?}")
}

#[tokio::test]
async fn prompt_arguments_are_parsed_from_text() {
    let client = connect(Server::new("test", "1").prompts(prompts![typed])).await;
    let listed = client.list_prompts().await.unwrap();
    let arguments: Vec<_> = listed[0].arguments.iter().map(|argument| (&*argument.name, argument.required)).collect();
    assert_eq!(
        arguments,
        [
            ("text", true),
            ("number", true),
            ("float", true),
            ("flag", true),
            ("style", true),
            ("id", true),
            ("letter", true),
            ("with_default", false),
            ("optional", false),
        ]
    );
    assert_eq!(listed[0].arguments[0].description.as_deref(), Some("Some text."));
    let mut arguments = json!({
        "text": "5", "number": "-3", "float": "1.5", "flag": "true", "style": "very-fancy", "id": "7", "letter": "x",
    });
    let prompt = client.get_prompt("typed", &arguments).await.unwrap();
    assert_eq!(prompt.text(), "5 -3 1.5 true VeryFancy Id(7) x Plain None");
    arguments["with_default"] = json!("very-fancy");
    arguments["optional"] = json!("9");
    let prompt = client.get_prompt("typed", &arguments).await.unwrap();
    assert_eq!(prompt.text(), "5 -3 1.5 true VeryFancy Id(7) x VeryFancy Some(9)");
    for (name, wrong) in [("number", "many"), ("style", "neon"), ("flag", "perhaps"), ("optional", "256")] {
        let mut arguments = arguments.clone();
        arguments[name] = json!(wrong);
        let error = client.get_prompt("typed", arguments).await.unwrap_err();
        assert_eq!(error.code(), Some(-32602));
        assert_eq!(error.data().unwrap()["field"], name);
    }
}

#[prompt]
fn text() -> &'static str {
    "static"
}

#[prompt]
fn cow() -> std::borrow::Cow<'static, str> {
    "cow".into()
}

#[prompt]
async fn content() -> Content {
    Content::image(b"png", "image/png")
}

#[prompt]
fn message() -> PromptMessage {
    PromptMessage::assistant("I am the model.")
}

#[prompt]
fn array() -> [PromptMessage; 2] {
    [PromptMessage::user("one"), PromptMessage::assistant("two")]
}

#[prompt]
fn vector() -> Vec<PromptMessage> {
    array().into()
}

#[prompt]
fn result() -> PromptResult {
    PromptResult::new(array())
}

#[prompt]
fn fallible(ok: bool) -> Result<Vec<PromptMessage>> {
    if ok { Ok(vector()) } else { Err(Error::msg("not today")) }
}

#[prompt]
async fn own_error() -> Result<String, std::num::ParseIntError> {
    "x".parse::<i64>().map(|number| number.to_string())
}

#[tokio::test]
async fn prompt_return_types_become_messages() {
    let prompts = prompts![text, cow, content, message, array, vector, result, fallible, own_error];
    let client = connect(Server::new("test", "1").prompts(prompts)).await;
    for name in ["text", "cow"] {
        let prompt = client.get_prompt(name, json!({})).await.unwrap();
        assert_eq!(prompt.messages()[0].role, Role::User);
        assert_eq!(prompt.messages().len(), 1);
    }
    let prompt = client.get_prompt("content", json!({})).await.unwrap();
    assert_eq!(prompt.messages()[0].content["mimeType"], "image/png");
    assert_eq!(client.get_prompt("message", json!({})).await.unwrap().messages()[0].role, Role::Assistant);
    for (name, arguments) in
        [("array", json!({})), ("vector", json!({})), ("result", json!({})), ("fallible", json!({"ok": "true"}))]
    {
        assert_eq!(client.get_prompt(name, arguments).await.unwrap().text(), "one\ntwo");
    }
    let error = client.get_prompt("fallible", json!({"ok": "false"})).await.unwrap_err();
    assert_eq!((error.code(), error.to_string()), (Some(-32603), "not today".into()));
    let error = client.get_prompt("own_error", json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "invalid digit found in string");
}
