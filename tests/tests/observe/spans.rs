//! Spans, as an OpenTelemetry exporter sees them: names, kinds, parents, links, and the table of errors.

use std::future::poll_fn;
use std::sync::atomic::Ordering::SeqCst;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use mcp_runtime::observe::Spans;
use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use mcp_runtime::{ErrorCode, Revision};
use mcp_tests::http::{Site, modern, until};
use opentelemetry::trace::{SpanKind, Status};
use opentelemetry_sdk::trace::SpanData;
use serde_json::Value;
use tower_service::Service as _;
use tracing::Instrument as _;

use crate::recorder::watched;
use crate::subscriber::{self, attribute};

/// A server with one tool of this name, which nothing else in this process has.
fn server(tool: &str, run: fn(&Value) -> Result<String>) -> Server {
    let tool = Tool::builder(tool).description("A tool.").handler(move |_ctx, arguments: Value| async move {
        let _own = tracing::info_span!(target: "observe", "inside").entered();
        run(&arguments)
    });
    Server::new("spans", "1.0.0").tools([tool]).spans(Spans::new())
}

fn traced(trace: &str) -> String {
    format!("00-{trace}-b7ad6b7169203331-01")
}

fn is_in(span: &SpanData, trace: &str) -> bool {
    span.span_context.trace_id().to_string() == trace
}

#[tokio::test]
async fn parent_is_the_same_over_every_transport() {
    let collected = subscriber::set();
    let run: fn(&Value) -> Result<String> = |_| Ok("done".to_owned());
    for (index, &revision) in Revision::ALL.iter().enumerate() {
        let trace = format!("0af7651916cd43dd8448eb211c8031{index:02x}");
        let client = TestClient::builder(server("traced", run))
            .revision(revision)
            .meta("traceparent", traced(&trace))
            .connect()
            .await
            .unwrap();
        client.call("traced", json!({})).await.unwrap();
        let span = collected.span(|span| span.name == "tools/call traced" && is_in(span, &trace)).await;
        assert_eq!(span.parent_span_id.to_string(), "b7ad6b7169203331", "{revision}");
        assert!(span.parent_span_is_remote);
        assert_eq!(attribute(&span, "network.transport").as_deref(), Some("pipe"));
        let inside = collected.span(|span| span.name == "inside" && is_in(span, &trace)).await;
        assert_eq!(inside.parent_span_id, span.span_context.span_id(), "the handler runs inside the span");
    }
    let trace = "0af7651916cd43dd8448eb211c80aaaa";
    let site = Site::of(server("traced", run).disable_signals()).await;
    let meta = json!({"traceparent": traced(trace), "tracestate": "rojo=1"});
    let ask = modern("tools/call", json!({"name": "traced", "arguments": {}, "_meta": meta}));
    assert_eq!(site.ask(&ask).await.status, 200);
    let span = collected.span(|span| span.name == "tools/call traced" && is_in(span, trace)).await;
    assert_eq!(span.parent_span_id.to_string(), "b7ad6b7169203331");
    assert_eq!(span.span_context.trace_state().get("rojo"), Some("1"));
    assert_eq!(attribute(&span, "network.transport").as_deref(), Some("tcp"));
    assert_eq!(attribute(&span, "network.protocol.name").as_deref(), Some("http"));
    let trace = "0af7651916cd43dd8448eb211c80bbbb";
    let session = site.session(Revision::V2025_11_25).await;
    let params = json!({"name": "traced", "arguments": {}, "_meta": {"traceparent": traced(trace)}});
    let call = json!({"jsonrpc": "2.0", "id": "call-1", "method": "tools/call", "params": params});
    assert_eq!(site.ask(&mcp_tests::http::in_session(&session, &call)).await.status, 200);
    let span = collected.span(|span| span.name == "tools/call traced" && is_in(span, trace)).await;
    assert_eq!(span.parent_span_id.to_string(), "b7ad6b7169203331");
    assert_eq!(attribute(&span, "jsonrpc.request.id").as_deref(), Some("call-1"));
    let hash = attribute(&span, "mcp.session.id").unwrap();
    assert!(hash.len() == 16 && !session.contains(&hash), "the id of a session is a secret");
}

