//! The same cause has the same outcome over every transport, and the status is the one that is sent.

use std::time::Duration;

use mcp_runtime::auth::{Auth, User};
use mcp_runtime::observe::{Outcome, Transport};
use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use mcp_runtime::{Limits, RateLimit, Revision};
use mcp_tests::http::{Ask, Site, call, call_in, in_session, initialize, modern, until};
use serde_json::Value;

use crate::recorder::{Recorder, watched};

/// A transport, and a request that is repeated on it until it is told so often.
async fn over_every_transport(
    change: impl Fn(Server) -> Server,
    tool: &str,
    arguments: &Value,
    calls: usize,
) -> Vec<(Transport, Vec<crate::recorder::Row>)> {
    let mut told = Vec::new();
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let (server, recorder, _) = watched();
        let client = TestClient::with_revision(change(server), revision).await.unwrap();
        for _ in 0..calls {
            let _ = client.call(tool, arguments.clone()).await;
        }
        told.push((Transport::Stdio, recorder.calls(calls).await));
    }
    let (server, recorder, _) = watched();
    let site = Site::of(change(server)).await;
    for _ in 0..calls {
        site.ask(&call(tool, arguments)).await;
    }
    told.push((Transport::Http, recorder.calls(calls).await));
    let (server, recorder, _) = watched();
    let site = Site::of(change(server)).await;
    let session = site.session(Revision::V2025_11_25).await;
    for id in 0..calls {
        site.ask(&call_in(&session, id as u64, tool, arguments)).await;
    }
    told.push((Transport::HttpSession, recorder.calls(calls).await));
    told
}

fn status_of(transport: Transport, status: u16) -> Option<u16> {
    (transport != Transport::Stdio).then_some(status)
}

#[tokio::test]
async fn rate_limit_refuses_over_every_transport() {
    let limited = |server: Server| server.rate_limit(RateLimit::per_hour(1));
    for (transport, rows) in over_every_transport(limited, "add", &json!({"a": 1, "b": 2}), 2).await {
        assert_eq!((rows[0].outcome, rows[0].status), (Outcome::Answered, status_of(transport, 200)), "{transport}");
        let refused = &rows[1];
        assert_eq!((refused.outcome, refused.code), (Outcome::Refused, Some(-32000)), "{transport}");
        assert_eq!((refused.status, refused.transport), (status_of(transport, 429), transport));
        assert_eq!(refused.error_type.as_deref(), Some("-32000"));
        assert_eq!(refused.target.as_deref(), Some("add"), "{transport}");
    }
}

#[tokio::test]
async fn missing_scope_refuses_over_every_transport() {
    let guarded = |server: Server| {
        let at_once = Tool::builder("at_once").scopes(["all"]).handler(async |_ctx, _args: Value| "done");
        let later = Tool::builder("later").handler(async |ctx: Context, _args: Value| {
            tokio::time::sleep(Duration::from_millis(1)).await;
            ctx.require_scopes(["all"])?;
            Ok::<_, Error>("done")
        });
        server.tools([at_once, later])
    };
    for tool in ["at_once", "later"] {
        let (server, recorder, _) = watched();
        let client = TestClient::builder(guarded(server)).user("alice", ["few"]).connect().await.unwrap();
        let _ = client.call(tool, json!({})).await;
        let row = recorder.call().await;
        assert_eq!((row.outcome, row.code, row.status), (Outcome::Refused, Some(-31403), None), "{tool}");
        let (server, recorder, _) = watched();
        let auth = Auth::verify_with(|_: String| async { Ok(User::new("alice").with_scopes(["few"])) })
            .resource("https://mcp.example.com/mcp")
            .authorization_servers(["https://auth.example.com"]);
        let site = Site::serving(guarded(server).into_service().authorize(auth)).await;
        let with_token = |ask: Ask| ask.with("Authorization", "Bearer any");
        let status = site.ask(&with_token(call(tool, &json!({})))).await.status;
        let opened = site.ask(&with_token(initialize("2025-11-25"))).await;
        let ask = call_in(opened.header("mcp-session-id").unwrap(), 1, tool, &json!({}));
        assert_eq!(site.ask(&with_token(ask)).await.status, status);
        for row in recorder.calls(2).await {
            assert_eq!((row.outcome, row.code), (Outcome::Refused, Some(-31403)), "{tool}");
            assert_eq!(row.status, Some(status), "{tool} {}", row.transport);
        }
        assert_eq!(status, 403);
    }
}

