//! The status that observers are told is that of the HTTP response: of a batch, and of calls that are refused only after
//! they had to wait.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use mcp_runtime::layers::{Call, Next, Outcome as Answer};
use mcp_runtime::observe::{Outcome, Transport};
use mcp_runtime::prelude::*;
use mcp_runtime::{Limits, RateLimit, Revision};
use mcp_tests::http::{Ask, Response, Site, Wire, call, in_session, modern, until};
use serde_json::Value;

use crate::recorder::{Recorder, Row, watched};

/// Calls its tool only when the call has been polled before, and needs a thread for it then.
async fn late(call: Call, next: Next) -> Answer {
    tokio::time::sleep(Duration::from_millis(1)).await;
    next.run(call).await
}

/// The same, and tells the client before.
async fn loud(call: Call, next: Next) -> Answer {
    call.ctx().progress(1, 2).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    // The report is on its way when this is polled again.
    tokio::task::yield_now().await;
    next.run(call).await
}

/// Needs a thread.
#[tool(blocking, layer = late)]
fn quiet_step() {}

/// Needs a thread, and tells the client before it has one.
#[tool(blocking, layer = loud)]
fn loud_step() {}

/// A site whose only thread for blocking handlers is taken, as long as the connection exists.
async fn without_threads() -> (Site, Recorder, Wire) {
    let (server, recorder, state) = watched();
    let mut limits = Limits::default();
    limits.in_flight = 1;
    let service = server.tools(tools![quiet_step, loud_step]).limits(limits).into_service().legacy_sse();
    let site = Site::serving(service).await;
    let mut wire = site.open().await;
    wire.send(&call("block", &json!({})).bytes()).await;
    until(|| state.begun.load(SeqCst) == 1).await;
    (site, recorder, wire)
}

fn step(name: &str) -> Value {
    json!({"name": name, "arguments": {}, "_meta": {"progressToken": 1}})
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[track_caller]
fn is_refused(row: &Row, transport: Transport, status: u16) {
    assert_eq!((row.outcome, row.code), (Outcome::Refused, Some(-32000)), "{row:?}");
    assert_eq!((row.transport, row.status), (transport, Some(status)), "{row:?}");
}

#[track_caller]
fn is_busy(response: &Response) {
    assert_eq!((response.outcome(), response.header("retry-after")), ((503, -32000), Some("1")), "{response:?}");
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(response.json()["error"]["data"]["retryAfterMs"], 1000);
}

/// A call of 2026-07-28, or one in a session.
async fn ask(site: &Site, transport: Transport, name: &str) -> Response {
    if transport == Transport::Http {
        return site.ask(&modern("tools/call", step(name))).await;
    }
    let session = site.session(Revision::V2025_11_25).await;
    site.ask(&in_session(&session, &request(1, "tools/call", &step(name)))).await
}

#[tokio::test]
async fn call_refused_later_has_the_status_of_a_refusal() {
    for transport in [Transport::Http, Transport::HttpSession] {
        // A new one each time: of a handler that took long, the next call begins on a thread.
        let (site, recorder, _wire) = without_threads().await;
        is_busy(&ask(&site, transport, "quiet_step").await);
        is_refused(&recorder.call().await, transport, 503);
    }
}

#[tokio::test]
async fn call_refused_behind_a_notification_has_status_200() {
    for transport in [Transport::Http, Transport::HttpSession] {
        let (site, recorder, _wire) = without_threads().await;
        let response = ask(&site, transport, "loud_step").await;
        assert_eq!((response.status, response.header("retry-after")), (200, None), "{transport}: {response:?}");
        assert_eq!(response.events().pop().unwrap()["error"]["code"], -32000);
        is_refused(&recorder.call().await, transport, 200);
    }
}

#[tokio::test]
async fn server_without_sessions_answers_the_same() {
    let (server, recorder, state) = watched();
    let mut limits = Limits::default();
    limits.in_flight = 1;
    let site =
        Site::serving(server.tools(tools![quiet_step, loud_step]).limits(limits).into_service().stateless()).await;
    let mut wire = site.open().await;
    wire.send(&call("block", &json!({})).bytes()).await;
    until(|| state.begun.load(SeqCst) == 1).await;
    let ask =
        |name| Ask::post(request(1, "tools/call", &step(name)).to_string()).with("MCP-Protocol-Version", "2025-06-18");
    is_busy(&site.ask(&ask("quiet_step")).await);
    is_refused(&recorder.call().await, Transport::Http, 503);
    assert_eq!(site.ask(&ask("loud_step")).await.status, 200);
    is_refused(&recorder.calls(2).await[1], Transport::Http, 200);
}

#[tokio::test]
async fn refused_elements_of_a_batch_have_its_status() {
    let (server, recorder, _) = watched();
    let site = Site::of(server.rate_limit(RateLimit::per_hour(1))).await;
    let session = site.session(Revision::V2025_03_26).await;
    let sum = json!({"name": "add", "arguments": {"a": 1, "b": 2}});
    let batch = json!([request(1, "tools/call", &sum), request(2, "tools/call", &sum), {"jsonrpc": "2.0", "id": 3}]);
    assert_eq!(site.ask(&in_session(&session, &batch)).await.status, 200);
    let rows = recorder.calls(3).await;
    let told: Vec<_> = rows.iter().map(|row| (row.outcome, row.code, row.status)).collect();
    let refused = |code| (Outcome::Refused, Some(code), Some(200));
    assert_eq!(told, [(Outcome::Answered, None, Some(200)), refused(-32000), refused(-32600)]);
    // A batch that is refused as a whole has a status of its own.
    assert_eq!(site.ask(&in_session(&session, &json!([]))).await.status, 400);
    assert_eq!(recorder.calls(4).await[3].status, Some(400));
}

#[tokio::test]
async fn elements_of_a_batch_that_are_refused_later_have_its_status() {
    let (site, recorder, _wire) = without_threads().await;
    let session = site.session(Revision::V2025_03_26).await;
    let batch = json!([request(1, "tools/call", &step("quiet_step"))]);
    assert_eq!(site.ask(&in_session(&session, &batch)).await.status, 200);
    is_refused(&recorder.call().await, Transport::HttpSession, 200);
}