#[tokio::test]
async fn span_around_a_call_is_its_parent_or_a_link() {
    let collected = subscriber::set();
    let mut service = server("linked", |_| Ok("done".to_owned())).disable_signals().into_service();
    let trace = "0af7651916cd43dd8448eb211c80cccc";
    for (name, meta) in [("around-1", json!({})), ("around-2", json!({"traceparent": traced(trace)}))] {
        let ask = modern("tools/call", json!({"name": "linked", "arguments": {}, "_meta": meta}));
        let mut request = Request::builder().method("POST").uri("/mcp");
        for (name, value) in &ask.headers {
            request = request.header(name, &**value);
        }
        let request = request.body(Full::<Bytes>::from(ask.body.clone().unwrap())).unwrap();
        poll_fn(|cx| tower_service::Service::<Request<Full<Bytes>>>::poll_ready(&mut service, cx)).await.unwrap();
        let around = tracing::info_span!(target: "observe", "http", "otel.name" = name);
        assert_eq!(service.call(request).instrument(around).await.unwrap().status(), 200);
    }
    let (first, second) = (collected.named("around-1").await, collected.named("around-2").await);
    let below = collected.span(|span| span.parent_span_id == first.span_context.span_id()).await;
    assert_eq!(below.name, "tools/call linked");
    let linked = collected.span(|span| span.name == "tools/call linked" && is_in(span, trace)).await;
    assert_eq!(linked.parent_span_id.to_string(), "b7ad6b7169203331");
    assert_eq!(linked.links.links.len(), 1);
    assert_eq!(linked.links.links[0].span_context.span_id(), second.span_context.span_id());
}

/// The outcome of a tool by its arguments, and what its span says: `error.type`, the code, and whether it is an error.
#[tokio::test]
async fn table_of_errors() {
    let collected = subscriber::set();
    let run: fn(&Value) -> Result<String> = |arguments| match arguments["as"].as_str() {
        Some("text") => Err(Error::msg("it rains")),
        Some("params") => Err(Error::invalid_params("no")),
        Some("internal") => Err(Error::internal("oh")),
        Some("missing") => Err(Error::resource_not_found("memo://1")),
        Some("own") => Err(Error::application(ErrorCode::new(4004), "not here")),
        Some("panic") => panic!("a panic"),
        _ => Ok("fine".to_owned()),
    };
    for (index, &revision) in [Revision::V2025_06_18, Revision::V2026_07_28].iter().enumerate() {
        let missing = if revision.is_modern() { "-32602" } else { "-32002" };
        let cases = [
            ("fine", None, None, false),
            ("text", Some("tool_error"), None, true),
            ("params", None, Some("-32602"), false),
            ("internal", Some("-32603"), Some("-32603"), true),
            ("missing", None, Some(missing), false),
            ("own", Some("4004"), Some("4004"), true),
            ("panic", Some("tool_error"), None, true),
        ];
        for (row, (kind, error_type, code, is_error)) in cases.into_iter().enumerate() {
            let trace = format!("1af7651916cd43dd8448eb211c80{index:02x}{row:02x}");
            let client = TestClient::builder(server("failing", run))
                .revision(revision)
                .meta("traceparent", traced(&trace))
                .connect()
                .await
                .unwrap();
            let _ = client.call("failing", json!({"as": kind})).await;
            let span = collected.span(|span| span.name == "tools/call failing" && is_in(span, &trace)).await;
            assert_eq!(attribute(&span, "error.type").as_deref(), error_type, "{kind} in {revision}");
            assert_eq!(attribute(&span, "rpc.response.status_code").as_deref(), code, "{kind} in {revision}");
            assert_eq!(matches!(span.status, Status::Error { .. }), is_error, "{kind} in {revision}");
            assert_eq!(attribute(&span, "mcp.method.name").as_deref(), Some("tools/call"));
            assert_eq!(attribute(&span, "gen_ai.tool.name").as_deref(), Some("failing"));
            assert_eq!(attribute(&span, "gen_ai.operation.name").as_deref(), Some("execute_tool"));
            assert_eq!(attribute(&span, "mcp.protocol.version").as_deref(), Some(revision.as_str()));
            assert_eq!(span.span_kind, SpanKind::Server);
            assert_eq!(attribute(&span, "gen_ai.tool.call.arguments"), None, "opt-in");
        }
    }
}