#[tokio::test]
async fn limit_of_calls_refuses_over_every_transport() {
    let mut limits = Limits::default();
    limits.in_flight = 1;
    let (server, recorder, state) = watched();
    let client = TestClient::with_revision(server.limits(limits.clone()), Revision::V2025_11_25).await.unwrap();
    let running = client.start("sleep", json!({"ms": 600_000})).unwrap();
    until(|| state.begun.load(std::sync::atomic::Ordering::SeqCst) == 1).await;
    let _ = client.call("sleep", json!({"ms": 1})).await;
    let row = recorder.call().await;
    assert_eq!((row.outcome, row.code, row.is_server_error), (Outcome::Refused, Some(-32000), false));
    drop(running);
    let (server, recorder, state) = watched();
    let site = Site::of(server.limits(limits)).await;
    let session = site.session(Revision::V2025_11_25).await;
    let mut wire = site.open().await;
    wire.send(&call_in(&session, 1, "sleep", &json!({"ms": 600_000})).bytes()).await;
    until(|| state.begun.load(std::sync::atomic::Ordering::SeqCst) == 1).await;
    site.ask(&call_in(&session, 2, "sleep", &json!({"ms": 1}))).await;
    let row = recorder.call().await;
    assert_eq!((row.outcome, row.code, row.status), (Outcome::Refused, Some(-32000), Some(429)));
    assert!(!row.is_server_error, "the caller has too many calls");
}

/// Names that the server does not have, and arguments that do not fit: no handler runs, and nobody should be woken.
#[tokio::test]
async fn what_callers_get_wrong_is_refused_in_every_revision() {
    for &revision in Revision::ALL {
        let (server, recorder, _) = watched();
        let client = TestClient::with_revision(server, revision).await.unwrap();
        let missing = if revision.is_modern() { -32602 } else { -32002 };
        let arguments = if revision >= Revision::V2025_11_25 { None } else { Some(-32602) };
        let cases = [
            ("tools/call", json!({"name": "nothing", "arguments": {}}), Some(-32602)),
            ("tools/call", json!({"name": "add", "arguments": {"a": "no"}}), arguments),
            ("tools/call", json!({"arguments": {}}), Some(-32602)),
            ("prompts/get", json!({"name": "nothing"}), Some(-32602)),
            ("prompts/get", json!({"name": "poem"}), Some(-32602)),
            ("resources/read", json!({"uri": "nowhere://1"}), Some(missing)),
            ("resources/read", json!({"uri": "memo://none"}), Some(-32602)),
        ];
        for (index, (method, params, code)) in cases.into_iter().enumerate() {
            let _ = client.request(method, params.clone()).await;
            let row = recorder.calls(index + 1).await.pop().unwrap();
            let told = (row.outcome, row.code, row.error_type.as_deref(), row.is_server_error);
            assert_eq!(told, (Outcome::Refused, code, None, false), "{revision} {method} {params}");
        }
    }
}

/// What a handler says is an error of its own.
#[tokio::test]
async fn handler_that_finds_nothing_has_run() {
    let (server, recorder, _) = watched();
    let tool = Tool::builder("seek")
        .handler(async |_ctx: Context, _args: Value| Err::<String, _>(Error::resource_not_found("memo://404")));
    let client = TestClient::with_revision(server.tools([tool]), Revision::V2025_11_25).await.unwrap();
    let _ = client.call("seek", json!({})).await;
    assert_eq!(recorder.call().await.outcome, Outcome::Error);
}

#[tokio::test]
async fn subscriptions_fail_alike_over_every_transport() {
    let told = |recorder: Recorder| async move {
        let row = recorder.call().await;
        (row.outcome, row.code, row.error_type)
    };
    let expected = (Outcome::Refused, Some(-32602), None);
    let (server, recorder, _) = watched();
    let client = TestClient::with_revision(server, Revision::V2026_07_28).await.unwrap();
    let _ = client.request("subscriptions/listen", json!({})).await;
    assert_eq!(told(recorder).await, expected);
    let (server, recorder, _) = watched();
    let site = Site::of(server).await;
    site.ask(&modern("subscriptions/listen", json!({}))).await;
    assert_eq!(told(recorder).await, expected);
    let unknown = json!({"uri": "weather://nowhere"});
    let expected = (Outcome::Refused, Some(-32002), None);
    let (server, recorder, _) = watched();
    let client = TestClient::with_revision(server, Revision::V2025_11_25).await.unwrap();
    let _ = client.request("resources/subscribe", unknown.clone()).await;
    assert_eq!(told(recorder).await, expected);
    let (server, recorder, _) = watched();
    let site = Site::of(server).await;
    let session = site.session(Revision::V2025_11_25).await;
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": unknown});
    site.ask(&in_session(&session, &message)).await;
    assert_eq!(told(recorder).await, expected);
}

