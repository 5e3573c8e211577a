//! What servers built on other SDKs got wrong, one test per mistake.
//!
//! Lines without an end are in `stdio/abuse/sizes.rs`.

use std::sync::Arc;

use mcp_runtime::{ErrorCode, Json, Revision, prelude::*};
use mcp_tests::http::server::{server, site};
use mcp_tests::http::{Ask, Site, call, call_in, in_session, modern, soon};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use crate::asking::{Name, greet, session};

/// The result of a call.
async fn result(site: &Site, ask: &Ask) -> Value {
    let response = site.ask(ask).await;
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()["result"].clone()
}

#[tokio::test]
async fn origin_may_have_its_default_port() {
    let origins = ["https://app.example.com", "http://localhost:3000"];
    let site = Site::serving(server(&Arc::default()).into_service().allow_origins(origins)).await;
    let rows = [
        ("https://app.example.com", 200),
        ("https://app.example.com:443", 200),
        ("https://app.example.com:444", 403),
        ("https://app.example.com:80", 403),
        ("http://app.example.com", 403),
        ("http://localhost:3000", 200),
        ("http://localhost", 403),
    ];
    for (origin, status) in rows {
        let ask = modern("tools/list", json!({})).with("Origin", origin);
        assert_eq!(site.ask(&ask).await.status, status, "{origin}");
    }
}

#[tokio::test]
async fn repeated_mcp_headers_are_rejected() {
    let (site, _) = site().await;
    let place = || call("place", &json!({"region": "eu"})).with("Mcp-Param-Region", "eu");
    assert_eq!(site.ask(&place()).await.status, 200);
    for (header, value) in [
        ("Mcp-Method", "tools/call"),
        ("mcp-name", "place"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("mcp-param-region", "eu"),
    ] {
        assert_eq!(site.ask(&place().with(header, value)).await.outcome(), (400, -32020), "{header}");
    }
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Reading {
    celsius: f64,
}

/// The last reading, if there is one.
#[tool]
fn last_reading(known: bool) -> Json<Option<Reading>> {
    Json(known.then_some(Reading { celsius: 21.5 }))
}

#[tokio::test]
async fn structured_null_is_sent() {
    let site = Site::of(Server::new("sensor", "1.0.0").tools(tools![last_reading])).await;
    let some = result(&site, &call("last_reading", &json!({"known": true}))).await;
    assert_eq!(some["structuredContent"], json!({"celsius": 21.5}));
    let none = result(&site, &call("last_reading", &json!({"known": false}))).await;
    assert_eq!(none.get("structuredContent"), Some(&Value::Null), "{none}");
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "unit", rename_all = "lowercase")]
enum Amount {
    Grams { value: f64 },
}

/// Say each number back.
#[tool]
fn numbers(single: f32, double: f64, any: Value, number: Number, whole: u64, tagged: Amount) -> String {
    let Amount::Grams { value } = tagged;
    format!("{single} {double:?} {any} {number} {whole} {value:?}")
}

/// Also where serde buffers a value first, as for a tagged enum.
#[tokio::test]
async fn numbers_arrive_as_they_were_sent() {
    let site = Site::of(Server::new("scale", "1.0.0").tools(tools![numbers])).await;
    let arguments = json!({
        "single": 0.1_f32, "double": 1.0, "any": 2.5e-3, "number": 3.0, "whole": u64::MAX,
        "tagged": {"unit": "grams", "value": 1e300},
    });
    let text = result(&site, &call("numbers", &arguments)).await["content"][0]["text"].clone();
    assert_eq!(text, format!("0.1 1.0 0.0025 3.0 {} 1e300", u64::MAX));
    let whole = json!({
        "single": 1, "double": 2, "any": 3, "number": 4, "whole": 5, "tagged": {"unit": "grams", "value": 6},
    });
    let text = result(&site, &call("numbers", &whole)).await["content"][0]["text"].clone();
    assert_eq!(text, "1 2.0 3 4 5 6.0");
}

#[tokio::test]
async fn cacheable_answers_have_cache_hints() {
    let (site, _) = site().await;
    for (method, params) in [
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "weather://now"})),
        ("resources/read", json!({"uri": "note://1"})),
    ] {
        let result = result(&site, &modern(method, params)).await;
        assert!(result["ttlMs"].is_u64() && result["cacheScope"].is_string(), "{method}: {result}");
    }
}

#[tokio::test]
async fn invalid_arguments_are_a_result_that_the_model_reads() {
    let (site, _) = site().await;
    let session = site.session(Revision::V2025_11_25).await;
    for (tool, arguments) in [("add", json!({"a": "x", "b": 1})), ("add", json!({})), ("fail", json!({}))] {
        for ask in [call(tool, &arguments), call_in(&session, 7, tool, &arguments)] {
            let result = result(&site, &ask).await;
            assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        }
    }
}

