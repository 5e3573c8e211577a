//! Resumable streams, and the other ways in: HTTP+SSE, and services without sessions.

use std::time::Duration;

use mcp_runtime::{Limits, Revision, prelude::*};
use mcp_tests::http::{Ask, Site, Wire, call, call_in, in_session, initialize, modern, soon, stream_of, until};
use serde_json::{Value, json};

/// Take so many steps, and tell of each.
#[tool]
async fn steps(ctx: &Context, n: u32) -> String {
    for step in 1..=n {
        ctx.progress(step, n).await;
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    format!("{n} steps")
}

/// Let the client go, and work.
#[tool]
async fn away(ctx: &Context) -> &'static str {
    ctx.close_stream().await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    "back"
}

/// What a header of the request says.
#[tool]
fn header(ctx: &Context, name: String) -> Option<String> {
    Some(ctx.http()?.headers.get(name)?.to_str().ok()?.to_owned())
}

/// For those who know.
#[tool(visible_if = |ctx: &Context| ctx.meta("example.com/key").is_some())]
fn secret(#[arg(header = "Word")] word: String) -> String {
    word
}

/// A page that changes.
#[resource("page://1", subscribe)]
fn page() -> &'static str {
    "page"
}

fn server() -> Server {
    Server::new("patient", "1.0.0").tools(tools![steps, away, header, secret]).resources(resources![page])
}

/// The next event: its id, and its data.
pub(crate) async fn raw_event(wire: &mut Wire) -> Option<(String, String)> {
    let mut text = String::new();
    loop {
        text.push_str(&String::from_utf8(wire.chunk().await?).unwrap());
        if text.ends_with("\n\n") {
            let last = text.trim_end().rsplit("\n\n").next().unwrap().to_owned();
            let field =
                |name: &str| last.lines().find_map(|line| line.strip_prefix(name)).map(|it| it.trim().to_owned());
            return Some((field("id:").unwrap_or_default(), field("data:").unwrap_or_default()));
        }
    }
}

pub(crate) fn again(session: &str, event: &str) -> Ask {
    stream_of(session).with("Last-Event-ID", event)
}

#[tokio::test]
async fn interrupted_stream_is_replayed_from_the_last_event() {
    let site = Site::of(server()).await;
    let session = site.session(Revision::V2025_11_25).await;
    let (head, mut wire) = site.begin(&call_in(&session, 7, "steps", &json!({"n": 5}))).await;
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    let (first, _) = raw_event(&mut wire).await.unwrap();
    assert!(first.contains('_'), "{first}");
    drop(wire);
    // Long enough for the call to finish: a lost connection cancels nothing.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let rest = site.ask(&again(&session, &first)).await;
    let messages = rest.events();
    let last = messages.last().unwrap();
    assert_eq!((&last["id"], &last["result"]["content"][0]["text"]), (&json!(7), &json!("5 steps")));
    let told = messages.iter().filter(|message| message["method"] == "notifications/progress").count();
    assert!((3..=5).contains(&told), "{messages:?}");
    // The same again, as often as they like; and nothing of other streams.
    assert_eq!(site.ask(&again(&session, &first)).await.events(), messages);
    for event in ["r1_99", "r9_1", "s1_1", "1_1", "x", ""] {
        assert_eq!(site.ask(&again(&session, event)).await.status, 400, "{event:?}");
    }
    let other = site.session(Revision::V2025_11_25).await;
    assert_eq!(site.ask(&again(&other, &first)).await.status, 400, "of another session");
}

/// Opens a session's own stream and resumes it at another connection, before the server has noticed that the first
/// one is lost; then the first one is closed.
async fn resumed(site: &Site, session: &str) -> Wire {
    let (head, mut first) = site.begin(&stream_of(session)).await;
    assert_eq!(head.status, 200);
    let (event, _) = raw_event(&mut first).await.unwrap();
    let (head, second) = site.begin(&again(session, &event)).await;
    assert_eq!(head.status, 200);
    assert!(soon(first.chunk()).await.is_none(), "the old reader is replaced");
    drop(first);
    second
}

