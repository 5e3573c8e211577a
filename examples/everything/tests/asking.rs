//! Tools that ask, with clients of both eras: with a session and without.

use mcp_runtime::testing::TestClient;
use mcp_runtime::testing::{ElicitReply, ElicitRequest};
use mcp_runtime::{Revision, prelude::*};
use serde_json::Value;

const BOTH: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// Fills in every field without a default.
fn fill_in(question: &ElicitRequest) -> ElicitReply {
    let filled = json!({
        "username": "ada", "email": "ada@example.com", "name": "Ada", "color": "blue", "ok": true, "context": "Rust",
        "untitledSingle": "option1", "titledSingle": "value2", "legacyEnum": "opt3",
        "untitledMulti": ["option1", "option2"], "titledMulti": ["value3"],
    });
    let fields = question.schema()["properties"].as_object().cloned().unwrap_or_default();
    let open = fields.into_iter().filter(|(_, field)| field.get("default").is_none());
    let content = open.map(|(name, _)| (name.clone(), filled[&name].clone()));
    ElicitReply::accept(content.collect::<serde_json::Map<_, _>>())
}

async fn connect(revision: Revision) -> Result<TestClient, ServerError> {
    let client = TestClient::builder(everything::server()).revision(revision).on_elicit(fill_in);
    let client = client.on_sample(|asked| format!("{} at most", asked["maxTokens"]));
    client.roots([("file:///work", "work")]).connect().await
}

async fn text(client: &TestClient, tool: &str, arguments: Value) -> Result<String> {
    let result = client.call(tool, arguments).await?;
    assert!(!result.is_error(), "{tool}: {}", result.text());
    Ok(result.text())
}

#[tokio::test]
async fn every_ask_works_in_both_eras() -> Result<()> {
    for revision in BOTH {
        let client = connect(revision).await?;
        for (tool, expected) in [
            (
                "test_elicitation_sep1034_defaults",
                r#"Elicitation completed: {"name":"John Doe","age":30,"score":95.5,"status":"active","verified":true}"#,
            ),
            (
                "test_elicitation_sep1330_enums",
                r#"Elicitation completed: {"untitledSingle":"option1","titledSingle":"value2","legacyEnum":"opt3","untitledMulti":["option1","option2"],"titledMulti":["value3"]}"#,
            ),
            ("test_elicitation_url", "signed in"),
            ("test_input_required_result_elicitation", "Hello, Ada!"),
            ("test_input_required_result_sampling", "100 at most"),
            ("test_input_required_result_list_roots", "You work in work"),
            ("test_input_required_result_request_state", "state-ok"),
            ("test_input_required_result_multiple_inputs", "50 at most Ada, in work"),
            ("test_input_required_result_multi_round", "Ada likes blue"),
            ("test_input_required_result_tampered_state", "confirmed"),
            ("test_input_required_result_capabilities", "The user is Ada"),
            ("test_streaming_elicitation", "Hello, Ada!"),
            ("test_missing_capability", "100 at most"),
        ] {
            assert_eq!(text(&client, tool, json!({})).await?, expected, "{tool} in {revision}");
        }
        let contact = text(&client, "test_elicitation", json!({"message": "Who are you?"})).await?;
        assert_eq!(contact, r#"User response: accept, {"username":"ada","email":"ada@example.com"}"#);
        let said = text(&client, "test_sampling", json!({"prompt": "Hello?"})).await?;
        assert_eq!(said, "LLM response: 100 at most");
        let prompt = client.get_prompt("test_input_required_result_prompt", json!({})).await?;
        assert_eq!(prompt.text(), "Use the following context: Rust");
    }
    Ok(())
}

#[tokio::test]
async fn declined_and_cancelled_forms_are_reported() -> Result<()> {
    for revision in BOTH {
        for (reply, expected) in [(ElicitReply::decline(), "decline"), (ElicitReply::cancel(), "cancel")] {
            let client = TestClient::builder(everything::server()).revision(revision);
            let client = client.on_elicit(move |_| reply.clone()).connect().await?;
            let said = text(&client, "test_elicitation", json!({"message": "Who are you?"})).await?;
            assert_eq!(said, format!("User response: {expected}"));
            let refused = client.call("test_input_required_result_elicitation", json!({})).await?;
            assert!(refused.is_error() && refused.text().starts_with("the user "), "{}", refused.text());
        }
    }
    Ok(())
}

#[tokio::test]
async fn client_is_asked_only_what_it_declares() -> Result<()> {
    for revision in BOTH {
        let client = TestClient::builder(everything::server()).revision(revision).on_sample(|_| "Paris");
        let client = client.connect().await?;
        let said = text(&client, "test_input_required_result_capabilities", json!({})).await?;
        assert_eq!(said, "The model says Paris");

        let client = TestClient::with_revision(everything::server(), revision).await?;
        let said = text(&client, "test_input_required_result_capabilities", json!({})).await?;
        assert_eq!(said, "There is nobody to ask");
        let lacking = client.call("test_missing_capability", json!({})).await;
        if revision.is_modern() {
            let error = lacking.unwrap_err();
            assert_eq!(error.code(), Some(-32021));
            assert_eq!(error.data(), Some(&json!({"requiredCapabilities": {"sampling": {}}})));
        } else {
            assert!(lacking?.is_error(), "sessions have no error for it");
        }
    }
    Ok(())
}

#[tokio::test]
async fn rounds_have_the_keys_of_the_suite_and_a_sealed_state() -> Result<()> {
    let client = connect(Revision::V2026_07_28).await?;
    let call = async |name: &str, more: Value| {
        let mut params = json!({"name": name, "arguments": {}});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.request("tools/call", params).await
    };
    let elicitation = call("test_input_required_result_elicitation", json!({})).await?;
    assert_eq!(elicitation["resultType"], "input_required");
    assert_eq!(elicitation["inputRequests"]["user_name"]["method"], "elicitation/create");
    let unasked = json!({"inputResponses": {"user_name": {"action": "accept", "content": {"name": "Ada"}}}});
    let known = call("test_input_required_result_elicitation", unasked).await?;
    assert_eq!(known["content"][0]["text"], "Hello, Ada!", "what a client knows it need not be asked");

    let three = call("test_input_required_result_multiple_inputs", json!({})).await?;
    let keys: Vec<&String> = three["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(keys.len(), 3, "{keys:?}");

    let state = call("test_input_required_result_tampered_state", json!({})).await?["requestState"].clone();
    let confirm = json!({"confirm": {"action": "accept", "content": {"ok": true}}});
    let tampered = format!("{}-TAMPERED", state.as_str().unwrap());
    let answers = json!({"inputResponses": confirm, "requestState": tampered});
    let error = call("test_input_required_result_tampered_state", answers).await.unwrap_err();
    assert_eq!(error.code(), Some(-32602));
    let answers = json!({"inputResponses": confirm, "requestState": state});
    let confirmed = call("test_input_required_result_tampered_state", answers).await?;
    assert_eq!(confirmed["content"][0]["text"], "confirmed");
    Ok(())
}