/// The body of a request with this id.
fn with_id(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// As clients write it whose numbers are all floats.
#[tokio::test]
async fn whole_float_is_an_integer_id() {
    let (site, state) = site().await;
    let session = site.session(Revision::V2025_11_25).await;
    let post = |body: String| Ask::post(body).with("Mcp-Session-Id", &session);
    let pong = site.ask(&post(with_id("1.0", "ping", "{}"))).await;
    assert_eq!(pong.text(), r#"{"jsonrpc":"2.0","id":1.0,"result":{}}"#);
    assert_eq!(site.ask(&post(with_id("1.5", "ping", "{}"))).await.outcome(), (400, -32600));
    // It is the same id, wherever it is used.
    let sleep = r#"{"name":"sleep","arguments":{"ms":600000}}"#;
    let (one, other) = (site.open().await, site.open().await);
    let (mut call, mut again) = (one, other);
    call.send(&post(with_id("7", "tools/call", sleep)).bytes()).await;
    mcp_tests::http::until(|| state.begun.load(std::sync::atomic::Ordering::SeqCst) == 1).await;
    again.send(&post(with_id("7.0", "tools/call", sleep)).bytes()).await;
    assert_eq!(soon(again.response()).await.json()["error"]["code"], -32600, "the id is in use");
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7.00}}"#;
    assert_eq!(site.ask(&post(cancel.to_owned())).await.status, 202);
    mcp_tests::http::until(|| state.dropped.load(std::sync::atomic::Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn request_without_a_session_gets_400() {
    let (site, _) = site().await;
    for method in ["ping", "tools/list", "tools/call", "resources/read", "logging/setLevel", "nonsense"] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}).to_string();
        for ask in [Ask::post(body.clone()), Ask::post(body).with("MCP-Protocol-Version", "2025-06-18")] {
            assert_eq!(site.ask(&ask).await.outcome(), (400, -32600), "{method}");
        }
    }
}

#[tokio::test]
async fn answer_with_result_and_error_is_no_answer() {
    let site = Site::of(Server::new("asker", "1.0.0").tools(tools![greet])).await;
    let session = session(&site, Revision::V2025_11_25, "").await;
    let (_, mut wire) = site.begin(&call_in(&session, 7, "greet", &json!({}))).await;
    let question = soon(wire.event()).await.unwrap();
    let both = json!({
        "jsonrpc": "2.0", "id": question["id"], "error": {"code": 1, "message": "no"},
        "result": {"action": "accept", "content": {"name": "Eve"}},
    });
    assert_eq!(site.ask(&in_session(&session, &both)).await.status, 202);
    let end = soon(wire.event()).await.unwrap();
    assert_eq!(end["result"]["isError"], true, "{end}");
    assert!(end["result"]["content"][0]["text"].as_str().unwrap().contains("a result and an error"), "{end}");
}

/// Ask for a name, and for another.
#[tool]
async fn greet_both(ctx: &Context) -> Result<String> {
    let Name { name } = ctx.elicit("Who is there?").await?;
    let Name { name: other } = ctx.elicit("Who else?").await?;
    Ok(format!("Hello, {name} and {other}!"))
}

/// Questions are part of results there, and the client retries the call with its answers.
#[tokio::test]
async fn no_requests_are_sent_to_clients_of_2026_07_28() {
    let site = Site::of(Server::new("asker", "1.0.0").tools(tools![greet_both])).await;
    let meta = json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
    let (mut params, mut rounds) = (json!({"name": "greet_both", "arguments": {}, "_meta": meta}), 0);
    loop {
        let response = site.ask(&modern("tools/call", params.clone())).await;
        let messages = match response.header("content-type") {
            Some("text/event-stream") => response.events(),
            _ => vec![response.json()],
        };
        for message in &messages {
            assert!(message.get("id").is_none() || message.get("method").is_none(), "a request: {message}");
        }
        let result = &messages.last().unwrap()["result"];
        if result["resultType"] == "complete" {
            assert_eq!(result["content"][0]["text"], "Hello, Ada and Ada!");
            break;
        }
        rounds += 1;
        let keys = result["inputRequests"].as_object().unwrap_or_else(|| panic!("{result}")).keys();
        let named = json!({"action": "accept", "content": {"name": "Ada"}});
        params["inputResponses"] = keys.map(|key| (key.clone(), named.clone())).collect();
        params["requestState"] = result["requestState"].clone();
    }
    assert_eq!(rounds, 2);
}

/// A tool whose schema mirrors an argument below the top in the header `Mcp-Param-{header}`.
fn nested(header: &str) -> Tool {
    let place = json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": header}}});
    Tool::builder("order")
        .description("Orders something.")
        .input_schema(json!({"type": "object", "properties": {"place": place}}))
        .handler(async |_, arguments: Value| arguments.to_string())
}

fn order() -> Ask {
    call("order", &json!({"place": {"region": "eu"}}))
}

#[tokio::test]
async fn nested_arguments_are_mirrored_in_headers() {
    let site = Site::of(Server::new("shop", "1.0.0").tools([nested("Region")])).await;
    assert_eq!(site.ask(&order().with("Mcp-Param-Region", "eu")).await.status, 200);
    assert_eq!(site.ask(&order().with("Mcp-Param-Region", "us")).await.outcome(), (400, -32020));
    assert_eq!(site.ask(&order()).await.outcome(), (400, -32020));
    assert_eq!(site.ask(&call("order", &json!({"place": {}}))).await.status, 200);
}

#[tokio::test]
async fn header_checks_follow_a_tool_that_changes() {
    let site = Site::of(Server::new("shop", "1.0.0").dynamic().tools([nested("Region")])).await;
    // One connection for all, so that nothing can be remembered by it.
    let mut wire = site.open().await;
    let mut status = async |ask: Ask| {
        wire.send(&ask.bytes()).await;
        soon(wire.response()).await.status
    };
    assert_eq!(status(order().with("Mcp-Param-Region", "eu")).await, 200);
    assert!(site.handle.tools().remove("order"));
    site.handle.tools().add([nested("Zone")]).unwrap();
    assert_eq!(status(order().with("Mcp-Param-Region", "eu")).await, 400);
    assert_eq!(status(order().with("Mcp-Param-Zone", "eu")).await, 200);
}

/// The code of a header mismatch means 400, and that the request did not run: only the server says so.
#[test]
fn handler_cannot_make_a_header_mismatch() {
    for code in [-32020, -32602, -32600] {
        assert_eq!(ErrorCode::try_new(code), None, "{code}");
    }
}
