//! Sessions over a swap: what is replayed, what is announced, where calls and answers go.

use std::time::Duration;

use serde_json::json;

use super::super::{Note, Session};
use super::{Bench, call, initialize, initialized, methods, result};

#[test]
fn lists_are_announced_though_the_server_promises_no_changes() {
    let mut bench = Bench::new();
    bench.start(1);
    bench.client(&initialize());
    bench.child(1, &initialized(&json!(0)));
    let answer = &bench.read()[0];
    assert_eq!(
        answer["result"]["capabilities"],
        json!({ "tools": { "listChanged": true }, "prompts": { "listChanged": true },
                "resources": { "listChanged": true } })
    );
}

#[test]
fn list_the_server_does_not_know_is_empty() {
    let mut bench = Bench::in_session(&[]);
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "prompts/list" });
    bench.client(&request);
    bench.child(1, &json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32601, "message": "unknown" } }));
    assert_eq!(bench.read(), [json!({ "jsonrpc": "2.0", "id": 1, "result": { "prompts": [] } })]);
}

#[test]
fn handshake_level_and_subscriptions_are_replayed() {
    let mut bench = Bench::in_session(&["add"]);
    let level = json!({ "jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": { "level": "debug" } });
    let subscribe = |id: u64, method: &str, uri: &str| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": { "uri": uri } });
    for (id, message) in [
        (1, level),
        (2, subscribe(2, "resources/subscribe", "memo://a")),
        (3, subscribe(3, "resources/subscribe", "memo://b")),
        (4, subscribe(4, "resources/unsubscribe", "memo://a")),
    ] {
        bench.client(&message);
        bench.child(1, &json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
    }
    // A subscription that was refused is not replayed.
    bench.client(&subscribe(5, "resources/subscribe", "memo://unknown"));
    bench.child(1, &json!({ "jsonrpc": "2.0", "id": 5, "error": { "code": -32002, "message": "unknown" } }));
    bench.read();
    bench.read_child(1);

    bench.start(2);
    let replayed = bench.read_child(2);
    assert_eq!(methods(&replayed), ["initialize"]);
    assert_eq!(replayed[0]["params"], initialize()["params"]);
    bench.child(2, &initialized(&replayed[0]["id"]));
    bench.answer_lists(2, &["add"]);
    let replayed = bench.read_child(2);
    assert_eq!(methods(&replayed), ["notifications/initialized", "logging/setLevel", "resources/subscribe"]);
    assert_eq!(replayed[1]["params"], json!({ "level": "debug" }));
    assert_eq!(replayed[2]["params"], json!({ "uri": "memo://b" }));
    // Until all of that is answered, the old child serves.
    bench.client(&call(6));
    assert_eq!(bench.read_child(1), [call(6)]);
    bench.child(2, &json!({ "jsonrpc": "2.0", "id": replayed[1]["id"], "result": {} }));
    bench.child(2, &json!({ "jsonrpc": "2.0", "id": replayed[2]["id"], "result": {} }));
    bench.client(&call(7));
    assert_eq!(bench.read_child(2), [call(7)]);
    let updated = json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated",
                          "params": { "uri": "memo://b" } });
    assert_eq!(bench.read(), [updated], "answers to the supervisor do not reach the client");
}

#[test]
fn changed_lists_are_announced() {
    let mut bench = Bench::in_session(&["add"]);
    bench.swap(2, &["add", "count"]);
    assert_eq!(methods(&bench.read()), ["notifications/tools/list_changed"]);
    let Some(Note::Swapped(_, changes)) = bench.notes.last() else { panic!("{:?}", bench.notes) };
    assert_eq!(changes, "+ tool `count`");
    assert_eq!(bench.closed, [1], "nothing was in flight");
    // The same lists once more: nothing to announce.
    bench.swap(3, &["add", "count"]);
    assert!(bench.read().is_empty());
}

#[test]
fn list_that_the_server_changed_itself_is_announced() {
    let mut bench = Bench::in_session(&["add"]);
    let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    bench.child(1, &changed);
    assert_eq!(bench.read(), [changed]);
    bench.swap(2, &["add"]);
    assert_eq!(methods(&bench.read()), ["notifications/tools/list_changed"]);
}

#[test]
fn calls_in_flight_finish_on_the_old_child() {
    let mut bench = Bench::in_session(&["add"]);
    bench.client(&call(1));
    bench.swap(2, &["add"]);
    bench.client(&call(2));
    bench.child(
        1,
        &json!({ "jsonrpc": "2.0", "method": "notifications/progress",
                             "params": { "progressToken": "p", "progress": 1 } }),
    );
    bench.child(2, &result(2));
    assert!(bench.closed.is_empty());
    bench.child(1, &result(1));
    assert_eq!(bench.closed, [1]);
    let read = bench.read();
    assert_eq!(methods(&read), ["notifications/progress"]);
    assert_eq!(read[1..], [result(2), result(1)]);
}