/// The client has the head of the response before it is known what comes of the call.
#[tokio::test]
async fn status_is_the_one_that_is_sent() {
    let (server, recorder, _) = watched();
    let tool = Tool::builder("tell_and_ask").handler(async |ctx: Context, _args: Value| {
        ctx.progress(1, 2).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
        let _: Value = ctx.sample("Why?").await.map(|_| json!({}))?;
        Ok::<_, Error>("done")
    });
    let site = Site::of(server.tools([tool])).await;
    let ask = |meta: Value| modern("tools/call", json!({"name": "tell_and_ask", "arguments": {}, "_meta": meta}));
    for (count, (meta, status)) in [(json!({}), 400), (json!({"progressToken": 1}), 200)].into_iter().enumerate() {
        let response = site.ask(&ask(meta)).await;
        assert_eq!(response.status, status, "{}", response.text());
        let row = recorder.calls(count + 1).await.pop().unwrap();
        assert_eq!((row.outcome, row.code, row.status), (Outcome::Error, Some(-32021), Some(status)));
    }
}

#[tokio::test]
async fn batch_of_an_unknown_session_is_told() {
    let (server, recorder, _) = watched();
    let site = Site::of(server).await;
    let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "id": 2, "method": "ping"}]);
    assert_eq!(site.ask(&in_session("nobody", &batch)).await.status, 404);
    let row = recorder.call().await;
    assert_eq!((row.method.as_str(), row.outcome, row.status), ("_OTHER", Outcome::Refused, Some(404)));
    let session = site.session(Revision::V2025_03_26).await;
    assert_eq!(site.ask(&in_session(&session, &batch)).await.status, 200);
    let rows = recorder.calls(3).await;
    assert!(rows[1..].iter().all(|row| row.method == "ping" && row.status == Some(200)), "{rows:?}");
}

