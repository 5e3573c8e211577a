//! Clients that describe themselves in the wrong types: nothing is negotiated with them.

use mcp_runtime::testing::TestClient;
use mcp_runtime::{Revision, prelude::*};
use serde_json::Value;

/// A description of a client, and what is wrong with it: the field, the expected and the actual type.
type Case = (Value, &'static str, &'static str, &'static str);

/// Wrong capabilities and wrong names, in the members of `initialize`.
fn cases() -> Vec<Case> {
    let info = json!({"name": "t", "version": "1"});
    let capabilities = |value: Value| json!({"capabilities": value, "clientInfo": info});
    let named = |value: Value| json!({"capabilities": {}, "clientInfo": value});
    vec![
        (capabilities(json!("all")), "capabilities", "object", "string"),
        (capabilities(json!(["sampling"])), "capabilities", "object", "array"),
        (capabilities(json!(true)), "capabilities", "object", "boolean"),
        (capabilities(json!({"sampling": true})), "capabilities.sampling", "object", "boolean"),
        (capabilities(json!({"x": 1, "elicitation": ["form"]})), "capabilities.elicitation", "object", "array"),
        (named(json!("t")), "clientInfo", "object", "string"),
        (named(json!(["t", "1"])), "clientInfo", "object", "array"),
        (named(json!({"name": 5, "version": "1"})), "clientInfo.name", "string", "integer"),
        (named(json!({"name": "t", "version": 1.5})), "clientInfo.version", "string", "number"),
        (named(json!({"name": "t", "version": "1", "title": {}})), "clientInfo.title", "string", "object"),
    ]
}

fn server() -> Server {
    /// Say hello.
    #[tool]
    fn hello(ctx: &Context) -> String {
        format!("hello, {} {}", ctx.client_name().unwrap_or("?"), ctx.can_sample())
    }
    Server::new("picky", "1.0.0").tools(tools![hello])
}

fn request(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

async fn exchange(client: &TestClient, line: &str) -> Result<Value> {
    Ok(serde_json::from_str(&client.exchange(line).await?)?)
}

fn is_rejected(response: &Value, field: &str, expected: &str, actual: &str) {
    let error = &response["error"];
    assert_eq!(error["code"], -32602, "{field}: {response}");
    assert_eq!(error["data"], json!({"field": field, "expectedType": expected, "actualType": actual}));
    assert!(error["message"].as_str().unwrap().contains(&format!("`{field}`")), "{response}");
}

#[tokio::test]
async fn initialize_with_wrong_types_negotiates_nothing() -> Result<()> {
    for revision in Revision::ALL.iter().copied().filter(|revision| !revision.is_modern()) {
        let client = TestClient::connect_raw(server());
        for (mut params, field, expected, actual) in cases() {
            params["protocolVersion"] = json!(revision);
            is_rejected(&exchange(&client, &request("initialize", &params)).await?, field, expected, actual);
            let call = request("tools/call", &json!({"name": "hello", "arguments": {}}));
            let early = exchange(&client, &call).await?;
            assert!(early["error"]["message"].as_str().unwrap().starts_with("Not initialized"), "{early}");
        }
        // What is unknown, empty, null, or left out is no mistake.
        let capabilities = json!({"sampling": null, "roots": [], "textDocument": 5});
        let params = json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}});
        let opened = exchange(&client, &request("initialize", &params)).await?;
        assert_eq!(opened["result"]["protocolVersion"], json!(revision), "{opened}");
        let call = request("tools/call", &json!({"name": "hello", "arguments": {}}));
        assert_eq!(exchange(&client, &call).await?["result"]["content"][0]["text"], "hello, t false");
    }
    Ok(())
}

#[tokio::test]
async fn meta_with_wrong_types_is_rejected() -> Result<()> {
    let client = TestClient::connect_raw(server());
    let null = json!({"capabilities": null, "clientInfo": {"name": "t", "version": "1"}});
    for (description, field, expected, actual) in cases().into_iter().chain([(null, "capabilities", "object", "null")])
    {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": description["capabilities"],
            "io.modelcontextprotocol/clientInfo": description["clientInfo"],
        });
        let params = json!({"name": "hello", "arguments": {}, "_meta": meta});
        let field = match field.strip_prefix("capabilities") {
            Some(rest) => format!("_meta.io.modelcontextprotocol/clientCapabilities{rest}"),
            None => format!("_meta.io.modelcontextprotocol/{field}"),
        };
        is_rejected(&exchange(&client, &request("tools/call", &params)).await?, &field, expected, actual);
    }
    Ok(())
}