#[test]
fn old_child_has_a_bounded_time() {
    let mut bench = Bench::in_session(&["add"]);
    bench.client(&call(1));
    bench.swap(2, &["add"]);
    bench.pass(Duration::from_secs(29));
    assert!(bench.read().is_empty());
    bench.pass(Duration::from_secs(1));
    let read = bench.read();
    assert_eq!(read[0]["id"], 1);
    assert!(read[0]["error"]["message"].as_str().unwrap().contains("within 30 s"), "{read:?}");
    assert_eq!(bench.closed, [1]);
    bench.child(1, &result(1));
    assert!(bench.read().is_empty(), "a request is answered once");
}

#[test]
fn cancellation_goes_to_the_child_that_has_the_call() {
    let mut bench = Bench::in_session(&["add"]);
    bench.client(&call(1));
    bench.swap(2, &["add"]);
    bench.read_child(1);
    bench.read_child(2);
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    bench.client(&cancel);
    assert_eq!(bench.read_child(1), [cancel]);
    assert_eq!(bench.read_child(2), Vec::<serde_json::Value>::new());
    assert_eq!(bench.closed, [1], "a cancelled call is not waited for");
}

#[test]
fn requests_of_two_children_keep_apart() {
    let mut bench = Bench::in_session(&["add"]);
    bench.client(&call(1));
    bench.swap(2, &["add"]);
    bench.client(&call(2));
    let ask = json!({ "jsonrpc": "2.0", "id": "s-1", "method": "elicitation/create", "params": { "message": "?" } });
    bench.child(1, &ask);
    bench.child(2, &ask);
    let asked = bench.read();
    assert_ne!(asked[0]["id"], asked[1]["id"]);
    assert_eq!(asked[0]["params"], ask["params"]);
    bench.read_child(1);
    bench.read_child(2);
    for (index, child) in [(1, 2), (0, 1)] {
        bench.client(&json!({ "jsonrpc": "2.0", "id": asked[index]["id"], "result": { "action": "decline" } }));
        let answer = json!({ "jsonrpc": "2.0", "id": "s-1", "result": { "action": "decline" } });
        assert_eq!(bench.read_child(child), [answer]);
    }
    // A child that gives up its request names it as the client knows it.
    bench.child(2, &ask);
    let asked = bench.read();
    bench.child(2, &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "s-1" } }));
    assert_eq!(bench.read()[0]["params"]["requestId"], asked[0]["id"]);
}

#[test]
fn late_cancellation_of_a_child_does_not_touch_the_client_s_calls() {
    let mut bench = Bench::in_session(&["add"]);
    bench.client(&call(1));
    bench.child(1, &json!({ "jsonrpc": "2.0", "id": 1, "method": "roots/list" }));
    let asked = bench.read();
    bench.client(&json!({ "jsonrpc": "2.0", "id": asked[0]["id"], "result": { "roots": [] } }));
    bench.child(1, &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }));
    assert!(bench.read().is_empty(), "the client has answered");
    bench.child(1, &result(1));
    assert_eq!(bench.read(), [result(1)]);
}

#[test]
fn answer_to_a_child_that_is_gone_reaches_no_other() {
    let mut bench = Bench::in_session(&["add"]);
    bench.child(1, &json!({ "jsonrpc": "2.0", "id": "s-1", "method": "roots/list" }));
    let asked = bench.read();
    bench.swap(2, &["add"]);
    assert_eq!(bench.closed, [1]);
    bench.read_child(2);
    bench.client(&json!({ "jsonrpc": "2.0", "id": asked[0]["id"], "result": { "roots": [] } }));
    assert!(bench.read_child(2).is_empty());
}

