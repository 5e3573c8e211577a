//! Content negotiation: JSON, an event stream, or either, as the `Accept` header says.

use mcp_runtime::{Revision, prelude::*};
use mcp_tests::http::server::{SESSIONS, server, site};
use mcp_tests::http::{Ask, Site, call, call_in, in_session, initialize, modern};

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// A call that sends notifications and waits, and one that sends some and does not wait.
fn talking() -> [Ask; 2] {
    let meta = json!({"progressToken": "p", "io.modelcontextprotocol/logLevel": "info"});
    let ask = |name: &str| {
        modern(
            "tools/call",
            json!({"name": name, "arguments": if name == "steps" { json!({"n": 2}) } else { json!({}) }, "_meta": meta}),
        )
    };
    [ask("steps"), ask("murmur")]
}

fn talking_in(session: &str) -> [Ask; 2] {
    [call_in(session, 1, "steps", &json!({"n": 2})), call_in(session, 1, "murmur", &json!({}))]
}

/// A client that accepts no events misses the notifications, and gets the result.
#[tokio::test]
async fn accept_json_gets_json() {
    let (site, _) = site().await;
    let mut asks = talking().to_vec();
    for revision in SESSIONS {
        asks.extend(talking_in(&site.session(revision).await));
    }
    for ask in asks {
        for accept in [JSON, "application/*", "application/json, text/event-stream;q=0"] {
            let response = site.ask(&ask.clone().but("Accept", accept)).await;
            assert_eq!(response.status, 200);
            let answer = response.json();
            assert_eq!((&answer["id"], &answer["error"]), (&json!(1), &json!(null)), "{answer}");
            assert!(answer["result"]["content"][0]["text"].is_string(), "{answer}");
        }
    }
}

#[tokio::test]
async fn accept_event_stream_gets_a_stream() {
    let (site, _) = site().await;
    let session = site.session(Revision::V2025_11_25).await;
    let asks = [
        call("add", &json!({"a": 1, "b": 2})),
        call("sleep", &json!({"ms": 5})),
        call_in(&session, 1, "add", &json!({"a": 1, "b": 2})),
        call_in(&session, 1, "sleep", &json!({"ms": 5})),
    ];
    for ask in asks {
        let response = site.ask(&ask.but("Accept", EVENTS)).await;
        assert_eq!(response.status, 200);
        let events = response.events();
        assert_eq!((events.len(), &events[0]["id"]), (1, &json!(1)), "{events:?}");
    }
    for ask in talking().into_iter().chain(talking_in(&session)) {
        let events = site.ask(&ask.but("Accept", EVENTS)).await.events();
        assert!(events.len() > 1, "{events:?}");
    }
    let opened = site.ask(&initialize("2025-11-25").but("Accept", EVENTS)).await;
    assert_eq!(opened.events()[0]["result"]["protocolVersion"], "2025-11-25");
    assert!(opened.header("mcp-session-id").is_some());
    let refused = site.ask(&modern("toolz/list", json!({})).but("Accept", EVENTS)).await;
    assert_eq!(refused.outcome(), (404, -32601), "a refusal has a status, and is JSON");
}

#[tokio::test]
async fn accept_is_honored_without_sessions() {
    let state = std::sync::Arc::default();
    let site = Site::serving(server(&state).into_service().stateless()).await;
    for ask in talking_in("any") {
        let ask = ask.without("Mcp-Session-Id");
        assert_eq!(site.ask(&ask.clone().but("Accept", JSON)).await.json()["id"], 1);
        assert!(site.ask(&ask.but("Accept", EVENTS)).await.events().len() > 1);
    }
    let add = call_in("any", 1, "add", &json!({"a": 1, "b": 2})).without("Mcp-Session-Id").but("Accept", EVENTS);
    assert_eq!(site.ask(&add).await.events().len(), 1);
}

#[tokio::test]
async fn accept_any_gets_a_stream_only_for_notifications() {
    let (site, _) = site().await;
    let asks = |ask: &Ask| [ask.clone().without("Accept"), ask.clone().but("Accept", "*/*"), ask.clone()];
    for talking in talking() {
        for ask in asks(&talking) {
            assert!(site.ask(&ask).await.events().len() > 1);
        }
    }
    for ask in asks(&call("add", &json!({"a": 1, "b": 2}))) {
        assert_eq!(site.ask(&ask).await.json()["id"], 1);
    }
}

/// The responses to a batch are one JSON text, or one event.
#[tokio::test]
async fn accept_decides_the_format_of_batch_responses() {
    let (site, _) = site().await;
    let session = site.session(Revision::V2025_03_26).await;
    let params = json!({"name": "steps", "arguments": {"n": 1}, "_meta": {"progressToken": 1}});
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
        {"jsonrpc": "2.0", "id": 2, "method": "ping"},
    ]);
    let answers = site.ask(&in_session(&session, &batch).but("Accept", JSON)).await.json();
    assert_eq!(answers.as_array().map(Vec::len), Some(2), "{answers}");
    let ping = json!([{"jsonrpc": "2.0", "id": 2, "method": "ping"}]);
    let events = site.ask(&in_session(&session, &ping).but("Accept", EVENTS)).await.events();
    assert_eq!(events, [json!([{"jsonrpc": "2.0", "id": 2, "result": {}}])]);
}
