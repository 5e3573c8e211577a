//! Codes, messages and data of errors.

use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use mcp_runtime::{ErrorCode, Revision};
use mcp_tests::fixture;
use serde_json::Value;

use super::{MODERN, client, exchange};

#[tokio::test]
async fn invalid_param_is_described_in_data() -> Result<()> {
    let expected = json!({"field": "b", "expectedType": "integer", "actualType": "string"});
    for revision in Revision::ALL.iter().copied() {
        let client = TestClient::with_revision(fixture::server(), revision).await?;
        let outcome = client.call("add", json!({"a": 1, "b": "two"})).await;
        let text = if revision >= Revision::V2025_11_25 {
            let result = outcome?;
            assert!(result.is_error());
            assert_eq!(result.meta()["argumentError"], expected, "{revision:?}");
            result.text()
        } else {
            let error = outcome.unwrap_err();
            assert_eq!((error.code(), error.data()), (Some(-32602), Some(&expected)), "{revision:?}");
            error.to_string()
        };
        assert!(text.contains("`b`") && text.contains("expected an integer"), "{text}");
        // A param that is not an argument of the tool is an error of the request, in every revision.
        let error = client.request("tools/call", json!({"name": 7})).await.unwrap_err();
        let expected = json!({"field": "name", "expectedType": "string", "actualType": "integer"});
        assert_eq!((error.code(), error.data()), (Some(-32602), Some(&expected)), "{revision:?}");
    }
    Ok(())
}

#[tokio::test]
async fn unknown_params_are_ignored() -> Result<()> {
    let client = client().await;
    for (method, params) in [
        ("ping", json!({"x": 1})),
        ("tools/list", json!({"filter": "*", "x": {"y": []}})),
        ("tools/call", json!({"name": "add", "arguments": {"a": 1, "b": 2}, "x": 1})),
        ("resources/read", json!({"uri": "docs://manual", "x": 1})),
        ("prompts/get", json!({"name": "dialogue", "x": 1})),
    ] {
        client.request(method, params).await?;
    }
    // A tool without arguments accepts what clients send for want of any, unless the server is strict.
    assert!(!client.call("nothing", json!({"x": 1})).await?.is_error());
    let client = TestClient::connect(fixture::server().strict_arguments(true)).await?;
    let tools = client.request("tools/list", json!({})).await?;
    let nothing = tools["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "nothing").unwrap();
    assert_eq!(nothing["inputSchema"]["additionalProperties"], false, "{nothing}");
    let refused = client.call("nothing", json!({"x": 1})).await?;
    assert!(refused.is_error() && refused.text().contains("`x` is unknown"), "{}", refused.text());
    Ok(())
}

#[tokio::test]
async fn notification_with_an_id_is_rejected() -> Result<()> {
    let client = client().await;
    let answer = exchange(&client, r#"{"jsonrpc":"2.0","id":"a","method":"notifications/initialized"}"#).await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("a"), &json!(-32600)), "{answer}");
    Ok(())
}

const OUT_OF_STOCK: ErrorCode = ErrorCode::new(-31999);
const TOO_DEAR: ErrorCode = ErrorCode::new(7);

/// Buy at once.
#[tool]
fn buy() -> Result<String> {
    Err(Error::application(OUT_OF_STOCK, "there are none left").with_data(json!({"left": 0})))
}

/// Buy after a while.
#[tool]
async fn order() -> Result<String> {
    tokio::task::yield_now().await;
    Err(Error::application(OUT_OF_STOCK, "there are none left").with_data(json!({"left": 0})))
}

/// Buy on a thread.
#[tool(blocking)]
fn fetch() -> Result<String> {
    Err(Error::application(OUT_OF_STOCK, "there are none left").with_data(json!({"left": 0})))
}

/// Haggle.
#[prompt]
fn haggle() -> Result<String> {
    Err(Error::application(TOO_DEAR, "that is the price"))
}

/// The shelf.
#[resource("shop://shelf")]
fn shelf() -> Result<String> {
    Err(Error::application(TOO_DEAR, "that is the price"))
}

#[tokio::test]
async fn application_errors_keep_their_code_and_data() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let server = Server::new("shop", "1.0.0")
            .tools(tools![buy, order, fetch])
            .prompts(prompts![haggle])
            .resources(resources![shelf]);
        let client = TestClient::with_revision(server, revision).await?;
        for tool in ["buy", "order", "fetch"] {
            let error = client.call(tool, json!({})).await.unwrap_err();
            assert_eq!((error.code(), error.data()), (Some(-31999), Some(&json!({"left": 0}))), "{revision:?}");
            assert_eq!(error.to_string(), "there are none left");
        }
        for error in
            [client.get_prompt("haggle", json!({})).await.unwrap_err(), client.read("shop://shelf").await.unwrap_err()]
        {
            assert_eq!((error.code(), error.data()), (Some(7), None), "{revision:?}");
            assert_eq!(error.to_string(), "that is the price");
        }
    }
    Ok(())
}