#[tokio::test]
async fn resumed_session_stream_stays_the_only_one() {
    let site = Site::of(server()).await;
    let session = site.session(Revision::V2025_11_25).await;
    let stream = resumed(&site, &session).await;
    for _ in 0..3 {
        assert_eq!(site.ask(&stream_of(&session)).await.status, 409);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    drop(stream);
    // When the server has noticed, there is room for another.
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while site.begin(&stream_of(&session)).await.0.status != 200 {
        assert!(std::time::Instant::now() < deadline, "the stream is not released");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn session_with_a_resumed_stream_is_not_idle() {
    let mut limits = Limits::default();
    limits.session_idle_timeout = Duration::from_millis(300);
    let site = Site::of(server().limits(limits)).await;
    let session = site.session(Revision::V2025_11_25).await;
    let stream = resumed(&site, &session).await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(site.ask(&stream_of(&session)).await.status, 409, "the session is still there");
    drop(stream);
}

#[tokio::test]
async fn stream_begins_with_an_event_id_since_2025_11_25() {
    for (revision, primed) in
        [(Revision::V2025_03_26, false), (Revision::V2025_06_18, false), (Revision::V2025_11_25, true)]
    {
        let site = Site::of(server()).await;
        let session = site.session(revision).await;
        let response = site.ask(&call_in(&session, 7, "steps", &json!({"n": 1}))).await;
        let first = response.text().split("\n\n").next().unwrap();
        let empty = first.lines().any(|line| line.trim() == "data:");
        assert_eq!((empty, first.contains("retry: ")), (primed, primed), "{revision}: {first}");
        assert_eq!(response.events().last().unwrap()["result"]["content"][0]["text"], "1 steps");
    }
}

#[tokio::test]
async fn call_may_detach_its_client() {
    let site = Site::of(server()).await;
    let session = site.session(Revision::V2025_11_25).await;
    let response = soon(site.ask(&call_in(&session, 7, "away", &json!({})))).await;
    assert_eq!(response.events(), Vec::<Value>::new());
    let id = response.text().lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    let rest = soon(site.ask(&again(&session, &id))).await;
    assert_eq!(rest.events()[0]["result"]["content"][0]["text"], "back");
    // Where a client cannot come back, it is not let go.
    let session = site.session(Revision::V2025_06_18).await;
    let response = site.ask(&call_in(&session, 7, "away", &json!({}))).await;
    assert_eq!(response.json()["result"]["content"][0]["text"], "back");
    let response = site.ask(&call("away", &json!({}))).await;
    assert_eq!(response.json()["result"]["content"][0]["text"], "back");
}

#[tokio::test]
async fn session_stream_can_be_resumed() {
    let site = Site::of(server()).await;
    let session = site.session(Revision::V2025_11_25).await;
    let subscribe = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "page://1"}});
    assert_eq!(site.ask(&in_session(&session, &subscribe)).await.status, 200);
    let (_, mut wire) = site.begin(&stream_of(&session)).await;
    let (first, data) = raw_event(&mut wire).await.unwrap();
    assert_eq!(data, "");
    site.handle.resource_updated("page://1");
    let (second, data) = soon(raw_event(&mut wire)).await.unwrap();
    assert!(data.contains("page://1"), "{data}");
    drop(wire);
    let (head, mut wire) = site.begin(&again(&session, &first)).await;
    assert_eq!(head.status, 200);
    assert_eq!(soon(raw_event(&mut wire)).await.unwrap(), (second, data));
    site.handle.resource_updated("page://1");
    assert!(soon(wire.event()).await.unwrap().to_string().contains("page://1"), "and it goes on");
}

#[tokio::test]
async fn handlers_can_read_http_headers() {
    let site = Site::of(server()).await;
    let ask = call("header", &json!({"name": "x-tenant"})).with("X-Tenant", "acme");
    assert_eq!(site.ask(&ask).await.json()["result"]["content"][0]["text"], "acme");
    let session = site.session(Revision::V2025_06_18).await;
    let ask = call_in(&session, 3, "header", &json!({"name": "x-tenant"})).with("X-Tenant", "acme");
    assert_eq!(site.ask(&ask).await.json()["result"]["content"][0]["text"], "acme");
}

