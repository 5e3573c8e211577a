//! Messages and methods.

use mcp_runtime::testing::TestClient;
use mcp_runtime::{Revision, prelude::*};
use mcp_tests::fixture;
use serde_json::Value;

use super::{MODERN, client, exchange, is_silent};

#[tokio::test]
async fn dollar_methods_are_unknown() -> Result<()> {
    let client = client().await;
    for method in ["$/setTrace", "$/progress", "$/initialized", "$/"] {
        client.notify(method, &json!({"value": 1}))?;
        is_silent(&client).await;
        let answer = exchange(&client, &format!(r#"{{"jsonrpc":"2.0","id":"a","method":"{method}"}}"#)).await;
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
    }
    // Another protocol's way to cancel is not this one's.
    client.send(r#"{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"forever"}}"#)?;
    client.notify("$/cancelRequest", &json!({"id": "b"}))?;
    let answer: Value = serde_json::from_str(&client.receive().await?)?;
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!("b"), &json!(true)), "it timed out: {answer}");
    Ok(())
}

#[tokio::test]
async fn null_id_is_rejected() -> Result<()> {
    let client = client().await;
    for method in ["ping", "notifications/initialized", "no/such/method"] {
        let answer = exchange(&client, &format!(r#"{{"jsonrpc":"2.0","id":null,"method":"{method}"}}"#)).await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32600)), "{answer}");
    }
    Ok(())
}

#[tokio::test]
async fn params_must_be_an_object() -> Result<()> {
    let client = client().await;
    for method in ["ping", "tools/list", "tools/call", "resources/read", "prompts/get"] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":"a","method":"{method}","params":[1]}}"#);
        let error = exchange(&client, &line).await["error"].take();
        assert_eq!(error["code"], -32602, "{error}");
        assert_eq!(error["data"], json!({"field": "params", "expectedType": "object", "actualType": "array"}));
    }
    Ok(())
}

#[tokio::test]
async fn every_result_is_an_object() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let client = TestClient::with_revision(fixture::server(), revision).await?;
        for (method, params) in [
            ("tools/list", json!({})),
            ("tools/call", json!({"name": "add", "arguments": {"a": 1, "b": 2}})),
            // Structured results of any type are inside one.
            ("tools/call", json!({"name": "below", "arguments": {"n": 3}})),
            ("tools/call", json!({"name": "nothing"})),
            ("tools/call", json!({"name": "fail"})),
            ("resources/list", json!({})),
            ("resources/templates/list", json!({})),
            ("resources/read", json!({"uri": "docs://manual"})),
            ("prompts/list", json!({})),
            ("prompts/get", json!({"name": "dialogue"})),
        ] {
            let result = client.request(method, params).await?;
            assert!(result.is_object(), "{method} in {revision:?}: {result}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn methods_of_other_protocols_are_unknown() -> Result<()> {
    let client = client().await;
    let unknown = client.request("listResources", json!({"filter": "*.md"})).await.unwrap_err();
    assert_eq!((unknown.code(), &*unknown.to_string()), (Some(-32601), "Method not found: listResources"));
    assert_eq!(unknown.data().unwrap()["suggestion"], "resources/list");
    for method in ["textDocument/hover", "textDocument/completion", "workspace/symbol"] {
        let unknown = client.request(method, json!({})).await.unwrap_err();
        assert_eq!((unknown.code(), unknown.data()), (Some(-32601), None), "{method}");
    }
    client.notify("workspace/didChangeConfiguration", &json!({"settings": {}}))?;
    client.notify("textDocument/didOpen", &json!({}))?;
    is_silent(&client).await;
    // The real method, with a parameter it does not know.
    let listed = client.request("resources/list", json!({"filter": "*.md"})).await?;
    assert!(!listed["resources"].as_array().unwrap().is_empty());
    Ok(())
}

#[tokio::test]
async fn unknown_names_get_a_suggestion() -> Result<()> {
    let client = client().await;
    let line = r#"{"jsonrpc":"2.0","id":"a","method":"tools/lists"}"#;
    assert_eq!(
        exchange(&client, line).await["error"],
        json!({"code": -32601, "message": "Method not found: tools/lists",
               "data": {"details": "Did you mean 'tools/list'?", "suggestion": "tools/list"}})
    );
    for (method, params, message, suggestion) in [
        ("tools/call", json!({"name": "ad"}), "Unknown tool: ad", "add"),
        ("prompts/get", json!({"name": "Greet"}), "Unknown prompt: Greet", "greet"),
    ] {
        let unknown = client.request(method, params).await.unwrap_err();
        assert_eq!((unknown.code(), &*unknown.to_string()), (Some(-32602), message));
        assert_eq!(unknown.data().unwrap()["suggestion"], suggestion);
    }
    // Only what there is to be had: the newest revision has no ping, this server no completion.
    let line = format!(r#"{{"jsonrpc":"2.0","id":"a","method":"pings","params":{{"_meta":{MODERN}}}}}"#);
    assert_eq!(exchange(&client, &line).await["error"]["data"], Value::Null);
    let unknown = client.request("completion/completes", json!({})).await.unwrap_err();
    assert_eq!((unknown.code(), unknown.data()), (Some(-32601), None));
    Ok(())
}

#[tokio::test]
async fn invalid_json_does_not_affect_the_next_message() -> Result<()> {
    let client = client().await;
    let answer = exchange(&client, r#"{"jsonrpc":"2.0","method":"foobar","params":"bar","baz]"#).await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32700)), "{answer}");
    is_silent(&client).await;
    Ok(())
}

#[tokio::test]
async fn batches_are_accepted_only_in_2025_03_26() -> Result<()> {
    let batch = r#"[{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{}},{"jsonrpc":"2.0","id":"b","method":"no/such"}]"#;
    for revision in Revision::ALL.iter().copied() {
        let client = TestClient::with_revision(fixture::server(), revision).await?;
        let answer = exchange(&client, batch).await;
        if revision == Revision::V2025_03_26 {
            assert!(answer[0]["result"]["tools"].is_array(), "{answer}");
            assert_eq!(answer[1]["error"]["code"], -32601, "{answer}");
        } else {
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32600)), "{revision:?}");
        }
    }
    Ok(())
}

/// Say what the weather is like.
#[tool(description = "查询天气", title = "天气")]
fn weather(#[arg(rename = "城市")] city: String) -> String {
    format!("{city}：晴，25°C")
}

#[tokio::test]
async fn unicode_round_trips_unescaped() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let client = TestClient::with_revision(Server::new("天气", "1.0.0").tools(tools![weather]), revision).await?;
        let meta = if revision.is_modern() { format!(r#","_meta":{MODERN}"#) } else { String::new() };
        // As itself or escaped, it is the same; the answer is never escaped.
        for city in ["北京", r"\u5317\u4eac"] {
            let params = format!(r#"{{"name":"weather","arguments":{{"城市":"{city}"}}{meta}}}"#);
            let line = format!(r#"{{"jsonrpc":"2.0","id":"问","method":"tools/call","params":{params}}}"#);
            let answer = client.exchange(&line).await?;
            assert!(answer.starts_with(r#"{"jsonrpc":"2.0","id":"问","result":"#), "{answer}");
            assert!(answer.contains(r#""text":"北京：晴，25°C""#), "{answer}");
        }
        let params = if meta.is_empty() { "{}".to_owned() } else { format!("{{{}}}", &meta[1..]) };
        let line = format!(r#"{{"jsonrpc":"2.0","id":"列","method":"tools/list","params":{params}}}"#);
        let listed = client.exchange(&line).await?;
        assert!(listed.contains("查询天气") && listed.contains(r#""城市":{"#), "{listed}");
    }
    Ok(())
}

#[tokio::test]
async fn response_has_either_result_or_error() -> Result<()> {
    let client = client().await;
    for line in [
        r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"no/such"}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"fail"}}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"panic"}}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"resources/read","params":{"uri":"nowhere://"}}"#,
    ] {
        let answer = exchange(&client, line).await;
        assert!(answer.get("result").is_some() != answer.get("error").is_some(), "{answer}");
    }
    // An unsolicited response with both is ignored.
    client.send(r#"{"jsonrpc":"2.0","id":"x","result":{},"error":{"code":1,"message":"x"}}"#)?;
    is_silent(&client).await;
    // Asking and answering at once is neither.
    let answer = exchange(&client, r#"{"jsonrpc":"2.0","id":"a","method":"ping","result":{}}"#).await;
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    Ok(())
}

#[tokio::test]
async fn unregistered_vendor_method_is_unknown() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let client = TestClient::with_revision(fixture::server(), revision).await?;
        let unknown = client.request("vendor.example/reindex", json!({"deep": true})).await.unwrap_err();
        assert_eq!((unknown.code(), unknown.data()), (Some(-32601), None), "{revision:?}");
        client.notify("vendor.example/changed", &json!({}))?;
        assert_eq!(client.close().await?, [""; 0]);
    }
    Ok(())
}

#[tokio::test]
async fn notification_errors_get_no_response() -> Result<()> {
    let client = client().await;
    for (method, params) in [
        ("notifications/cancelled", json!([1])),
        ("notifications/cancelled", json!({"requestId": {}})),
        ("notifications/initialized", json!("x")),
        ("tools/call", json!({"name": "panic"})),
        ("tools/call", json!({"name": "nobody"})),
        ("no/such/method", json!({})),
    ] {
        client.notify(method, &params)?;
    }
    is_silent(&client).await;
    assert_eq!(client.close().await?, [""; 0]);
    Ok(())
}
