//! The events that Lambda has for the function, and its responses, without AWS.

mod event;

use event::event;
use lambda_http::request::LambdaRequest;
use lambda_http::{Adapter, Context, LambdaEvent, Service as _};
use mcp_runtime::http::HttpService;
use mcp_runtime::store::MemoryBackend;
use serde_json::{Value, json};

const SECRET: &str = "an example of a secret, which has 32 bytes at least";
const MODERN: &str = "2026-07-28";

/// The same, of a user whom a JWT authorizer has let in.
fn of_user(mut event: Value, user: &str) -> Value {
    event["requestContext"]["authorizer"] = json!({ "jwt": { "claims": { "sub": user }, "scopes": null } });
    event
}

/// What an instance of the function responds to an event: `statusCode`, `headers`, `body`.
async fn invoke(instance: &HttpService, event: Value) -> Value {
    let request: LambdaRequest = serde_json::from_value(event).unwrap();
    let mut function = Adapter::from(instance.clone());
    let response = function.call(LambdaEvent::new(request, Context::default())).await.unwrap();
    serde_json::to_value(response).unwrap()
}

fn message(response: &Value) -> Value {
    serde_json::from_str(response["body"].as_str().unwrap()).unwrap_or_else(|error| panic!("{response}: {error}"))
}

/// A call of 2026-07-28, with what is new in its params.
fn modern_call(tool: &str, arguments: Value, more: Value) -> Value {
    let mut params = json!({
        "name": tool,
        "arguments": arguments,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        },
    });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let headers = json!({ "mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": tool });
    event("POST", headers, &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }))
}

fn initialize() -> Value {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    });
    event("POST", json!({}), &json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }))
}

/// A call of 2025-11-25, in a session if there is one.
fn legacy_call(session: Option<&str>) -> Value {
    let mut headers = json!({ "mcp-protocol-version": "2025-11-25" });
    if let Some(session) = session {
        headers["mcp-session-id"] = json!(session);
    }
    let params = json!({ "name": "to_centimeters", "arguments": { "inches": 2 } });
    event("POST", headers, &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }))
}

#[tokio::test]
async fn call_is_an_event() {
    let response = invoke(&lambda::alone(SECRET), modern_call("to_centimeters", json!({"inches": 2}), json!({}))).await;
    assert_eq!(response["statusCode"], 200, "{response}");
    assert_eq!(response["headers"]["content-type"], "application/json", "{response}");
    assert_eq!(response["isBase64Encoded"], false, "{response}");
    assert_eq!(message(&response)["result"]["content"][0]["text"], "5.08");
}

#[tokio::test]
async fn answer_may_reach_another_instance() {
    let arguments = json!({ "temperature": 20 });
    let first = invoke(&lambda::alone(SECRET), modern_call("to_kelvin", arguments.clone(), json!({}))).await;
    let first = &message(&first)["result"];
    let (key, _) = first["inputRequests"].as_object().unwrap().iter().next().unwrap();
    let answers = json!({ key: { "action": "accept", "content": { "unit": "celsius" } } });
    let more = json!({ "inputResponses": answers, "requestState": first["requestState"] });
    let retry = || modern_call("to_kelvin", arguments.clone(), more.clone());

    let second = message(&invoke(&lambda::alone(SECRET), retry()).await);
    assert_eq!(second["result"]["content"][0]["text"], "293.15", "{second}");
    let another = invoke(&lambda::alone("another secret, which has 32 bytes as well, at least"), retry()).await;
    assert!(message(&another)["error"]["message"].is_string(), "{another}");
}

#[tokio::test]
async fn old_clients_need_no_session() {
    let hello = invoke(&lambda::alone(SECRET), initialize()).await;
    assert_eq!(message(&hello)["result"]["serverInfo"]["name"], "converter", "{hello}");
    assert!(hello["headers"]["mcp-session-id"].is_null(), "{hello}");
    let answer = invoke(&lambda::alone(SECRET), legacy_call(None)).await;
    assert_eq!(message(&answer)["result"]["content"][0]["text"], "5.08", "{answer}");
    // A buffered response would never end.
    let stream =
        invoke(&lambda::alone(SECRET), event("GET", json!({ "accept": "text/event-stream" }), &json!(null))).await;
    assert_eq!(stream["statusCode"], 405, "{stream}");
}

#[tokio::test]
async fn session_of_a_backend_is_known_to_all_instances() {
    let backend = MemoryBackend::new();
    let instance = || lambda::with_sessions(backend.clone());
    let hello = invoke(&instance(), of_user(initialize(), "eve")).await;
    let session = hello["headers"]["mcp-session-id"].as_str().unwrap_or_else(|| panic!("{hello}"));
    let answer = invoke(&instance(), of_user(legacy_call(Some(session)), "eve")).await;
    assert_eq!(message(&answer)["result"]["content"][0]["text"], "5.08", "{answer}");
    for other in [legacy_call(Some(session)), of_user(legacy_call(Some(session)), "mallory")] {
        assert_eq!(invoke(&instance(), other).await["statusCode"], 404);
    }
}
