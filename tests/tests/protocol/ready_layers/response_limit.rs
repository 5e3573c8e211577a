//! `ResponseLimit`.

use mcp_runtime::layers::ResponseLimit;
use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use mcp_runtime::{ErrorCode, Revision, ToolResult};

use super::texts;

#[tokio::test]
async fn response_limit_refuses_or_truncates() -> Result<()> {
    for &revision in Revision::ALL {
        let client = TestClient::with_revision(texts().layer(ResponseLimit::new(100)), revision).await?;
        assert_eq!(client.call("text", json!({"length": 100})).await?.text().len(), 100);
        let refused = client.call("text", json!({"length": 102})).await?;
        assert!(
            refused.is_error() && refused.text().starts_with("The result has 102 bytes, and 100 is the limit. Narrow")
        );
        let error = client.read("text://long").await.unwrap_err();
        assert!(error.to_string().contains("1000 bytes"), "{error}");
        // The structured result and its text.
        let refused = client.call("account", json!({"name": "x".repeat(30)})).await?;
        assert!(refused.is_error(), "{revision}");
    }
    let limit = ResponseLimit::new(101).truncate().advice("Ask for less.");
    let client = TestClient::connect(texts().layer(limit)).await?;
    let cut = client.call("text", json!({"length": 200})).await?;
    assert_eq!(cut.text(), format!("{}\n\n[Cut off after 100 of 200 bytes. Ask for less.]", "é".repeat(50)));
    assert!(!cut.is_error());
    assert!(client.call("account", json!({"name": "x".repeat(90)})).await?.is_error(), "half of it has no schema");
    Ok(())
}

/// Fails at length.
#[tool]
fn fails(how: String) -> Result<ToolResult> {
    let text = "x".repeat(300);
    match &*how {
        "protocol" => Err(Error::application(ErrorCode::new(7), text).with_data(json!({"more": 1}))),
        "data" => Err(Error::application(ErrorCode::new(7), "short").with_data(json!({"more": text}))),
        _ => Err(Error::msg(text)),
    }
}

/// A text with annotations and `_meta`.
#[tool]
fn annotated() -> ToolResult {
    let block = Content::text("x".repeat(300)).with_priority(0.5).with_meta("tests.example/block", 1);
    ToolResult::new([block]).with_meta("tests.example/result", 2).with_error(true)
}

/// A long prompt.
#[prompt]
fn long_prompt() -> String {
    "x".repeat(300)
}

fn long_ones() -> Server {
    Server::new("long", "1.0.0").tools(tools![fails, annotated]).prompts(prompts![long_prompt])
}

#[tokio::test]
async fn response_limit_holds_for_prompts_and_errors() -> Result<()> {
    let limit = || ResponseLimit::new(100).advice("Less.");
    for &revision in Revision::ALL {
        let client = TestClient::with_revision(long_ones().layer(limit()), revision).await?;
        let refused = client.call("fails", json!({"how": ""})).await?;
        assert_eq!(refused.text(), "The error has 300 bytes, and 100 is the limit. Less.", "{revision}");
        assert!(refused.is_error());
        for (how, size) in [("protocol", 310), ("data", 316)] {
            let error = client.call("fails", json!({"how": how})).await.unwrap_err();
            let text = format!("The error has {size} bytes, and 100 is the limit. Less.");
            assert_eq!((error.code(), error.to_string(), error.data()), (Some(7), text, None), "{revision} {how}");
        }
        let error = client.get_prompt("long_prompt", json!({})).await.unwrap_err();
        assert_eq!(error.to_string(), "The result has 300 bytes, and 100 is the limit. Less.");
    }
    let client = TestClient::connect(long_ones().layer(limit().truncate())).await?;
    let cut = client.call("fails", json!({"how": ""})).await?;
    let text = format!("{}\n\n[Cut off after 100 of 300 bytes. Less.]", "x".repeat(100));
    assert_eq!((cut.is_error(), cut.text()), (true, text.clone()));
    assert_eq!(client.call("fails", json!({"how": "protocol"})).await.unwrap_err().to_string(), text);
    Ok(())
}

#[tokio::test]
async fn truncated_result_keeps_the_rest() -> Result<()> {
    let client = TestClient::connect(long_ones().layer(ResponseLimit::new(100).truncate())).await?;
    let result = client.request("tools/call", json!({"name": "annotated", "arguments": {}})).await?;
    let block = &result["content"][0];
    assert!(block["text"].as_str().unwrap().contains("Cut off after 100 of 300 bytes"), "{result}");
    assert_eq!((&block["annotations"]["priority"], &block["_meta"]["tests.example/block"]), (&json!(0.5), &json!(1)));
    assert_eq!((&result["_meta"]["tests.example/result"], &result["isError"]), (&json!(2), &json!(true)));
    Ok(())
}