#[tokio::test]
async fn hidden_tool_looks_unknown_to_header_checks() {
    let site = Site::of(server()).await;
    let hidden = site.ask(&call("secret", &json!({"word": "x"}))).await;
    let unknown = site.ask(&call("nothing", &json!({"word": "x"}))).await;
    assert_eq!(hidden.outcome(), unknown.outcome());
    let key = json!({"name": "secret", "arguments": {"word": "x"}, "_meta": {"example.com/key": 1}});
    assert_eq!(site.ask(&modern("tools/call", key.clone())).await.outcome(), (400, -32020));
    let seen = site.ask(&modern("tools/call", key).with("Mcp-Param-Word", "x")).await;
    assert_eq!(seen.outcome(), (200, 0));
}

#[tokio::test]
async fn custom_notification_reaches_its_handler() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    let heard: Arc<AtomicUsize> = Arc::default();
    let counter = Arc::clone(&heard);
    let server = server().notification("test.example/knock", move |_, (): ()| {
        let counter = Arc::clone(&counter);
        async move {
            tokio::task::yield_now().await;
            counter.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    });
    let site = Site::of(server).await;
    let knock = json!({"jsonrpc": "2.0", "method": "test.example/knock"});
    assert_eq!(site.ask(&Ask::post(knock.to_string())).await.status, 202);
    until(|| heard.load(Ordering::SeqCst) == 1).await;
    let session = site.session(Revision::V2025_11_25).await;
    assert_eq!(site.ask(&in_session(&session, &knock)).await.status, 202);
    until(|| heard.load(Ordering::SeqCst) == 2).await;
}

#[tokio::test]
async fn stateless_service_serves_each_request_alone() {
    let site = Site::serving(server().into_service().stateless()).await;
    let opened = site.ask(&initialize("2025-06-18")).await;
    assert_eq!((opened.status, opened.header("mcp-session-id")), (200, None));
    assert_eq!(opened.json()["result"]["protocolVersion"], "2025-06-18");
    let ready = Ask::post(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
    assert_eq!(site.ask(&ready).await.status, 202);
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let ask = call_in("any", 4, "steps", &json!({"n": 2}))
            .without("Mcp-Session-Id")
            .with("MCP-Protocol-Version", version);
        let events = site.ask(&ask).await.events();
        assert_eq!(events.last().unwrap()["result"]["content"][0]["text"], "2 steps", "{version}");
    }
    for ask in [stream_of("any"), Ask::new("DELETE").with("Mcp-Session-Id", "any")] {
        assert_eq!(site.ask(&ask).await.status, 405);
    }
}

async fn post_to(site: &Site, path: &str, message: &Value) -> u16 {
    let bytes = Ask::post(message.to_string()).bytes();
    let bytes = String::from_utf8(bytes).unwrap().replacen("/mcp", path, 1);
    let mut wire = site.open().await;
    wire.send(bytes.as_bytes()).await;
    wire.response().await.status
}

#[tokio::test]
async fn legacy_sse_transport_serves_2024_11_05() {
    let site = Site::serving(server().into_service().legacy_sse()).await;
    let mut wire = site.open().await;
    wire.send(b"GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n").await;
    assert_eq!(wire.head().await.status, 200);
    let first = String::from_utf8(soon(wire.chunk()).await.unwrap()).unwrap();
    let address = first.trim().strip_prefix("event: endpoint\ndata: ").unwrap().to_owned();
    let path = format!("/{address}");
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2024-11-05"}});
    assert_eq!(post_to(&site, &path, &hello).await, 202);
    assert_eq!(soon(wire.event()).await.unwrap()["result"]["protocolVersion"], "2024-11-05");
    assert_eq!(post_to(&site, &path, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await, 202);
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "steps", "arguments": {"n": 1}, "_meta": {"progressToken": 1}}});
    assert_eq!(post_to(&site, &path, &call).await, 202);
    assert_eq!(soon(wire.event()).await.unwrap()["method"], "notifications/progress");
    assert_eq!(soon(wire.event()).await.unwrap()["result"]["content"][0]["text"], "1 steps");
    site.handle.tools().disable("away");
    assert_eq!(post_to(&site, "/messages?sessionId=nobody", &call).await, 404);
    assert_eq!(post_to(&site, "/sse", &call).await, 405, "a newer client learns to try GET");
    drop(wire);
    soon(async {
        while post_to(&site, &path, &call).await != 404 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let plain = Site::of(server()).await;
    assert_eq!(post_to(&plain, "/sse", &call).await, 404, "off, unless it was asked for");
}
