//! Builds that fail, children that exit, and clients that wait.

use std::time::Duration;

use serde_json::json;

use super::super::Note;
use super::{Bench, call, initialize, initialized, methods, modern, result};

#[test]
fn failed_build_is_the_error_of_one_call() {
    let mut bench = Bench::in_session(&["add"]);
    bench.session.build_failed("cargo build failed:\n\nerror[E0308]: mismatched types".to_owned());
    bench.client(&call(1));
    let read = bench.read();
    assert_eq!(read[0]["result"]["isError"], true);
    let text = read[0]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("E0308") && text.contains("still serving; repeat the call"), "{text}");
    assert!(read[0]["result"].get("resultType").is_none());
    bench.client(&call(2));
    assert_eq!(bench.read_child(1), [call(2)]);

    bench.session.build_failed("again".to_owned());
    bench.client(&modern(3, "tools/call", json!({ "name": "add" })));
    assert_eq!(bench.read()[0]["result"]["resultType"], "complete");
}

#[test]
fn build_that_works_clears_the_failure() {
    let mut bench = Bench::in_session(&["add"]);
    bench.session.build_failed("broken".to_owned());
    bench.swap(2, &["add"]);
    bench.client(&call(1));
    assert_eq!(bench.read_child(2).last(), Some(&call(1)));
    bench.session.build_failed("broken".to_owned());
    bench.session.build_unchanged();
    bench.client(&call(2));
    assert_eq!(bench.read_child(2), [call(2)]);
}

#[test]
fn failure_shown_to_a_model_is_bounded() {
    let mut bench = Bench::in_session(&["add"]);
    bench.session.build_failed("é".repeat(100_000));
    bench.client(&call(1));
    let text = bench.read()[0]["result"]["content"][0]["text"].as_str().unwrap().len();
    assert!(text < 7_000, "{text}");
}

#[test]
fn version_that_does_not_start_leaves_the_old_one_serving() {
    let mut bench = Bench::in_session(&["add"]);
    bench.start(2);
    bench.exit(2);
    assert!(matches!(bench.notes.last(), Some(Note::Error(text)) if text.contains("exit status: 101")));
    bench.client(&call(1));
    assert_eq!(bench.read()[0]["result"]["isError"], true);
    bench.client(&call(2));
    bench.child(1, &result(2));
    assert_eq!(bench.read(), [result(2)]);

    // Refused, and silent.
    bench.start(3);
    let request = bench.read_child(3).remove(0);
    bench.child(3, &json!({ "jsonrpc": "2.0", "id": request["id"], "error": { "code": 1, "message": "no" } }));
    assert!(matches!(bench.notes.last(), Some(Note::Error(text)) if text.contains("refused `initialize`: no")));
    bench.start(4);
    bench.pass(Duration::from_secs(31));
    assert!(matches!(bench.notes.last(), Some(Note::Error(text)) if text.contains("within 30 s")));
    assert_eq!(bench.closed, [3, 4]);
}

#[test]
fn version_that_does_not_list_in_time_serves() {
    let mut bench = Bench::in_session(&["add"]);
    bench.start(2);
    let request = bench.read_child(2).remove(0);
    bench.child(2, &initialized(&request["id"]));
    bench.pass(Duration::from_secs(31));
    let announced = bench.read();
    assert_eq!(announced.len(), 3, "what is unknown may have changed: {announced:?}");
    bench.client(&call(1));
    assert_eq!(bench.read_child(2).last(), Some(&call(1)));
}