#[tokio::test]
async fn notification_that_is_nested_too_deep_is_no_request() {
    let (server, recorder, _) = watched();
    let site = Site::of(server).await;
    let deep = format!(r#"{{"jsonrpc":"2.0","method":"x","params":{{"a":{}{}}}}}"#, "[".repeat(500), "]".repeat(500));
    assert_eq!(site.ask(&Ask::post(deep.clone())).await.status, 202);
    assert_eq!(site.ask(&Ask::post(deep).with("Mcp-Session-Id", "nobody")).await.status, 404);
    site.ask(&modern("tools/list", json!({}))).await;
    assert_eq!(recorder.call().await.method, "tools/list");
}

#[tokio::test]
async fn refusals_belong_where_they_were_sent() {
    let (server, recorder, _) = watched();
    let site = Site::serving(server.into_service().legacy_sse()).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    assert_eq!(site.ask(&Ask::post(ping).at("/messages?sessionId=nobody")).await.status, 404);
    let row = recorder.call().await;
    assert_eq!((row.transport, row.status), (Transport::Sse, Some(404)));
    assert!(row.session.is_some());
    let stray = modern("tools/list", json!({})).with("Mcp-Session-Id", "stray").but("Host", "evil.example");
    assert_eq!(site.ask(&stray).await.status, 403);
    let row = recorder.calls(2).await.pop().unwrap();
    assert_eq!((row.transport, row.session), (Transport::Http, None), "2026-07-28 has no sessions");
}

#[tokio::test]
async fn message_that_never_arrives_took_no_time() {
    let (server, recorder, _) = watched();
    let mut limits = Limits::default();
    limits.request_timeout = Duration::from_millis(200);
    let site = Site::of(server.limits(limits)).await;
    let mut wire = site.open().await;
    wire.send(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{").await;
    assert_eq!(wire.head().await.status, 408);
    let row = recorder.call().await;
    assert_eq!((row.outcome, row.status), (Outcome::Refused, Some(408)));
    assert!(row.duration < Duration::from_millis(200), "{:?}", row.duration);
}

/// What becomes of a request, and what is told: the same without a session and in one.
#[tokio::test]
async fn table_of_errors_over_http() {
    let table = [
        ("add", Outcome::Refused, None, None),
        ("fail", Outcome::ToolError, None, Some("tool_error")),
        ("fail_own", Outcome::Error, Some(4004), Some("4004")),
        ("fail_params", Outcome::Error, Some(-32602), None),
        ("panic", Outcome::Panicked, None, Some("tool_error")),
        ("panic_later", Outcome::Panicked, None, Some("tool_error")),
        ("late", Outcome::TimedOut, None, Some("timeout")),
        ("nothing_of_that_name", Outcome::Refused, Some(-32602), None),
        ("murmur", Outcome::Answered, None, None),
    ];
    let (server, recorder, _) = watched();
    let site = Site::of(server).await;
    let session = site.session(Revision::V2025_11_25).await;
    for (row, (tool, outcome, code, error_type)) in table.into_iter().enumerate() {
        let stateless = site.ask(&call(tool, &json!({}))).await.status;
        let in_session = site.ask(&call_in(&session, row as u64, tool, &json!({}))).await.status;
        let rows = recorder.calls(2 * (row + 1)).await;
        for (told, status) in rows[2 * row..].iter().zip([stateless, in_session]) {
            let expected = (outcome, code, error_type.map(str::to_owned), Some(status));
            assert_eq!((told.outcome, told.code, told.error_type.clone(), told.status), expected, "{tool}");
            assert_eq!(told.network, ("tcp", Some("1.1")));
        }
    }
    let unknown = json!({"jsonrpc": "2.0", "id": 1, "method": "no/such/method"});
    for ask in [modern("no/such/method", json!({})), in_session(&session, &unknown)] {
        let status = site.ask(&ask).await.status;
        let told = recorder.rows().pop().unwrap();
        assert_eq!((told.outcome, told.code, told.error_type), (Outcome::Refused, Some(-32601), None));
        assert_eq!((told.status, told.method.as_str()), (Some(status), "_OTHER"));
    }
    let later = json!({"io.modelcontextprotocol/protocolVersion": "2027-01-01"});
    let later = modern("tools/call", json!({"name": "greet", "arguments": {}, "_meta": later}));
    for (ask, code) in [
        (call("add", &json!({})).but("Mcp-Name", "other"), -32020),
        (later.but("MCP-Protocol-Version", "2027-01-01"), -32022),
        (call("greet", &json!({})), -32021),
    ] {
        let status = site.ask(&ask).await.status;
        let told = recorder.rows().pop().unwrap();
        assert_eq!((told.code, told.status), (Some(code), Some(status)));
        assert_eq!(told.error_type, Some(code.to_string()), "an error by the conventions");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn unix_socket_is_told() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let (server, recorder, _) = watched();
    let path = std::env::temp_dir().join(format!("mcp-observe-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    let serving = tokio::spawn(server.into_service().serve_on(listener));
    let mut stream = tokio::net::UnixStream::connect(&path).await.unwrap();
    stream.write_all(&call("add", &json!({"a": 1, "b": 2})).bytes()).await.unwrap();
    let row = recorder.call().await;
    assert_eq!(row.network, ("unix", Some("1.1")));
    let mut some = [0; 12];
    stream.read_exact(&mut some).await.unwrap();
    assert_eq!(&some, b"HTTP/1.1 200");
    serving.abort();
    let _ = std::fs::remove_file(&path);
}

/// What is no failure, and whose fault it is if the user says no.
#[tokio::test]
async fn questions_and_tasks_are_told_over_http() {
    let (server, recorder, _) = watched();
    let site = Site::of(server).await;
    let able = json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}});
    let ask = |tool: &str, more: Value| {
        let mut params = json!({"name": tool, "arguments": {}, "_meta": able});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        modern("tools/call", params)
    };
    let told = |count: usize| {
        let recorder = recorder.clone();
        async move {
            let row = recorder.calls(count).await.pop().unwrap();
            (row.outcome, row.code, row.error_type, row.status)
        }
    };
    site.ask(&ask("work", json!({}))).await;
    assert_eq!(told(1).await, (Outcome::TaskCreated, None, None, Some(200)));
    let round = site.ask(&ask("greet", json!({}))).await.json();
    assert_eq!(told(2).await, (Outcome::InputRequired, None, None, Some(200)));
    let key = round["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let answers =
        json!({"inputResponses": {key: {"action": "decline"}}, "requestState": round["result"]["requestState"]});
    site.ask(&ask("greet", answers)).await;
    // For a tool, the model is told that the user has declined.
    assert_eq!(told(3).await, (Outcome::ToolError, None, Some("tool_error".to_owned()), Some(200)));
}