#[test]
fn subscription_made_during_a_swap_reaches_both_children() {
    let mut bench = Bench::in_session(&["add"]);
    bench.client(
        &json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": { "uri": "memo://a" } }),
    );
    bench.swap(2, &["add"]);
    bench.read_child(2);
    bench.child(1, &json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
    assert_eq!(bench.read_child(2)[0]["params"], json!({ "uri": "memo://a" }));
}

#[test]
fn swap_waits_for_a_handshake_in_flight() {
    let mut bench = Bench::new();
    bench.start(1);
    bench.client(&initialize());
    bench.start(2);
    assert!(bench.read_child(2).is_empty());
    bench.child(1, &initialized(&json!(0)));
    assert_eq!(bench.read()[0]["id"], 0);
    let replayed = bench.read_child(2);
    assert_eq!(methods(&replayed), ["initialize"]);
    bench.child(2, &initialized(&replayed[0]["id"]));
    bench.client(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    assert_eq!(methods(&bench.read_child(2))[0], "notifications/initialized");
}

#[test]
fn handshake_that_is_not_answered_does_not_hold_up_a_swap_for_ever() {
    let mut bench = Bench::new();
    bench.start(1);
    bench.client(&initialize());
    bench.start(2);
    bench.pass(Duration::from_secs(30));
    let read = bench.read();
    assert_eq!(read[0]["id"], 0);
    assert!(read[0]["error"]["message"].as_str().unwrap().contains("connect again"), "{read:?}");
    bench.child(1, &initialized(&json!(0)));
    assert!(bench.read().is_empty(), "a late answer opens no session that the new child does not know");
    bench.client(&initialize());
    assert_eq!(bench.read_child(2), [initialize()]);
}

#[test]
fn questions_of_a_build_that_is_replaced_are_cancelled() {
    let mut bench = Bench::in_session(&["add"]);
    bench.start(2);
    bench.child(2, &json!({ "jsonrpc": "2.0", "id": 1, "method": "roots/list" }));
    let asked = bench.read();
    bench.start(3);
    let read = bench.read();
    assert_eq!(methods(&read), ["notifications/cancelled"]);
    assert_eq!(read[0]["params"]["requestId"], asked[0]["id"]);
}

#[test]
fn newer_build_replaces_one_that_does_not_serve_yet() {
    let mut bench = Bench::in_session(&["add"]);
    bench.start(2);
    bench.swap(3, &["add"]);
    assert_eq!(bench.closed, [2, 1]);
}

#[test]
fn too_many_old_children_are_ended() {
    let mut bench = Bench::in_session(&["add"]);
    for child in 2..8 {
        bench.client(&call(child));
        bench.swap(child, &["add"]);
    }
    assert_eq!(bench.closed, [1, 2]);
    assert_eq!(bench.read().iter().filter(|message| message["error"].is_object()).count(), 2);
}

#[test]
fn batches_are_passed_on_and_tracked() {
    let mut bench = Bench::in_session(&["add"]);
    bench.client(&json!([call(1), call(2)]));
    assert_eq!(bench.read_child(1), [json!([call(1), call(2)])]);
    bench.swap(2, &["add"]);
    assert!(bench.closed.is_empty(), "the batch is in flight");
    bench.child(1, &json!([result(1), result(2)]));
    assert_eq!(bench.read(), [json!([result(1), result(2)])]);
    assert_eq!(bench.closed, [1]);
}

#[test]
fn batch_that_changes_the_session_reaches_a_newer_child() {
    let mut bench = Bench::in_session(&["add"]);
    let level = json!({ "jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": { "level": "debug" } });
    bench.client(&json!([level]));
    bench.swap(2, &["add"]);
    bench.read_child(2);
    let answer = json!([{ "jsonrpc": "2.0", "id": 1, "result": {} }]);
    bench.child(1, &answer);
    assert_eq!(bench.read(), [answer]);
    assert_eq!(methods(&bench.read_child(2)), ["logging/setLevel"]);
}

#[test]
fn bytes_of_a_message_are_kept() {
    let mut session = Session::new();
    let now = std::time::Instant::now();
    session.started(1, now, now);
    session.take();
    let line =
        r#"{ "id":"\u0031", "method":"tools/call" ,"jsonrpc":"2.0","params":{"n":1.50,"big":12345678901234567890123}}"#;
    session.client_line(line, now);
    assert_eq!(session.take(), [super::Action::ToChild(1, line.to_owned())]);
    let answer = r#"{"result":{"content":[],"n":1.50}, "id":"1","jsonrpc":"2.0"}"#;
    session.child_line(1, answer, now);
    assert_eq!(session.take(), [super::Action::ToClient(answer.to_owned())]);
}

#[test]
fn malformed_lines_are_passed_through() {
    let mut session = Session::new();
    let now = std::time::Instant::now();
    session.started(1, now, now);
    session.take();
    session.client_line("{not json", now);
    assert_eq!(session.take(), [super::Action::ToChild(1, "{not json".to_owned())]);
    session.child_line(1, "debug output", now);
    let actions = session.take();
    assert!(matches!(&actions[0], super::Action::Say(Note::Warning(text)) if text.contains("eprintln!")));
    assert_eq!(actions[1], super::Action::ToClient("debug output".to_owned()));
}