#[test]
fn exit_is_the_error_of_calls_in_flight_and_the_next_message_starts_again() {
    let mut bench = Bench::in_session(&["add"]);
    bench.client(&call(1));
    let ask = json!({ "jsonrpc": "2.0", "id": 1, "method": "roots/list" });
    bench.child(1, &ask);
    let asked = bench.read();
    bench.exit(1);
    let read = bench.read();
    assert!(read[0]["error"]["message"].as_str().unwrap().contains("exit status: 101"));
    assert_eq!(read[1]["params"]["requestId"], asked[0]["id"], "nobody waits for the client's answer");
    assert!(bench.starts.is_empty());
    bench.client(&call(2));
    bench.client(&call(3));
    assert_eq!(bench.starts, [Duration::ZERO]);
    bench.swap(2, &["add"]);
    assert_eq!(bench.notes.last(), Some(&Note::Restarted));
    assert_eq!(bench.read_child(2)[1..], [call(2), call(3)]);
    assert!(bench.read().is_empty(), "the lists are the same");
}

#[test]
fn restarts_wait_longer_and_longer() {
    let mut bench = Bench::in_session(&["add"]);
    for child in 1..12 {
        bench.exit(child);
        bench.client(&call(child));
        bench.start(child + 1);
        bench.read_child(child + 1);
    }
    assert_eq!(bench.starts[0], Duration::ZERO);
    assert!(bench.starts.windows(2).all(|pair| pair[0] <= pair[1]), "{:?}", bench.starts);
    assert_eq!(bench.starts.last(), Some(&Duration::from_secs(30)));
    let errors = bench.read().iter().filter(|message| message["error"].is_object()).count();
    assert_eq!(errors, 10, "requests of a version that does not start are answered");
}

#[test]
fn first_requests_wait_for_the_first_build() {
    let mut bench = Bench::new();
    bench.client(&initialize());
    assert!(bench.session.is_waiting());
    bench.pass(Duration::from_secs(49));
    assert!(bench.read().is_empty());
    bench.start(1);
    assert_eq!(bench.read_child(1), [initialize()]);
    bench.child(1, &initialized(&json!(0)));
    assert_eq!(bench.read()[0]["id"], 0);
}

#[test]
fn first_request_is_answered_before_the_client_gives_up() {
    let mut bench = Bench::new();
    bench.client(&initialize());
    bench.session.build_failed("cargo build failed:\n\nerror: expected `;`".to_owned());
    bench.pass(Duration::from_secs(50));
    let read = bench.read();
    assert_eq!(read[0]["id"], 0);
    assert!(read[0]["error"]["message"].as_str().unwrap().contains("expected `;`"), "{read:?}");
    bench.start(1);
    assert!(bench.read_child(1).is_empty(), "it was answered");
}

#[test]
fn request_that_waits_can_be_cancelled() {
    let mut bench = Bench::new();
    bench.client(&call(1));
    bench.client(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }));
    bench.start(1);
    assert!(methods(&bench.read_child(1)).is_empty());
    assert!(bench.read().is_empty());
}

#[test]
fn requests_of_a_batch_that_waits_are_answered() {
    let mut bench = Bench::new();
    bench.client(&json!([call(1), call(2)]));
    assert!(bench.session.is_waiting());
    bench.pass(Duration::from_secs(50));
    let ids = |read: &[serde_json::Value]| read.iter().map(|error| error["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&bench.read()), [1, 2]);

    // The version that they wait for does not start.
    let mut bench = Bench::in_session(&["add"]);
    bench.exit(1);
    bench.client(&json!([call(3), call(4)]));
    bench.client(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 4 } }));
    bench.start(2);
    bench.exit(2);
    assert_eq!(ids(&bench.read()), [3]);
    assert!(bench.session.calls.is_empty());
}

#[test]
fn batches_count_as_requests_in_flight() {
    let mut bench = Bench::in_session(&["add"]);
    let batch: Vec<_> = (1..=super::super::ENTRIES as u64 + 1).map(call).collect();
    bench.client(&json!(batch));
    let read = bench.read();
    assert_eq!(read.len(), 1);
    assert_eq!(read[0]["id"], super::super::ENTRIES + 1);
    assert_eq!(bench.read_child(1)[0].as_array().map(Vec::len), Some(super::super::ENTRIES));
}
