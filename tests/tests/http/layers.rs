//! Layers over HTTP: around calls of both eras, whether they are ready at once or wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::auth::{Auth, Rejection, User};
use mcp_runtime::http::HttpService;
use mcp_runtime::layers::{Cache, Call, Next, Outcome, Redact, Retry};
use mcp_runtime::{Limits, Revision, ToolResult, prelude::*};
use mcp_tests::http::{Response, Site, call, call_in, in_session, modern, until};
use serde_json::Value;

use crate::tower::{next, respond};

/// Add two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Wait for a moment.
#[tool]
async fn wait(ms: u64) -> &'static str {
    tokio::time::sleep(Duration::from_millis(ms)).await;
    "waited"
}

/// Answers some calls itself, and adds to the others.
async fn counted(mut call: Call, next: Next) -> Result<Outcome> {
    let mut arguments: Value = call.arguments_as()?;
    if arguments["a"] == 13 {
        return Ok(ToolResult::error("no luck").into());
    }
    if arguments["a"].is_number() {
        arguments["b"] = json!(40);
    }
    call.set_arguments(&arguments)?;
    Ok(next.run(call).await)
}

/// The answer to a request, as JSON or at the end of a stream.
fn answer(response: &Response) -> Value {
    assert_eq!(response.status, 200, "{response:?}");
    if response.header("content-type") == Some("application/json") {
        response.json()
    } else {
        response.events().pop().expect("an answer")
    }
}

/// The text of the answer, and whether it is an error.
fn told(response: &Response) -> (String, bool) {
    let result = &answer(response)["result"];
    (result["content"][0]["text"].as_str().unwrap_or_default().to_owned(), result["isError"] == true)
}

#[tokio::test]
async fn layers_surround_calls_of_both_eras() {
    let server = Server::new("layered", "1.0.0").tools(tools![add, wait]).layer(counted);
    let site = Site::of(server).await;
    let session = site.session(Revision::V2025_11_25).await;
    let calls = [
        ("add", json!({"a": 2, "b": 1}), ("42", false)),
        ("add", json!({"a": 13, "b": 1}), ("no luck", true)),
        ("wait", json!({"ms": 20}), ("waited", false)),
    ];
    for (id, (name, arguments, (text, is_error))) in (1..).zip(calls) {
        let expected = (text.to_owned(), is_error);
        assert_eq!(told(&site.ask(&call(name, &arguments)).await), expected, "{name}");
        assert_eq!(told(&site.ask(&call_in(&session, id, name, &arguments)).await), expected, "{name} in a session");
    }
}

#[derive(Default)]
struct Count(AtomicUsize);

#[handlers]
impl Count {
    /// Count the calls.
    #[tool(read_only)]
    fn count(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }
}

/// A token is a name, a client and scopes: `alice cli a+b`. `*` stands for a separator that a name may contain.
async fn verify(token: String) -> Result<User, Rejection> {
    let mut parts = token.split(';').map(|part| part.replace('*', "\u{1f}"));
    let mut part = || parts.next().unwrap_or_default();
    let (name, client, scopes) = (part(), part(), part());
    let scopes = scopes.split('+').filter(|scope| !scope.is_empty());
    Ok(User::new(name).with_issuer("https://auth.example.com").with_client_id(client).with_scopes(scopes))
}

fn cached() -> HttpService {
    Server::new("cached", "1.0.0")
        .mount(Count::default())
        .layer(Cache::new(Duration::from_secs(10 * 60)))
        .into_service()
}

#[tokio::test]
async fn cache_answers_the_same_caller_only() {
    let auth = Auth::verify_with(verify).resource("https://mcp.example.com/mcp");
    let site = Site::serving(cached().authorize(auth)).await;
    let ask = |token: &str| call("count", &json!({})).with("Authorization", format!("Bearer {token}"));
    for (token, text) in [
        ("alice;cli;a", "1"),
        ("alice;cli;a", "1"),
        ("bob;cli;a", "2"),
        ("alice;other;a", "3"),
        ("alice;cli;b", "4"),
        ("alice;cli;a+b", "5"),
        ("alice;cli;b+a", "5"),
        ("alice;cli;", "6"),
        // What would look like a scope, or a name, if parts were not told apart.
        ("alice*a;cli;", "7"),
        ("alice;cli*a;", "8"),
        ("alice;cli;a", "1"),
    ] {
        assert_eq!(told(&site.ask(&ask(token)).await), (text.to_owned(), false), "{token}");
    }
}