#[tokio::test]
async fn status_has_the_message_of_the_error() {
    let collected = subscriber::set();
    let client = TestClient::connect(server("wordy", |_| Err(Error::internal("the disk is full")))).await.unwrap();
    let _ = client.call("wordy", json!({})).await;
    let span = collected.named("tools/call wordy").await;
    assert_eq!(span.status, Status::Error { description: "the disk is full".into() });
}

/// Double a number.
#[tool]
fn doubled_in_spans(number: i64) -> i64 {
    2 * number
}

/// The caller's mistake is no failure of the server, whether a revision has a code for it or a result.
#[tokio::test]
async fn arguments_that_do_not_fit_are_no_error() {
    let collected = subscriber::set();
    for (index, revision) in
        [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28].into_iter().enumerate()
    {
        let trace = format!("2af7651916cd43dd8448eb211c8000{index:02x}");
        let server = Server::new("spans", "1.0.0").tools(tools![doubled_in_spans]).spans(Spans::new());
        let client =
            TestClient::builder(server).revision(revision).meta("traceparent", traced(&trace)).connect().await.unwrap();
        let _ = client.call("doubled_in_spans", json!({"number": "many"})).await;
        let span = collected.span(|span| span.name == "tools/call doubled_in_spans" && is_in(span, &trace)).await;
        assert_eq!((span.status.clone(), attribute(&span, "error.type")), (Status::Unset, None), "{revision}");
    }
}

#[tokio::test]
async fn payloads_are_recorded_only_if_asked_for() {
    let collected = subscriber::set();
    let server = server("chatty", |_| Ok("a result".repeat(10_000))).spans(Spans::new().payloads(true));
    let client = TestClient::connect(server).await.unwrap();
    client.call("chatty", json!({"question": "why"})).await.unwrap();
    let span = collected.named("tools/call chatty").await;
    assert_eq!(attribute(&span, "gen_ai.tool.call.arguments").unwrap(), r#"{"question":"why"}"#);
    let result = attribute(&span, "gen_ai.tool.call.result").unwrap();
    assert!(result.contains("a result") && result.len() == 8 * 1024, "{}", result.len());
}

#[tokio::test]
async fn cancelled_call_has_one_span() {
    let collected = subscriber::set();
    let (server, _, state) = watched();
    let trace = "2af7651916cd43dd8448eb211c80aaaa";
    let client =
        TestClient::builder(server.spans(Spans::new())).meta("traceparent", traced(trace)).connect().await.unwrap();
    let call = client.start("sleep", json!({"ms": 600_000})).unwrap();
    until(|| state.begun.load(SeqCst) == 1).await;
    call.cancel().unwrap();
    let span = collected.span(|span| span.name == "tools/call sleep" && is_in(span, trace)).await;
    assert_eq!(attribute(&span, "error.type").as_deref(), Some("cancelled"));
    assert_eq!(span.status, Status::Unset, "the client wanted it so");
    drop(call);
    drop(client);
    assert_eq!(collected.count(|span| is_in(span, trace) && span.name == "tools/call sleep"), 1);
}

#[tokio::test]
async fn unknown_methods_have_one_name() {
    let collected = subscriber::set();
    let client = TestClient::connect(server("unused", |_| Ok(String::new()))).await.unwrap();
    for number in 0..50 {
        let _ = client.request(&format!("attack/{number}"), json!({})).await;
    }
    let is_other = |span: &SpanData| {
        attribute(span, "mcp.method.name").as_deref() == Some("_OTHER")
            && attribute(span, "rpc.response.status_code").as_deref() == Some("-32601")
    };
    until(|| collected.count(is_other) >= 50).await;
    assert_eq!(collected.count(|span| span.name.contains("attack")), 0);
    assert_eq!(collected.span(is_other).await.name, "_OTHER");
}

#[tokio::test]
async fn question_is_a_client_span_below_its_call() {
    let collected = subscriber::set();
    let (server, _, _) = watched();
    let trace = "2af7651916cd43dd8448eb211c80bbbb";
    let client = TestClient::builder(server.spans(Spans::new()))
        .revision(Revision::V2025_11_25)
        .meta("traceparent", traced(trace))
        .on_elicit(|_| json!({"name": "Ann"}))
        .connect()
        .await
        .unwrap();
    client.call("greet", json!({})).await.unwrap();
    let call = collected.span(|span| span.name == "tools/call greet" && is_in(span, trace)).await;
    let asked = collected.span(|span| span.name == "elicitation/create" && is_in(span, trace)).await;
    assert_eq!((asked.span_kind, asked.parent_span_id), (SpanKind::Client, call.span_context.span_id()));
}

/// Count to three.
#[tool(blocking)]
fn count_slowly() -> u32 {
    let _own = tracing::info_span!(target: "observe", "counting").entered();
    3
}

#[tokio::test]
async fn blocking_handler_runs_inside_its_span() {
    let collected = subscriber::set();
    let server = Server::new("spans", "1.0.0").tools(tools![count_slowly]).spans(Spans::new());
    let client = TestClient::connect(server).await.unwrap();
    client.call("count_slowly", json!({})).await.unwrap();
    let (call, inside) = (collected.named("tools/call count_slowly").await, collected.named("counting").await);
    assert_eq!(inside.parent_span_id, call.span_context.span_id());
}

/// Toil for long.
#[tool(task)]
async fn toil() -> &'static str {
    let own = tracing::info_span!(target: "observe", "toiling");
    tokio::time::sleep(std::time::Duration::from_millis(1)).instrument(own).await;
    "done"
}

