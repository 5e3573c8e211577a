//! Change notifications, on the stream of a session and on streams of `subscriptions/listen`.

use mcp_runtime::{Revision, prelude::*};
use mcp_tests::http::server::{SESSIONS, extra, site};
use mcp_tests::http::{Wire, call, call_in, in_session, modern, soon, stream_of};
use serde_json::Value;

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The method of the next event.
async fn told(wire: &mut Wire) -> String {
    wire.event().await.expect("the stream is over")["method"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn session_stream_carries_change_notifications() {
    for revision in SESSIONS {
        let (site, _) = site().await;
        let session = site.session(revision).await;
        let (head, mut stream) = site.begin(&stream_of(&session)).await;
        assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")), "{revision}");

        site.handle.tools().add(tools![extra]).unwrap();
        assert_eq!(told(&mut stream).await, "notifications/tools/list_changed", "{revision}");
        site.handle.prompts().disable("greet");
        assert_eq!(told(&mut stream).await, "notifications/prompts/list_changed");
        site.handle.resources().disable("note://{id}");
        assert_eq!(told(&mut stream).await, "notifications/resources/list_changed");

        // Not subscribed to yet.
        assert_eq!(site.ask(&call_in(&session, 1, "change", &json!({}))).await.outcome(), (200, 0));
        let uri = json!({"uri": "weather://now"});
        let subscribe = json!({"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": uri});
        assert_eq!(site.ask(&in_session(&session, &subscribe)).await.outcome(), (200, 0));
        let response = site.ask(&call_in(&session, 3, "change", &json!({}))).await;
        assert_eq!(response.header("content-type"), Some("application/json"), "told there and not here");
        let event = stream.event().await.unwrap();
        assert_eq!(event["method"], "notifications/resources/updated");
        assert_eq!(event["params"], json!({"uri": "weather://now"}));
        assert_eq!(event.get("id"), None);

        let unsubscribe = json!({"jsonrpc": "2.0", "id": 4, "method": "resources/unsubscribe", "params": uri});
        assert_eq!(site.ask(&in_session(&session, &unsubscribe)).await.outcome(), (200, 0));
        site.ask(&call_in(&session, 5, "change", &json!({}))).await;
        site.handle.tools().remove("extra");
        assert_eq!(told(&mut stream).await, "notifications/tools/list_changed", "and nothing of the weather");
    }
}

#[tokio::test]
async fn changes_before_the_stream_are_sent_once_it_opens() {
    let (site, _) = site().await;
    let session = site.session(Revision::V2025_06_18).await;
    for _ in 0..100 {
        site.handle.tools().disable("add");
        site.handle.tools().enable("add");
    }
    let (_, mut stream) = site.begin(&stream_of(&session)).await;
    assert_eq!(told(&mut stream).await, "notifications/tools/list_changed");
    site.handle.prompts().disable("greet");
    assert_eq!(told(&mut stream).await, "notifications/prompts/list_changed");
}

/// Opens a stream, and reads its acknowledgement.
async fn listen(site: &mcp_tests::http::Site, filter: Value) -> (Value, Wire) {
    let (head, mut wire) = site.begin(&modern("subscriptions/listen", json!({"notifications": filter}))).await;
    assert_eq!(head.status, 200, "{head:?}");
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    assert_eq!(head.header("cache-control"), Some("no-cache, no-transform"));
    assert_eq!(head.header("x-accel-buffering"), Some("no"));
    let acknowledged = wire.event().await.unwrap();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["_meta"][SUBSCRIPTION].to_string().trim_matches('"'), "1");
    (acknowledged["params"]["notifications"].clone(), wire)
}

#[tokio::test]
async fn listen_stream_carries_what_was_subscribed() {
    let (site, _) = site().await;
    let (agreed, mut tools) = listen(&site, json!({"toolsListChanged": true, "whatever": true})).await;
    assert_eq!(agreed, json!({"toolsListChanged": true}));
    let wanted =
        json!({"promptsListChanged": true, "resourceSubscriptions": ["weather://now", "note://1", "no://where"]});
    let (agreed, mut others) = listen(&site, wanted).await;
    assert_eq!(agreed["promptsListChanged"], true);
    assert_eq!(agreed["resourceSubscriptions"][0], "weather://now");
    assert!(!agreed.to_string().contains("no://where"), "{agreed}");

    site.handle.resources().disable("note://{id}");
    site.handle.tools().add(tools![extra]).unwrap();
    site.handle.prompts().disable("greet");
    site.ask(&call("change", &json!({}))).await;
    assert_eq!(told(&mut tools).await, "notifications/tools/list_changed");
    assert_eq!(told(&mut others).await, "notifications/prompts/list_changed");
    let updated = others.event().await.unwrap();
    assert_eq!(updated["params"]["uri"], "weather://now");
    assert!(!updated["params"]["_meta"][SUBSCRIPTION].is_null(), "{updated}");
}

#[tokio::test]
async fn listen_stream_ends_with_a_result_at_shutdown() {
    let (site, _) = site().await;
    let (_, mut wire) = listen(&site, json!({"toolsListChanged": true})).await;
    // What changed just before is told yet.
    site.handle.tools().add(tools![extra]).unwrap();
    let handle = site.handle.clone();
    let closing = tokio::spawn(async move { handle.shutdown().await });
    assert_eq!(told(&mut wire).await, "notifications/tools/list_changed");
    let result = wire.event().await.unwrap();
    assert_eq!(result["id"], 1);
    assert_eq!(result["result"]["resultType"], "complete");
    assert_eq!(wire.event().await, None);
    assert!(wire.is_closed().await);
    soon(closing).await.unwrap();
    soon(site.serving).await.unwrap().unwrap();
}

#[tokio::test]
async fn invalid_listen_requests_are_rejected() {
    let (site, _) = site().await;
    let listen = |params| modern("subscriptions/listen", params);
    assert_eq!(site.ask(&listen(json!({}))).await.outcome(), (200, -32602));
    assert_eq!(site.ask(&listen(json!({"notifications": []}))).await.outcome(), (200, -32602));
    let many: Vec<_> = (0..300).map(|number| format!("note://{number}")).collect();
    let too_many = json!({"notifications": {"resourceSubscriptions": many}});
    assert_eq!(site.ask(&listen(too_many)).await.outcome(), (200, -32603));
}