#[tokio::test]
async fn callers_without_a_name_share_results_of_their_revision() {
    let site = Site::serving(cached()).await;
    for _ in 0..2 {
        assert_eq!(told(&site.ask(&call("count", &json!({}))).await).0, "1");
    }
    for _ in 0..2 {
        let session = site.session(Revision::V2025_11_25).await;
        assert_eq!(told(&site.ask(&call_in(&session, 1, "count", &json!({}))).await).0, "2");
    }
    let session = site.session(Revision::V2025_03_26).await;
    assert_eq!(told(&site.ask(&call_in(&session, 1, "count", &json!({}))).await).0, "3");
}

fn colours(typed: &str) -> Vec<&'static str> {
    ["red", "green"].into_iter().filter(|colour| colour.starts_with(typed)).collect()
}

/// Paint something.
#[prompt]
fn paint(#[arg(complete = colours)] colour: String) -> String {
    format!("paint it {colour}")
}

/// A note.
#[resource("note://{id}")]
async fn note(id: u32) -> String {
    tokio::task::yield_now().await;
    format!("note {id}")
}

#[derive(serde::Deserialize)]
struct Half {
    of: u32,
}

#[tokio::test]
async fn every_kind_of_call_is_surrounded_in_both_eras() {
    async fn shout(call: Call, next: Next) -> Outcome {
        let kind = call.kind().as_str();
        let mut outcome = next.run(call).await;
        outcome.edit_texts(|text| Some(format!("{kind}: {text}")));
        outcome
    }
    let server = Server::new("layered", "1.0.0").prompts(prompts![paint]).resources(resources![note]);
    let server =
        server.method("tests.example/half", |_, half: Half| async move { Ok(json!({"text": half.of.to_string()})) });
    let site = Site::of(server.layer(shout)).await;
    let session = site.session(Revision::V2025_11_25).await;
    let completed =
        json!({"ref": {"type": "ref/prompt", "name": "paint"}, "argument": {"name": "colour", "value": "r"}});
    let asks = [
        ("prompts/get", json!({"name": "paint", "arguments": {"colour": "red"}}), "/messages/0/content/text"),
        ("resources/read", json!({"uri": "note://7"}), "/contents/0/text"),
        ("completion/complete", completed, "/completion/values/0"),
        ("tests.example/half", json!({"of": 8}), "/text"),
    ];
    let expected = ["prompt: paint it red", "resource: note 7", "completion: red", "custom: 8"];
    for (id, ((method, params, path), text)) in (1..).zip(asks.into_iter().zip(expected)) {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        for ask in [modern(method, params.clone()), in_session(&session, &message)] {
            let answer = answer(&site.ask(&ask).await);
            assert_eq!(answer["result"].pointer(path), Some(&json!(text)), "{method}: {answer}");
        }
    }
}