#[tokio::test]
async fn task_has_a_span_of_its_own() {
    let collected = subscriber::set();
    let server = Server::new("spans", "1.0.0").tools(tools![toil]).spans(Spans::new());
    let client = TestClient::builder(server).tasks().connect().await.unwrap();
    assert_eq!(client.call("toil", json!({})).await.unwrap().text(), "done");
    let (call, toiling) = (collected.named("tools/call toil").await, collected.named("toiling").await);
    let task = collected.span(|span| span.span_context.span_id() == toiling.parent_span_id).await;
    assert_eq!(task.name, "mcp.task");
    assert_eq!(task.links.links[0].span_context.span_id(), call.span_context.span_id(), "it follows from the call");
}

#[tokio::test]
async fn arguments_of_a_prompt_are_recorded_only_if_asked_for() {
    let collected = subscriber::set();
    for (index, payloads) in [false, true].into_iter().enumerate() {
        let trace = format!("3af7651916cd43dd8448eb211c80aa{index:02x}");
        let (server, _, _) = watched();
        let server = server.spans(Spans::new().payloads(payloads));
        let client = TestClient::builder(server).meta("traceparent", traced(&trace)).connect().await.unwrap();
        client.get_prompt("poem", json!({"about": "rain"})).await.unwrap();
        let span = collected.span(|span| span.name == "prompts/get poem" && is_in(span, &trace)).await;
        assert_eq!(attribute(&span, "gen_ai.prompt.variable.about").as_deref(), payloads.then_some("rain"));
    }
}

/// The client can continue the trace that it has begun.
#[tokio::test]
async fn question_carries_its_span() {
    let collected = subscriber::set();
    let (server, _, _) = watched();
    let trace = "3af7651916cd43dd8448eb211c80bbbb";
    let site = Site::of(server.spans(Spans::new())).await;
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "tester", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello});
    let opened = site.ask(&mcp_tests::http::Ask::post(hello.to_string())).await;
    let session = opened.header("mcp-session-id").unwrap();
    let params = json!({"name": "greet", "arguments": {}, "_meta": {"traceparent": traced(trace)}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let (head, mut wire) = site.begin(&mcp_tests::http::in_session(session, &call)).await;
    assert_eq!(head.status, 200);
    let question = loop {
        let event = wire.event().await.unwrap();
        if event["method"] == "elicitation/create" {
            break event;
        }
    };
    let parent = question["params"]["_meta"]["traceparent"].as_str().unwrap_or_else(|| panic!("{question}")).to_owned();
    let answer =
        json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"name": "Ann"}}});
    assert_eq!(site.ask(&mcp_tests::http::in_session(session, &answer)).await.status, 202);
    let asked = collected.span(|span| span.name == "elicitation/create" && is_in(span, trace)).await;
    assert_eq!(parent, format!("00-{trace}-{}-01", asked.span_context.span_id()));
}
