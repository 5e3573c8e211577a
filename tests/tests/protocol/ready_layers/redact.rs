//! `Redact`: no text that matches leaves the server.

use mcp_runtime::layers::Redact;
use mcp_runtime::prelude::*;
use mcp_runtime::protocol::{PromptMessage, PromptResult, ReadResult, ResourceContents, ResourceDescriptor};
use mcp_runtime::testing::TestClient;
use mcp_runtime::{Json, Revision, ToolResult};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::texts;

#[tokio::test]
async fn redaction_reaches_every_text() -> Result<()> {
    let redact = || Redact::patterns([r"\b\d{16}\b", "Ada"], "$0[hidden]");
    for &revision in Revision::ALL {
        let client = TestClient::with_revision(texts().layer(redact()?), revision).await?;
        for how in ["error", "", "block"] {
            assert_eq!(client.call("leak", json!({"how": how})).await?.text(), "at $0[hidden]", "{revision} {how}");
        }
        let block = client.call("leak", json!({"how": "block"})).await?;
        assert_eq!(block.meta()["tests.example/why"], "at $0[hidden]");
        let error = client.call("leak", json!({"how": "data"})).await.unwrap_err();
        assert_eq!(error.data(), Some(&json!({"why": ["at $0[hidden]"]})));
        let account = client.call("account", json!({"name": "Ada"})).await?;
        assert_eq!(account.text(), r#"{"owner":"$0[hidden]","note":"card $0[hidden]"}"#);
    }
    assert!(Redact::patterns(["("], "").is_err());
    Ok(())
}

const CARD: u64 = 4_000_123_412_341_234;

#[derive(Serialize, JsonSchema)]
struct Numbered {
    card: u64,
}

/// An account whose card is a number.
#[tool(read_only)]
fn numbered() -> Json<Numbered> {
    Json(Numbered { card: CARD })
}

/// Numbers everywhere.
#[tool(read_only)]
fn numbers() -> Result<ToolResult> {
    let structured = json!({"deep": [{"card": CARD, "age": 41}], "wide": u64::MAX, "half": 0.5});
    Ok(ToolResult::new([]).with_structured(&structured)?.with_meta("tests.example/card", CARD))
}

/// Fails with a number.
#[tool]
fn fails() -> Result<()> {
    Err(Error::internal("failed").with_data(json!({"card": [CARD]})))
}

/// Nests a secret. Deeper than parsers go, it is in `http/layers.rs`: the client is one.
#[tool]
fn nested(depth: usize) -> Result<ToolResult> {
    let json = format!("{}\"4000123412341234\"{}", "[".repeat(depth), "]".repeat(depth));
    let raw: Box<serde_json::value::RawValue> = serde_json::value::RawValue::from_string(json)?;
    ToolResult::new([]).with_structured(&raw)
}

/// Links and embeds.
#[tool]
fn blocks() -> ToolResult {
    let secret = CARD.to_string();
    let link = ResourceDescriptor::new("a://b", format!("card {secret}"))
        .with_title(secret.clone())
        .with_description(secret.clone())
        .with_meta("tests.example/card", CARD);
    let embedded = ResourceContents::text(secret.clone()).with_uri("a://b").with_meta("tests.example/card", CARD);
    let text = Content::text(&*secret).with_meta("tests.example/cards", json!([CARD, secret]));
    ToolResult::new([Content::link(link), Content::resource(embedded), text])
}

fn cards(_: &str) -> Vec<String> {
    vec![CARD.to_string()]
}

/// A prompt.
#[prompt]
fn ask(#[arg(complete = cards)] card: String) -> PromptResult {
    let secret = CARD.to_string();
    let embedded = Content::resource(ResourceContents::text(secret.clone()).with_uri("a://b"));
    let messages = [PromptMessage::user(format!("{card} {secret}")), PromptMessage::user(embedded)];
    PromptResult::new(messages).with_description(secret).with_meta("tests.example/card", CARD)
}

/// A resource.
#[resource("card://one")]
fn one() -> ReadResult {
    let contents = ResourceContents::text(CARD.to_string()).with_meta("tests.example/card", CARD);
    ReadResult::new([contents]).with_meta("tests.example/card", CARD)
}

/// A resource that fails.
#[resource("card://none")]
fn none() -> Result<String> {
    Err(Error::msg(format!("no {CARD}")))
}

fn leaky() -> Server {
    Server::new("leaky", "1.0.0")
        .tools(tools![numbered, numbers, fails, nested, blocks])
        .prompts(prompts![ask])
        .resources(resources![one, none])
        .method("tests.example/cards", |_, (): ()| async { Ok(json!({"a": {"cards": [CARD, CARD.to_string()]}})) })
}

fn hidden() -> Result<Redact> {
    Redact::patterns([r"\b\d{16}\b"], "[hidden]")
}

#[tokio::test]
async fn numbers_are_redacted() -> Result<()> {
    for &revision in Revision::ALL {
        let client = TestClient::with_revision(leaky().validate_output(false).layer(hidden()?), revision).await?;
        let result = client.call("numbers", json!({})).await?;
        let text = r#"{"deep":[{"age":41,"card":"[hidden]"}],"half":0.5,"wide":18446744073709551615}"#;
        assert_eq!(serde_json::from_str::<Value>(&result.text())?, serde_json::from_str::<Value>(text)?, "{revision}");
        assert!(result.text().contains("18446744073709551615"), "what is kept is kept as it was: {}", result.text());
        assert_eq!(result.meta()["tests.example/card"], "[hidden]");
        assert_eq!(client.call("numbered", json!({})).await?.text(), r#"{"card":"[hidden]"}"#);
        let error = client.call("fails", json!({})).await.unwrap_err();
        assert_eq!(error.data(), Some(&json!({"card": ["[hidden]"]})));
        let custom = client.request("tests.example/cards", json!({})).await?;
        assert_eq!(custom["a"]["cards"], json!(["[hidden]", "[hidden]"]));
    }
    // A schema that wants a number does not get a text, nor the number.
    let client = TestClient::connect(leaky().validate_output(true).layer(hidden()?)).await?;
    let refused = client.call("numbered", json!({})).await?;
    assert!(refused.is_error() && !refused.text().contains("4000"), "{}", refused.text());
    assert!(refused.text().contains("If a layer has changed the result, as `Redact`"), "{}", refused.text());
    Ok(())
}

#[tokio::test]
async fn text_of_a_structured_result_is_a_text() -> Result<()> {
    // Matches no value alone.
    let redact = Redact::patterns([r#""card":\d+"#], r#""card":0"#)?;
    let client = TestClient::connect(leaky().validate_output(false).layer(redact)).await?;
    assert_eq!(client.call("numbered", json!({})).await?.text(), r#"{"card":0}"#);
    Ok(())
}

#[tokio::test]
async fn deep_results_are_redacted() -> Result<()> {
    let client = TestClient::connect(leaky().layer(hidden()?)).await?;
    for depth in [10, 100] {
        let text = client.call("nested", json!({"depth": depth})).await?.text();
        assert_eq!(text, format!("{}\"[hidden]\"{}", "[".repeat(depth), "]".repeat(depth)));
    }
    Ok(())
}

#[tokio::test]
async fn everything_but_tools_is_redacted_too() -> Result<()> {
    for &revision in Revision::ALL {
        let client = TestClient::with_revision(leaky().layer(hidden()?), revision).await?;
        let blocks = client.request("tools/call", json!({"name": "blocks", "arguments": {}})).await?;
        let prompt = client.request("prompts/get", json!({"name": "ask", "arguments": {"card": "x"}})).await?;
        let read = client.request("resources/read", json!({"uri": "card://one"})).await?;
        for (what, result) in [("blocks", blocks), ("prompt", prompt), ("read", read)] {
            let text = result.to_string();
            assert!(text.contains("[hidden]") && !text.contains("4000"), "{revision} {what}: {text}");
        }
        assert_eq!(client.complete_prompt("ask", "card", "", json!({})).await?.values, ["[hidden]"], "{revision}");
        assert_eq!(client.read("card://none").await.unwrap_err().to_string(), "no [hidden]", "{revision}");
    }
    Ok(())
}