#[tokio::test]
async fn progress_of_layers_and_handlers_is_streamed_in_order() {
    /// Work.
    #[tool]
    async fn work(ctx: &Context) -> &'static str {
        ctx.progress(2, 3).await;
        tokio::task::yield_now().await;
        "worked"
    }
    async fn reports(call: Call, next: Next) -> Outcome {
        let ctx = call.ctx().clone();
        ctx.progress(1, 3).await;
        // Reports in quick succession are dropped, except for the last.
        tokio::time::sleep(Duration::from_millis(15)).await;
        let outcome = next.run(call).await;
        ctx.progress(3, 3).await;
        outcome
    }
    let site = Site::of(Server::new("layered", "1.0.0").tools(tools![work]).layer(reports)).await;
    let session = site.session(Revision::V2025_11_25).await;
    let params = json!({"name": "work", "arguments": {}, "_meta": {"progressToken": "t"}});
    for ask in [modern("tools/call", params), call_in(&session, 1, "work", &json!({}))] {
        let mut events = site.ask(&ask).await.events();
        let answer = events.pop().expect("an answer");
        assert_eq!(answer["result"]["content"][0]["text"], "worked");
        let done: Vec<f64> = events.iter().filter_map(|event| event["params"]["progress"].as_f64()).collect();
        assert_eq!(done, [1.0, 2.0, 3.0], "{events:?}");
    }
}

#[tokio::test]
async fn cancelled_calls_drop_their_layers() {
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let (entered, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (enters, drops) = (Arc::clone(&entered), Arc::clone(&dropped));
    let stuck = move |_: Call, _: Next| {
        let guard = Dropped(Arc::clone(&drops));
        enters.fetch_add(1, Ordering::SeqCst);
        async move {
            let _guard = guard;
            std::future::pending::<Outcome>().await
        }
    };
    let site = Site::of(Server::new("stuck", "1.0.0").tools(tools![add]).layer(stuck)).await;
    let arguments = json!({"a": 1, "b": 2});
    // In 2026-07-28 by a disconnect, in a session by a notification.
    let mut wire = site.open().await;
    wire.send(&call("add", &arguments).bytes()).await;
    until(|| entered.load(Ordering::SeqCst) == 1).await;
    drop(wire);
    until(|| dropped.load(Ordering::SeqCst) == 1).await;
    let session = site.session(Revision::V2025_11_25).await;
    let mut wire = site.open().await;
    wire.send(&call_in(&session, 5, "add", &arguments).bytes()).await;
    until(|| entered.load(Ordering::SeqCst) == 2).await;
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}});
    assert_eq!(site.ask(&in_session(&session, &cancelled)).await.status, 202);
    until(|| dropped.load(Ordering::SeqCst) == 2).await;
}

#[tokio::test(start_paused = true)]
async fn sync_tool_whose_layer_waits_has_a_heartbeat() {
    /// Fails at once.
    #[tool(read_only)]
    fn fails() -> Result<()> {
        Err(Error::msg("not now"))
    }
    let mut limits = Limits::default();
    limits.heartbeat = Some(Duration::from_secs(10));
    let pause = Duration::from_secs(60);
    let server = Server::new("slow", "1.0.0").tools(tools![fails]).limits(limits);
    let mut service = server.layer(Retry::new(2).backoff(pause).max_backoff(pause)).into_service();
    let params = json!({"name": "fails", "arguments": {}, "_meta": {"progressToken": "t"}});
    let mut body = respond(&mut service, &modern("tools/call", params)).await.into_body();
    let mut text = String::new();
    while let Some(more) = next(&mut body).await {
        text.push_str(&more);
    }
    // The pause is between half a minute and one.
    assert!(text.matches("still running after").count() >= 2, "{text}");
    assert!(text.contains("not now"), "{text}");
}

#[tokio::test]
async fn results_deeper_than_parsers_go_are_redacted() {
    /// Nests a secret.
    #[tool]
    fn nested(depth: usize) -> Result<ToolResult> {
        let json = format!("{}\"card 4000123412341234\"{}", "[".repeat(depth), "]".repeat(depth));
        let raw = serde_json::value::RawValue::from_string(json)?;
        ToolResult::new([]).with_structured(&raw)
    }
    let redact = Redact::patterns([r"\b\d{16}\b"], "[hidden]").unwrap();
    let site = Site::of(Server::new("nested", "1.0.0").tools(tools![nested]).layer(redact)).await;
    for depth in [100, 200] {
        let response = site.ask(&call("nested", &json!({"depth": depth}))).await;
        let text = response.text();
        assert!(text.contains("[hidden]") && !text.contains("4000"), "{depth}: {text}");
    }
}
