//! 2026-07-28 over a swap: requests without a session, and `subscriptions/listen` streams.

use serde_json::{Value, json};

use super::{Bench, methods, modern};

fn listen(id: u64) -> Value {
    let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": ["memo://a"] });
    modern(id, "subscriptions/listen", json!({ "notifications": filter }))
}

fn on_stream(id: u64, method: &str, agreed: Option<Value>) -> Value {
    let mut params = json!({ "_meta": { "io.modelcontextprotocol/subscriptionId": id } });
    if let Some(agreed) = agreed {
        params["notifications"] = agreed;
    }
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

fn acknowledged(id: u64) -> Value {
    let agreed = json!({ "resourceSubscriptions": ["memo://a"] });
    on_stream(id, "notifications/subscriptions/acknowledged", Some(agreed))
}

/// A stream that the first child acknowledged.
fn listening() -> Bench {
    let mut bench = Bench::new();
    bench.start(1);
    bench.client(&listen(7));
    bench.answer_lists(1, &["add"]);
    bench.child(1, &acknowledged(7));
    bench
}

#[test]
fn stream_moves_to_the_new_child() {
    let mut bench = listening();
    let read = bench.read();
    assert_eq!(
        read[0]["params"]["notifications"],
        json!({ "resourceSubscriptions": ["memo://a"], "toolsListChanged": true }),
        "the supervisor announces what the server does not"
    );
    bench.read_child(1);
    bench.swap(2, &["add", "count"]);
    assert_eq!(bench.read_child(2), [listen(7)]);
    let old = bench.read_child(1);
    assert_eq!(old[0]["params"], json!({ "requestId": 7 }), "the old stream is cancelled");
    assert_eq!(bench.closed, [1]);
    let read = bench.read();
    assert_eq!(methods(&read), ["notifications/tools/list_changed", "notifications/resources/updated"]);
    assert_eq!(read[0], on_stream(7, "notifications/tools/list_changed", None));
    assert_eq!(read[1]["params"]["uri"], "memo://a");

    bench.child(2, &acknowledged(7));
    assert!(bench.read().is_empty(), "a stream is acknowledged once");
    let changed = on_stream(7, "notifications/tools/list_changed", None);
    bench.child(2, &changed);
    assert_eq!(bench.read(), [changed]);
}

#[test]
fn end_of_the_old_stream_is_no_end() {
    let mut bench = listening();
    bench.client(&modern(8, "tools/call", json!({ "name": "add" })));
    bench.swap(2, &["add"]);
    bench.read();
    bench.child(1, &json!({ "jsonrpc": "2.0", "id": 7, "result": { "resultType": "complete" } }));
    bench.child(1, &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } }));
    bench.child(1, &on_stream(7, "notifications/tools/list_changed", None));
    assert!(bench.read().is_empty());
    let end = json!({ "jsonrpc": "2.0", "id": 7, "result": { "resultType": "complete" } });
    bench.child(2, &end);
    assert_eq!(bench.read(), [end]);
}

#[test]
fn stream_the_server_does_not_know_is_held_by_the_supervisor() {
    let mut bench = Bench::new();
    bench.start(1);
    bench.client(&listen(7));
    bench.answer_lists(1, &["add"]);
    let unknown = json!({ "jsonrpc": "2.0", "id": 7, "error": { "code": -32601, "message": "unknown" } });
    bench.child(1, &unknown);
    let agreed = json!({ "toolsListChanged": true });
    assert_eq!(bench.read(), [on_stream(7, "notifications/subscriptions/acknowledged", Some(agreed))]);
    bench.swap(2, &["count"]);
    bench.child(2, &unknown);
    assert_eq!(bench.read()[0], on_stream(7, "notifications/tools/list_changed", None));
    bench.swap(3, &["add"]);
    assert_eq!(bench.read()[0], on_stream(7, "notifications/tools/list_changed", None));
}

#[test]
fn cancelled_stream_is_not_opened_again() {
    let mut bench = listening();
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } });
    bench.client(&cancel);
    assert!(bench.read_child(1).contains(&cancel));
    bench.read();
    bench.swap(2, &["count"]);
    assert!(bench.read_child(2).is_empty());
    assert!(bench.read().is_empty());
}

#[test]
fn stream_opened_before_the_first_child_is_opened_once() {
    let mut bench = Bench::new();
    bench.client(&listen(7));
    bench.swap(1, &["add"]);
    assert_eq!(bench.read_child(1), [listen(7)]);
}

#[test]
fn stream_survives_a_crash() {
    let mut bench = listening();
    bench.read();
    bench.exit(1);
    assert!(bench.read().is_empty());
    bench.client(&modern(8, "tools/list", json!({})));
    assert_eq!(bench.starts.len(), 1);
    bench.swap(2, &["add"]);
    let read = bench.read_child(2);
    assert_eq!(methods(&read), ["tools/list", "subscriptions/listen"]);
    assert_eq!(methods(&bench.read()), ["notifications/resources/updated"], "the tools are the same");
}

#[test]
fn discovery_announces_lists() {
    let mut bench = Bench::new();
    bench.start(1);
    bench.client(&modern(1, "server/discover", json!({})));
    bench.child(1, &json!({ "jsonrpc": "2.0", "id": 1, "result": { "capabilities": {}, "ttlMs": 0 } }));
    assert_eq!(bench.read()[0]["result"]["capabilities"]["prompts"], json!({ "listChanged": true }));
    bench.client(&modern(2, "resources/templates/list", json!({})));
    bench.child(1, &json!({ "jsonrpc": "2.0", "id": 2, "error": { "code": -32601, "message": "unknown" } }));
    let empty = json!({ "resultType": "complete", "resourceTemplates": [], "ttlMs": 0, "cacheScope": "private" });
    assert_eq!(bench.read()[0]["result"], empty);
}
