//! What observers are told of requests on two streams: stdio, and the test client.

use std::sync::atomic::Ordering::SeqCst;

use mcp_runtime::Revision;
use mcp_runtime::observe::{Finished, Outcome, Transport};
use mcp_runtime::testing::TestClient;
use mcp_tests::http::until;
use serde_json::json;

use crate::recorder::{Recorder, watched};

async fn connect(revision: Revision) -> (TestClient, Recorder) {
    let (server, recorder, _) = watched();
    (TestClient::with_revision(server, revision).await.unwrap(), recorder)
}

#[tokio::test]
async fn call_is_told_once_with_all_that_is_known() {
    for &revision in Revision::ALL {
        let (server, recorder, _) = watched();
        let client = TestClient::builder(server).revision(revision).name("inspector").connect().await.unwrap();
        client.call("add", json!({"a": 1, "b": 2})).await.unwrap();
        let row = recorder.call().await;
        assert_eq!((row.method.as_str(), row.target.as_deref()), ("tools/call", Some("add")));
        assert_eq!((row.outcome, row.code, row.status), (Outcome::Answered, None, None));
        assert_eq!(row.transport, Transport::Stdio);
        assert_eq!(row.revision.as_deref(), Some(revision.as_str()));
        assert_eq!(row.client.unwrap().0, "inspector");
        assert!(row.bytes_in > 40 && row.bytes_out > 40, "{} {}", row.bytes_in, row.bytes_out);
        assert_eq!((row.user, row.session, row.error_type), (None, None, None));
    }
}

#[tokio::test]
async fn outcomes_are_told_apart() {
    for &revision in Revision::ALL {
        let (client, recorder) = connect(revision).await;
        for (tool, outcome, kind) in [
            ("add", Outcome::Refused, None),
            ("fail", Outcome::ToolError, Some("tool_error")),
            ("panic", Outcome::Panicked, Some("tool_error")),
            ("panic_later", Outcome::Panicked, Some("tool_error")),
            ("late", Outcome::TimedOut, Some("timeout")),
            ("fail_own", Outcome::Error, Some("4004")),
            ("nothing_of_that_name", Outcome::Refused, None),
        ] {
            let _ = client.call(tool, json!({})).await;
            let row = recorder.rows().pop().unwrap();
            assert_eq!((row.outcome, row.error_type.as_deref()), (outcome, kind), "{tool} in {revision}");
        }
        let _ = client.get_prompt("poem", json!({"about": "rain"})).await.unwrap();
        let row = recorder.rows().pop().unwrap();
        assert_eq!((row.target.as_deref(), row.outcome), (Some("poem"), Outcome::Answered));
        let _ = client.read("memo://7").await.unwrap();
        let row = recorder.rows().pop().unwrap();
        assert_eq!((row.target.as_deref(), row.uri.as_deref()), (Some("memo://{id}"), Some("memo://7")));
        let _ = client.request("example.com/own", json!({})).await.unwrap();
        assert_eq!(recorder.rows().pop().unwrap().method, "example.com/own");
    }
}

#[tokio::test]
async fn cancelled_call_is_told_once() {
    for &revision in Revision::ALL {
        let (server, recorder, state) = watched();
        let client = TestClient::with_revision(server, revision).await.unwrap();
        let call = client.start("sleep", json!({"ms": 600_000})).unwrap();
        until(|| state.begun.load(SeqCst) == 1).await;
        call.cancel().unwrap();
        let row = recorder.call().await;
        assert_eq!((row.outcome, row.error_type.as_deref()), (Outcome::Cancelled, Some("cancelled")), "{revision}");
        assert_eq!(row.bytes_out, 0);
        until(|| state.dropped.load(SeqCst) == 1).await;
        drop(call);
        drop(client);
        assert_eq!(recorder.call().await, row, "told once, also when the connection ends");
    }
}

#[tokio::test]
async fn call_of_a_client_that_leaves_is_told_once() {
    let (server, recorder, state) = watched();
    let mut limits = mcp_runtime::Limits::default();
    limits.eof_timeout = std::time::Duration::ZERO;
    let server = server.limits(limits);
    let client = TestClient::connect(server).await.unwrap();
    client.start("sleep", json!({"ms": 600_000})).map(std::mem::forget).unwrap();
    until(|| state.begun.load(SeqCst) == 1).await;
    drop(client);
    assert_eq!(recorder.call().await.outcome, Outcome::ClientGone);
}

