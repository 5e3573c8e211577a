//! Results and errors of layers, and those that they replace.

use std::time::Duration;

use mcp_runtime::layers::{Call, CallKind, ErrorKind, Next, Outcome};
use mcp_runtime::prelude::*;
use mcp_runtime::protocol::{PromptMessage, PromptResult, ReadResult, ResourceContents};
use mcp_runtime::testing::TestClient;
use mcp_runtime::{Revision, ToolResult};

use super::*;

#[tokio::test]
async fn result_of_a_custom_method_has_meta() -> Result<()> {
    async fn mark(call: Call, next: Next) -> Outcome {
        next.run(call).await.with_meta("tests.example/a", 1).with_meta("tests.example/b", 2)
    }
    async fn odd(_: Call, _: Next) -> Outcome {
        Outcome::custom(serde_json::Map::from_iter([("_meta".to_owned(), json!("odd"))]))
    }
    for server in [server().layer(mark), server().layer(mark).layer(odd)] {
        let client = TestClient::connect(server).await?;
        let result = client.request("tests.example/half", json!({"of": 8})).await?;
        assert_eq!((&result["_meta"]["tests.example/a"], &result["_meta"]["tests.example/b"]), (&json!(1), &json!(2)));
    }
    Ok(())
}

#[tokio::test]
async fn layer_may_answer_itself() -> Result<()> {
    async fn answer(call: Call, _: Next) -> Outcome {
        match call.kind() {
            CallKind::Tool => ToolResult::text("mine").into(),
            CallKind::Prompt => PromptResult::new([PromptMessage::user("mine")]).into(),
            CallKind::Resource => ReadResult::new([ResourceContents::text("mine")]).into(),
            CallKind::Completion => Outcome::completion(["mine"]),
            _ => Outcome::custom(serde_json::Map::from_iter([("mine".to_owned(), json!(true))])),
        }
    }
    for &revision in Revision::ALL {
        let client = TestClient::with_revision(server().layer(answer), revision).await?;
        // The arguments are those of the handler, which is not called.
        assert_eq!(client.call("double", json!({"number": "x"})).await?.text(), "mine");
        assert_eq!(client.get_prompt("paint", json!({"colour": "red"})).await?.text(), "mine");
        let read = client.read("note://7").await?;
        assert_eq!((read.text().as_str(), &*read.contents()[0].uri), ("mine", "note://7"), "{revision}");
        assert_eq!(client.complete_prompt("paint", "colour", "gr", json!({})).await?.values, ["mine"]);
        assert_eq!(client.request("tests.example/half", json!({"of": 8})).await?["mine"], true);
    }
    Ok(())
}

#[tokio::test]
async fn result_of_another_kind_fails_the_call() -> Result<()> {
    async fn wrong(_: Call, _: Next) -> Outcome {
        PromptResult::new([]).into()
    }
    let client = TestClient::connect(server().layer(wrong)).await?;
    let error = client.call("double", json!({"number": 1})).await.unwrap_err();
    assert_eq!(error.code(), Some(-32603));
    assert_eq!(error.to_string(), "a layer around a tool has returned the result of something else");
    assert!(client.get_prompt("paint", json!({"colour": "red"})).await.is_ok());
    Ok(())
}

