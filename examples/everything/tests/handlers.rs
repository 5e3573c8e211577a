//! Every handler, as clients of both eras see it: with a session and without.

use mcp_runtime::Revision;
use mcp_runtime::prelude::*;
use mcp_runtime::protocol::LogLevel;
use mcp_runtime::store::Change;
use mcp_runtime::testing::TestClient;
use serde_json::Value;

const BOTH: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

async fn connect(revision: Revision) -> Result<TestClient, ServerError> {
    TestClient::with_revision(everything::server(), revision).await
}

#[tokio::test]
async fn lists_have_every_item_with_a_description() -> Result<()> {
    for revision in BOTH {
        let client = connect(revision).await?;
        let tools = client.list_tools().await?;
        assert_eq!(tools[0].name, "test_simple_text", "the suite calls the first tool without arguments");
        assert!(tools.iter().all(|tool| tool.description.is_some() && tool.input_schema["type"] == "object"));
        assert!(client.list_prompts().await?.iter().all(|prompt| prompt.description.is_some()));
        let uris: Vec<String> = client.list_resources().await?.into_iter().map(|resource| resource.uri).collect();
        assert_eq!(uris, ["test://static-text", "test://static-binary", "test://watched-resource"]);
        assert_eq!(client.list_templates().await?[0].uri_template, "test://template/{id}/data");
    }
    Ok(())
}

#[tokio::test]
async fn tools_return_every_kind_of_content() -> Result<()> {
    for revision in BOTH {
        let client = connect(revision).await?;
        let text = client.call("test_simple_text", json!({})).await?;
        assert_eq!(text.content(), [json!({"type": "text", "text": "This is a simple text response for testing."})]);

        let image = client.call("test_image_content", json!({})).await?.content()[0].clone();
        assert_eq!((&image["type"], &image["mimeType"]), (&json!("image"), &json!("image/png")));
        assert!(image["data"].as_str().is_some_and(|data| data.starts_with("iVBORw0KGgo")), "a PNG");
        let audio = client.call("test_audio_content", json!({})).await?.content()[0].clone();
        assert_eq!((&audio["type"], &audio["mimeType"]), (&json!("audio"), &json!("audio/wav")));
        assert!(audio["data"].as_str().is_some_and(|data| data.starts_with("UklGR")), "a WAV");

        let embedded = client.call("test_embedded_resource", json!({})).await?;
        let resource = json!({
            "uri": "test://embedded-resource",
            "mimeType": "text/plain",
            "text": "This is an embedded resource content.",
        });
        assert_eq!(embedded.content(), [json!({"type": "resource", "resource": resource})]);

        let mixed = client.call("test_multiple_content_types", json!({})).await?;
        let kinds: Vec<&Value> = mixed.content().iter().map(|block| &block["type"]).collect();
        assert_eq!(kinds, ["text", "image", "resource"]);

        let failed = client.call("test_error_handling", json!({})).await?;
        assert!(failed.is_error());
        assert_eq!(failed.text(), "This tool intentionally returns an error for testing");
        assert_eq!(client.call("test_custom_header", json!({"value": "Hello"})).await?.text(), "Hello");
    }
    Ok(())
}

#[tokio::test]
async fn progress_and_log_messages_reach_the_client() -> Result<()> {
    for revision in BOTH {
        let client = connect(revision).await?;
        let call = client.observe("test_tool_with_progress", json!({})).await?;
        let done: Vec<_> = call.progress().iter().map(|note| (note.done, note.total)).collect();
        assert_eq!(done, [(0.0, Some(100.0)), (50.0, Some(100.0)), (100.0, Some(100.0))]);

        let call = client.observe("test_tool_with_logging", json!({})).await?;
        let said: Vec<_> = call.logs().iter().map(|log| (log.level, log.data.clone())).collect();
        let texts = ["Tool execution started", "Tool processing data", "Tool execution completed"];
        assert_eq!(said, texts.map(|text| (LogLevel::Info, json!(text))));
        assert_eq!(client.observe("test_logging_tool", json!({})).await?.logs().len(), 1);
    }
    Ok(())
}