#[tokio::test]
async fn refusals_are_told() {
    let (server, recorder, _) = watched();
    let client = TestClient::connect_raw(server);
    client.exchange("{").await.unwrap();
    client.exchange(r#"{"jsonrpc":"2.0","id":1}"#).await.unwrap();
    client.exchange(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#).await.unwrap();
    client
        .exchange(&format!(r#"{{"jsonrpc":"2.0","id":3,"method":"x","params":{}}}"#, "[".repeat(5000)))
        .await
        .unwrap();
    let rows = recorder.calls(4).await;
    assert!(rows.iter().all(|row| row.outcome == Outcome::Refused && row.bytes_out > 0 && row.revision.is_none()));
    let told: Vec<_> = rows.iter().map(|row| (row.method.as_str(), row.code)).collect();
    assert_eq!(told[0], ("_OTHER", Some(-32700)));
    assert_eq!(told[1], ("_OTHER", Some(-32600)));
    assert_eq!(told[2], ("tools/list", Some(-32602)));
    assert_eq!(told[3].0, "_OTHER");
}

#[tokio::test]
async fn every_element_of_a_batch_is_told() {
    let (client, recorder) = connect(Revision::V2025_03_26).await;
    let call = |id: u32, name: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{{"a":1,"b":2,"ms":1}}}}}}"#
        )
    };
    client.exchange(&format!("[{},{},{}]", call(1, "add"), call(2, "sleep"), call(3, "fail"))).await.unwrap();
    let mut targets: Vec<_> = recorder.calls(3).await.into_iter().filter_map(|row| row.target).collect();
    targets.sort();
    assert_eq!(targets, ["add", "fail", "sleep"]);
}

#[tokio::test]
async fn task_is_told_when_it_is_created() {
    let (server, recorder, _) = watched();
    let client = TestClient::builder(server).tasks().connect().await.unwrap();
    assert_eq!(client.call("work", json!({})).await.unwrap().text(), "worked");
    let rows = recorder.rows();
    let calls: Vec<_> = rows.iter().filter(|row| row.method == "tools/call").collect();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].outcome, Outcome::TaskCreated);
    assert!(rows.iter().any(|row| row.method == "tasks/get" && row.outcome == Outcome::Answered));
}

#[tokio::test]
async fn questions_are_told() {
    let (server, recorder, _) = watched();
    let client = TestClient::builder(server)
        .revision(Revision::V2025_11_25)
        .on_elicit(|_| json!({"name": "Ann"}))
        .connect()
        .await
        .unwrap();
    assert_eq!(client.call("greet", json!({})).await.unwrap().text(), "hello Ann");
    assert_eq!(recorder.asked_rows(), [("elicitation/create".to_owned(), Outcome::Answered, None)]);
    // Without sessions, a question is a result, and the answer another request.
    let (server, recorder, _) = watched();
    let client = TestClient::builder(server).on_elicit(|_| json!({"name": "Ann"})).connect().await.unwrap();
    assert_eq!(client.call("greet", json!({})).await.unwrap().text(), "hello Ann");
    let outcomes: Vec<_> = recorder.calls(2).await.iter().map(|row| row.outcome).collect();
    assert_eq!(outcomes, [Outcome::InputRequired, Outcome::Answered]);
    assert!(recorder.asked_rows().is_empty());
}

#[tokio::test]
async fn end_of_a_session_is_told() {
    let (client, recorder) = connect(Revision::V2025_11_25).await;
    assert!(recorder.ended().is_empty());
    client.close().await.unwrap();
    until(|| recorder.ended() == [Transport::Stdio]).await;
    let (client, recorder) = connect(Revision::V2026_07_28).await;
    client.list_tools().await.unwrap();
    client.close().await.unwrap();
    assert!(recorder.ended().is_empty(), "without sessions, none ends");
}

#[tokio::test]
async fn user_is_told() {
    let (server, recorder, _) = watched();
    let client = TestClient::builder(server).user("alice", ["all"]).connect().await.unwrap();
    client.call("add", json!({"a": 1, "b": 2})).await.unwrap();
    assert!(recorder.call().await.user.unwrap().contains("alice"));
}

#[tokio::test]
async fn panicking_observer_harms_nobody() {
    let recorder = Recorder::default();
    let (server, first, _) = watched();
    let server = server.observe(|_: &Finished<'_>| panic!("an observer")).observe(recorder.clone());
    let client = TestClient::connect(server).await.unwrap();
    for tool in ["add", "sleep"] {
        assert!(!client.call(tool, json!({"a": 1, "b": 2, "ms": 1})).await.unwrap().is_error());
    }
    assert_eq!(first.calls(2).await.len(), recorder.calls(2).await.len(), "the next observer is told");
}