#[test]
fn app_code_rejects_protocol_codes() {
    // As constants they would not compile: see the documentation of `ErrorCode`.
    assert!((-32768..=-32000).all(|code| ErrorCode::try_new(code).is_none()));
    assert_eq!(ErrorCode::try_new(-31999), Some(OUT_OF_STOCK));
    assert!(ErrorCode::try_new(-32769).is_some());
}

/// Dream.
#[tool(timeout = "20ms")]
async fn dream() {
    std::future::pending::<()>().await;
}

/// Dream on.
#[prompt(timeout = "20ms")]
async fn dream_on() -> String {
    tokio::time::sleep(Duration::from_secs(60)).await;
    String::new()
}

/// Dreams.
#[resource("dream://{n}", timeout = "20ms")]
async fn dreams(n: u32) -> String {
    tokio::time::sleep(Duration::from_secs(u64::from(n) * 60)).await;
    String::new()
}

#[tokio::test]
async fn handler_timeouts_are_reported() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let server = Server::new("sleeper", "1.0.0").tools(tools![dream]).prompts(prompts![dream_on]);
        let client = TestClient::with_revision(server.resources(resources![dreams]), revision).await?;
        let tool = client.call("dream", json!({})).await?;
        assert!(tool.is_error());
        assert_eq!(tool.text(), "The tool timed out after 20ms.");
        for error in
            [client.get_prompt("dream_on", json!({})).await.unwrap_err(), client.read("dream://1").await.unwrap_err()]
        {
            assert_eq!(error.code(), Some(-32603));
            assert!(error.to_string().ends_with("timed out after 20ms"), "{error}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn is_error_is_omitted_when_false() -> Result<()> {
    let client = client().await;
    for meta in [String::new(), format!(r#","_meta":{MODERN}"#)] {
        let call = |tool: &str| {
            let params = format!(r#"{{"name":"{tool}"{meta}}}"#);
            format!(r#"{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{params}}}"#)
        };
        assert_eq!(exchange(&client, &call("nothing")).await["result"].get("isError"), None);
        assert_eq!(exchange(&client, &call("fail")).await["result"].get("isError"), Some(&json!(true)));
    }
    Ok(())
}

#[tokio::test]
async fn resources_read_needs_a_uri() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let client = TestClient::with_revision(fixture::server(), revision).await?;
        let error = client.request("resources/read", json!({"id": "docs://manual"})).await.unwrap_err();
        assert_eq!(error.code(), Some(-32602));
        let expected = json!({"field": "uri", "expectedType": "string", "actualType": "missing"});
        assert_eq!(error.data(), Some(&expected), "{revision:?}");
    }
    Ok(())
}

#[tokio::test]
async fn invalid_params_message_names_the_field() -> Result<()> {
    let client = client().await;
    for (method, params, field) in [
        ("tools/call", json!({}), "name"),
        ("tools/call", json!({"name": "add", "arguments": 7}), "arguments"),
        ("resources/read", json!({"uri": 7}), "uri"),
        ("prompts/get", json!({"name": "greet"}), "name"),
        ("tools/list", json!({"cursor": 7}), "cursor"),
    ] {
        let error = client.request(method, params).await.unwrap_err();
        let data: &Value = error.data().unwrap();
        assert_eq!((error.code(), &data["field"]), (Some(-32602), &json!(field)), "{error}");
        let text = error.to_string();
        assert!(text.contains(&format!("`{field}`")) && !text.contains('\n') && text.len() < 100, "{text}");
    }
    Ok(())
}