#[tokio::test]
async fn changes_are_announced() -> Result<()> {
    for revision in BOTH {
        let client = connect(revision).await?;
        let changes = client.changes(["test://watched-resource"]).await?;
        client.call("test_trigger_tool_change", json!({})).await?;
        assert_eq!(changes.next().await?, Change::ToolList);
        client.call("test_trigger_prompt_change", json!({})).await?;
        assert_eq!(changes.next().await?, Change::PromptList);
        client.call("test_trigger_resource_update", json!({})).await?;
        assert_eq!(changes.next().await?, Change::ResourceUpdated("test://watched-resource".into()));
    }
    Ok(())
}

#[tokio::test]
async fn handwritten_schema_is_sent_verbatim() -> Result<()> {
    let written = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    });
    for revision in BOTH {
        let client = connect(revision).await?;
        let tools = client.list_tools().await?;
        let tool = tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool").unwrap();
        assert_eq!(tool.input_schema, written);

        let call = |arguments: Value| client.call("json_schema_2020_12_tool", arguments);
        let ada = json!({"name": "Ada", "address": {"city": "London"}, "contactMethod": "phone", "phone": "123"});
        assert_eq!(call(ada).await?.text(), "Ada in London: 123");
        assert_eq!(call(json!({"email": "a@b.c"})).await?.text(), "somebody: a@b.c");
        let told = call(json!({"contactMethod": "phone", "email": "a@b.c"})).await?;
        assert_eq!(told.text(), "Invalid arguments: `phone` is missing: expected a value");
        assert!(call(json!({"email": "a@b.c", "fax": "1"})).await?.is_error(), "no additional properties");
    }
    Ok(())
}

#[tokio::test]
async fn every_kind_of_resource_can_be_read() -> Result<()> {
    for revision in BOTH {
        let client = connect(revision).await?;
        let text = client.read("test://static-text").await?;
        assert_eq!(text.text(), "This is the content of the static text resource.");
        assert_eq!(text.contents()[0].mime_type.as_deref(), Some("text/plain"));
        let binary = client.read("test://static-binary").await?;
        assert!(binary.bytes()?.starts_with(b"\x89PNG"));
        assert_eq!(binary.contents()[0].mime_type.as_deref(), Some("image/png"));
        assert_eq!(client.read("test://watched-resource").await?.text(), "Watch me.");

        let data = client.read("test://template/123/data").await?;
        assert_eq!(data.contents()[0].uri, "test://template/123/data");
        let value: Value = serde_json::from_str(&data.text())?;
        assert_eq!(value, json!({"id": "123", "templateTest": true, "data": "Data for ID: 123"}));

        let unknown = client.read("test://nonexistent").await.unwrap_err();
        assert_eq!(unknown.code(), Some(if revision.is_modern() { -32602 } else { -32002 }));
        assert_eq!(unknown.data(), Some(&json!({"uri": "test://nonexistent"})));
    }
    Ok(())
}

#[tokio::test]
async fn every_kind_of_prompt_works_with_completion() -> Result<()> {
    for revision in BOTH {
        let client = connect(revision).await?;
        let simple = client.get_prompt("test_simple_prompt", json!({})).await?;
        assert_eq!(simple.text(), "This is a simple prompt for testing.");
        let both = json!({"arg1": "testValue1", "arg2": "testValue2"});
        let text = client.get_prompt("test_prompt_with_arguments", both).await?.text();
        assert_eq!(text, "Prompt with arguments: arg1='testValue1', arg2='testValue2'");

        let embedded = json!({"resourceUri": "test://example-resource"});
        let embedded = client.get_prompt("test_prompt_with_embedded_resource", embedded).await?;
        assert_eq!(embedded.messages()[0].content["resource"]["uri"], "test://example-resource");
        let image = client.get_prompt("test_prompt_with_image", json!({})).await?;
        assert_eq!(image.messages()[0].content["mimeType"], "image/png");

        let completed = client.complete_prompt("test_prompt_with_arguments", "arg1", "test", json!({})).await?;
        assert_eq!(completed.values, ["testValue1", "testValue2"]);
        let none = client.complete_prompt("test_prompt_with_arguments", "arg2", "test", json!({})).await?;
        assert_eq!(none.values, [""; 0]);
    }
    Ok(())
}