#[tokio::test]
async fn results_can_be_replaced() -> Result<()> {
    async fn shout(call: Call, next: Next) -> Outcome {
        let mut outcome = next.run(call).await.with_meta("tests.example/layered", true);
        outcome.edit_texts(|text| Some(text.to_uppercase()));
        outcome
    }
    for &revision in Revision::ALL {
        let client = TestClient::with_revision(server().layer(shout), revision).await?;
        assert_eq!(client.read("note://motto").await?.text(), "SLOW AND STEADY");
        assert_eq!(client.get_prompt("paint", json!({"colour": "red"})).await?.text(), "PAINT IT RED.");
        assert_eq!(client.call("fail", json!({"how": "is_error"})).await?.text(), "IT IS AN ERROR");
        let failed = client.call("fail", json!({"how": ""})).await?;
        assert_eq!((failed.text().as_str(), failed.is_error()), ("DISK FULL", true), "{revision}");
        let sum = client.call("add", json!({"a": 1, "b": 2})).await?;
        // The text is a text; in the structured result, names stay as they are, and so do numbers.
        assert_eq!(sum.text(), r#"{"SUM":3}"#);
        if revision >= Revision::V2025_06_18 {
            assert_eq!(sum.structured::<serde_json::Value>()?, json!({"sum": 3}));
        }
        assert_eq!(sum.meta()["tests.example/layered"], true);
    }
    Ok(())
}

#[tokio::test]
async fn structured_result_of_a_layer_is_checked_against_the_schema() -> Result<()> {
    async fn other(call: Call, _: Next) -> Result<Outcome> {
        let sum = if call.arguments().contains('9') { json!("nine") } else { json!(7) };
        Ok(ToolResult::new([]).with_structured(&json!({"sum": sum}))?.into())
    }
    let client = TestClient::connect(server().layer(other)).await?;
    let answer = client.call("add", json!({"a": 1, "b": 2})).await?;
    assert_eq!(answer.structured::<serde_json::Value>()?, json!({"sum": 7}));
    let wrong = client.call("add", json!({"a": 9, "b": 2})).await?;
    assert!(wrong.is_error() && wrong.text().contains("outputSchema"), "{}", wrong.text());
    Ok(())
}

#[tokio::test]
async fn errors_are_inspected_and_replaced() -> Result<()> {
    async fn mapped(call: Call, next: Next) -> Outcome {
        let outcome = next.run(call).await;
        let Some(error) = outcome.error() else { return outcome };
        match error.kind() {
            ErrorKind::Handler => {
                assert_eq!(
                    error.downcast_ref::<std::io::Error>().map(ToString::to_string).as_deref(),
                    Some("disk full")
                );
                outcome.map_error(|error| Error::internal(format!("mapped: {error}")))
            }
            ErrorKind::Protocol => {
                assert_eq!((error.code(), error.data()), (Some(-32602), Some(&json!({"a": 1}))));
                outcome.map_error(|error| Error::msg(format!("for the model: {error}")))
            }
            ErrorKind::Panicked => ToolResult::error("it panicked").into(),
            ErrorKind::InvalidArguments => ToolResult::error(format!("layered: {}", error.message())).into(),
            _ => outcome,
        }
    }
    for &revision in Revision::ALL {
        let client = TestClient::with_revision(server().layer(mapped), revision).await?;
        let error = client.call("fail", json!({"how": ""})).await.unwrap_err();
        assert_eq!((error.code(), &*error.to_string()), (Some(-32603), "mapped: disk full"), "{revision}");
        let response = client.call("fail", json!({"how": "protocol"})).await?;
        assert_eq!((response.is_error(), &*response.text()), (true, "for the model: not so"));
        assert_eq!(client.call("fail", json!({"how": "panic"})).await?.text(), "it panicked");
        let text = client.call("fail", json!({})).await?.text();
        assert_eq!(text, "layered: Invalid arguments:\n- `how` is missing: expected a string");
    }
    Ok(())
}

#[tokio::test]
async fn error_of_a_layer_is_that_of_the_call() -> Result<()> {
    async fn refuse(call: Call, next: Next) -> Result<Outcome> {
        if call.kind() == CallKind::Tool {
            Err(std::io::Error::other("not today"))?;
        }
        Ok(next.run(call).await)
    }
    let client = TestClient::connect(server().layer(refuse)).await?;
    let refused = client.call("double", json!({"number": 1})).await?;
    assert!(refused.is_error() && refused.text().contains("not today"), "{}", refused.text());
    assert_eq!(client.read("note://motto").await?.text(), "slow and steady");
    Ok(())
}

#[tokio::test]
async fn panic_of_a_layer_ends_its_call_alone() -> Result<()> {
    async fn panicking(call: Call, next: Next) -> Outcome {
        assert!(!call.arguments().contains("13"), "unlucky");
        next.run(call).await
    }
    let seen = Seen::default();
    for &revision in Revision::ALL {
        let client = TestClient::with_revision(server().layer(seen.layer("-")).layer(panicking), revision).await?;
        let failed = client.call("double", json!({"number": 13})).await?;
        assert_eq!(failed.text(), "The tool failed unexpectedly; the server's log has the details.", "{revision}");
        assert_eq!(seen.take()[1], "- failed", "the layer around it sees that");
        assert_eq!(client.call("double", json!({"number": 4})).await?.text(), "8");
        assert!(client.request("tests.example/half", json!({"of": 13})).await.is_err());
        seen.take();
    }
    Ok(())
}

#[tokio::test]
async fn restricted_resources_stay_private_whatever_a_layer_returns() -> Result<()> {
    use mcp_runtime::protocol::CacheHint;
    async fn public(_: Call, _: Next) -> Outcome {
        let contents = [ResourceContents::text("mine")];
        ReadResult::new(contents).with_cache(CacheHint::public(Duration::from_secs(60))).into()
    }
    let [motto] = resources![motto];
    let client =
        TestClient::connect(Server::new("s", "1").resources([motto.visible_if(|_| true)]).layer(public)).await?;
    let result = client.request("resources/read", json!({"uri": "note://motto"})).await?;
    assert_eq!((&result["cacheScope"], &result["ttlMs"]), (&json!("private"), &json!(60_000)));
    Ok(())
}
