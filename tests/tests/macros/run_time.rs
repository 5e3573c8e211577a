//! Handlers built at run time: checked like those of functions, and added while the server runs.

use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use mcp_runtime::{Json, Revision};
use serde::Deserialize;
use serde_json::Value;

const REVISIONS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

fn lookup() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {"key": {"type": "string", "pattern": "^[a-z]+$"}, "depth": {"type": "integer", "maximum": 3}},
        "required": ["key"],
        "additionalProperties": false,
    });
    Tool::builder("lookup")
        .title("Look up")
        .description("Look a key up.")
        .input_schema(schema)
        .read_only(true)
        .handler(async |_ctx, args: Value| Ok::<_, Error>(args.to_string()))
}

#[tokio::test]
async fn arguments_of_a_run_time_tool_are_checked() -> Result<()> {
    for revision in REVISIONS {
        let server = Server::new("s", "1");
        let handle = server.handle();
        let client = TestClient::with_revision(server, revision).await?;
        handle.tools().add([lookup()])?;
        let [tool] = &client.list_tools().await?[..] else { panic!("one tool") };
        assert_eq!((tool.name.as_str(), tool.annotations.read_only_hint), ("lookup", Some(true)));
        let told = client.call("lookup", json!({"key": "abc", "depth": "2"})).await?;
        assert_eq!(told.text(), r#"{"key":"abc","depth":2}"#);
        let null = client.call("lookup", json!({"key": "abc", "depth": null})).await?;
        assert_eq!(null.text(), r#"{"key":"abc"}"#, "a null that stands for nothing does not reach the handler");
        for (arguments, expected) in [
            (json!({}), "`key` is missing: expected a string that matches the pattern ^[a-z]+$"),
            (json!({"key": "A"}), "`key`: expected a string that matches the pattern ^[a-z]+$, got the string \"A\""),
            (json!({"key": 5}), "`key`: expected a string"),
            (json!({"key": "a", "depth": 4}), "`depth`: expected an integer of at most 3, got 4"),
            (json!({"key": "a", "deep": 1}), "`deep` is unknown; expected `key` or `depth`"),
        ] {
            let told = client.call("lookup", &arguments).await?;
            assert!(told.is_error() && told.text().contains(expected), "{arguments}: {}", told.text());
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct Pair {
    a: i64,
    b: i64,
}

#[tokio::test]
async fn run_time_tool_may_decode_into_a_type_and_has_its_result_checked() -> Result<()> {
    let number = json!({"type": "integer"});
    let tool = Tool::builder("sum")
        .input_schema(json!({"type": "object", "properties": {"a": number, "b": number}, "required": ["a", "b"]}))
        .output_schema(json!({"type": "object", "properties": {"sum": {"type": "integer", "maximum": 10}}}))
        .handler(async |_ctx, pair: Pair| Json(json!({"sum": pair.a + pair.b})));
    let client = TestClient::connect(Server::new("s", "1").tools([tool])).await?;
    assert_eq!(client.call("sum", json!({"a": 1, "b": 2})).await?.structured::<Value>()?, json!({"sum": 3}));
    let told = client.call("sum", json!({"a": 10, "b": 2})).await?;
    assert!(
        told.is_error() && told.text().contains("`sum`: expected an integer of at most 10, got 12"),
        "{}",
        told.text()
    );
    Ok(())
}

#[tokio::test]
async fn wrong_schema_of_a_run_time_tool_is_an_error() {
    let server = Server::new("s", "1");
    let handle = server.handle();
    let tool = |schema: Value| Tool::builder("t").input_schema(schema).handler(async |_ctx, _: Value| ());
    let error = |schema| handle.tools().add([tool(schema)]).unwrap_err().to_string();
    assert!(error(json!({"type": "array"})).contains("must be that of an object"));
    let circle = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}},
        "$defs": {"x": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/x"}]}}});
    assert!(error(circle).contains("a `$ref` leads back to itself"));
    let told = error(json!({"type": "object", "properties": {"a": {"pattern": "("}, "b": {"$ref": "#/$defs/x"}}}));
    assert!(told.contains("`a`: the pattern `(`") && told.contains("`b`: `$ref` leads to"), "{told}");
    drop(server);
}

#[tokio::test]
async fn run_time_prompts_and_resources() -> Result<()> {
    for revision in REVISIONS {
        let prompt = Prompt::builder("review")
            .argument("file", "The path.")
            .optional_argument("tone", "How to sound.")
            .handler(async |_ctx, args| format!("{} {:?}", args["file"], args.get("tone")));
        let fixed = Resource::builder("disk://readme", "readme").handler(async |_ctx, uri, _| uri);
        let family = Resource::builder("disk://files/{name}", "files")
            .mime("text/plain")
            .handler(async |_ctx, uri, variables| format!("{uri} {}", variables["name"]));
        let server = Server::new("s", "1").prompts([prompt]).resources([fixed, family]);
        let client = TestClient::with_revision(server, revision).await?;
        assert_eq!(client.get_prompt("review", json!({"file": "a.rs"})).await?.text(), "a.rs None");
        let error = client.get_prompt("review", json!({})).await.unwrap_err().to_string();
        assert!(error.contains("`file` is missing: expected a string"), "{error}");
        assert_eq!(client.read("disk://readme").await?.text(), "disk://readme");
        assert_eq!(client.read("disk://files/a").await?.text(), "disk://files/a a");
    }
    Ok(())
}
