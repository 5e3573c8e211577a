//! The layers that come with the runtime: retry, cache, limits, redaction, error mapping, the audit log, and tower's.
#![allow(clippy::unused_async, reason = "the shapes of handlers are what is tested, not what they do")]

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::layers::{Audit, Cache, Call, ErrorKind, MapErrors, Outcome, Redact, ResponseLimit, Retry};
use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use mcp_runtime::{Json, Revision, ToolResult};
use schemars::JsonSchema;
use serde::Serialize;
use tower_service::Service;
use tracing_subscriber::layer::SubscriberExt as _;

/// Counts its calls, and fails the first ones.
#[derive(Default)]
struct Flaky {
    calls: AtomicUsize,
    fails: usize,
}

impl Flaky {
    fn attempt(&self) -> Result<usize> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        if call <= self.fails { Err(Error::msg(format!("attempt {call} failed"))) } else { Ok(call) }
    }
}

#[handlers]
impl Flaky {
    /// Reads.
    #[tool(read_only)]
    fn reads(&self, _text: Option<String>) -> Result<usize> {
        self.attempt()
    }

    /// Sets.
    #[tool(idempotent)]
    async fn sets(&self) -> Result<usize> {
        self.attempt()
    }

    /// Changes.
    #[tool]
    fn changes(&self) -> Result<usize> {
        self.attempt()
    }

    /// Reads a report.
    #[resource("report://one")]
    fn report(&self) -> Result<String> {
        Ok(self.attempt()?.to_string())
    }

    /// Refuses.
    #[tool(read_only)]
    fn refuses(&self) -> Result<usize> {
        self.attempt().map_err(|_| Error::invalid_params("no"))
    }

    /// Returns an error as its result.
    #[tool(read_only)]
    fn reports(&self) -> ToolResult {
        self.attempt()
            .map_or_else(|error| ToolResult::error(error.to_string()), |call| ToolResult::text(call.to_string()))
    }
}

async fn flaky(fails: usize, layer: impl mcp_runtime::layers::Layer) -> Result<(TestClient, Arc<Flaky>)> {
    let flaky = Arc::new(Flaky { fails, ..Flaky::default() });
    let client = TestClient::connect(Server::new("flaky", "1.0.0").mount(Arc::clone(&flaky)).layer(layer)).await?;
    Ok((client, flaky))
}

fn quick(attempts: u32) -> Retry {
    Retry::new(attempts).backoff(Duration::from_millis(1))
}

#[tokio::test]
async fn retry_repeats_what_may_be_repeated() -> Result<()> {
    for tool in ["reads", "sets"] {
        let (client, flaky) = flaky(2, quick(3)).await?;
        assert_eq!(client.call(tool, json!({})).await?.text(), "3", "{tool}");
        assert_eq!(flaky.calls.load(Ordering::SeqCst), 3);
    }
    let (client, _) = flaky(2, quick(3)).await?;
    assert_eq!(client.read("report://one").await?.text(), "3");
    let (client, flaky) = flaky(5, quick(3)).await?;
    assert_eq!(client.call("reads", json!({})).await?.text(), "attempt 3 failed", "the last error");
    assert_eq!(flaky.calls.load(Ordering::SeqCst), 3, "bounded");
    Ok(())
}

#[tokio::test]
async fn retry_leaves_alone_what_must_not_be_repeated() -> Result<()> {
    for tool in ["changes", "reports"] {
        let (client, flaky) = flaky(2, quick(3)).await?;
        assert!(client.call(tool, json!({})).await?.is_error());
        assert_eq!(flaky.calls.load(Ordering::SeqCst), 1, "{tool}");
    }
    let (client, flaky) = flaky(2, quick(3)).await?;
    assert_eq!(client.call("refuses", json!({})).await.unwrap_err().code(), Some(-32602));
    assert_eq!(flaky.calls.load(Ordering::SeqCst), 1);
    // Unless told otherwise.
    let told = quick(3).even_if_not_idempotent().when(Outcome::is_error);
    let (client, flaky) = self::flaky(2, told).await?;
    assert_eq!(client.call("changes", json!({})).await?.text(), "3");
    assert_eq!(flaky.calls.load(Ordering::SeqCst), 3);
    Ok(())
}

#[tokio::test]
async fn retry_does_not_ask_again() -> Result<()> {
    #[derive(serde::Deserialize, JsonSchema)]
    struct Name {
        name: String,
    }
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    /// Asks, then fails.
    #[tool(read_only)]
    async fn asks(ctx: &Context) -> Result<String> {
        let Name { name } = ctx.elicit("Who?").await?;
        CALLS.fetch_add(1, Ordering::SeqCst);
        Err(Error::msg(format!("not for {name}")))
    }
    let revisions = [Revision::V2025_11_25, Revision::V2026_07_28];
    for (round, revision) in revisions.into_iter().enumerate() {
        let server = Server::new("asks", "1").tools(tools![asks]).layer(quick(3));
        let answer = |_: &mcp_runtime::testing::ElicitRequest| json!({"name": "Ada"});
        let client = TestClient::builder(server).revision(revision).on_elicit(answer).connect().await?;
        assert_eq!(client.call("asks", json!({})).await?.text(), "not for Ada");
        assert_eq!(CALLS.load(Ordering::SeqCst), round + 1, "{revision}");
    }
    Ok(())
}

#[tokio::test]
async fn cache_answers_the_same_call_of_the_same_caller() -> Result<()> {
    let cache = Cache::new(Duration::from_mins(10));
    let flaky = Arc::new(Flaky::default());
    let connect = |name: &'static str, scopes: &'static [&'static str], revision: Revision| {
        let server = Server::new("cached", "1.0.0").mount(Arc::clone(&flaky)).layer(cache.clone());
        TestClient::builder(server).revision(revision).user(name, scopes.iter().copied()).connect()
    };
    let alice = connect("alice", &["a"], Revision::LATEST).await?;
    assert_eq!(alice.call("reads", json!({})).await?.text(), "1");
    assert_eq!(alice.call("reads", json!({})).await?.text(), "1");
    assert_eq!(alice.call("reads", json!({"_text": "other"})).await?.text(), "2", "other arguments");
    assert_eq!(
        connect("bob", &["a"], Revision::LATEST).await?.call("reads", json!({})).await?.text(),
        "3",
        "another user"
    );
    assert_eq!(
        connect("alice", &["b"], Revision::LATEST).await?.call("reads", json!({})).await?.text(),
        "4",
        "other scopes"
    );
    assert_eq!(connect("alice", &["a"], Revision::V2025_03_26).await?.call("reads", json!({})).await?.text(), "5");
    assert_eq!(connect("alice", &["a"], Revision::LATEST).await?.call("reads", json!({})).await?.text(), "1");
    cache.clear();
    assert_eq!(alice.call("reads", json!({})).await?.text(), "6");
    Ok(())
}

#[tokio::test]
async fn cache_keeps_no_errors_and_nothing_of_tools_that_change() -> Result<()> {
    let (client, flaky) = flaky(1, Cache::new(Duration::from_mins(10))).await?;
    assert!(client.call("reads", json!({})).await?.is_error());
    assert_eq!(client.call("reads", json!({})).await?.text(), "2");
    assert_eq!(client.call("changes", json!({})).await?.text(), "3");
    assert_eq!(client.call("changes", json!({})).await?.text(), "4");
    assert_eq!(client.read("report://one").await?.text(), "5");
    assert_eq!(client.read("report://one").await?.text(), "6");
    assert_eq!(flaky.calls.load(Ordering::SeqCst), 6);
    Ok(())
}

#[derive(Serialize, JsonSchema)]
struct Account {
    owner: String,
    note: String,
}

/// An account.
#[tool(read_only)]
fn account(name: String) -> Json<Account> {
    Json(Account { owner: name, note: "card 4000123412341234".to_owned() })
}

/// Text of a length.
#[tool(read_only)]
fn text(length: usize) -> String {
    "é".repeat(length / 2)
}

/// A long resource.
#[resource("text://long")]
fn long() -> String {
    "x".repeat(1000)
}

/// Leaks.
#[tool]
fn leak(how: String) -> Result<ToolResult> {
    let text = "at 4000123412341234";
    match &*how {
        "error" => Err(Error::msg(text)),
        "data" => Err(Error::internal("failed").with_data(json!({"why": [text]}))),
        "block" => Ok(ToolResult::new([Content::text(text)]).with_meta("tests.example/why", text)),
        _ => Ok(ToolResult::error(text)),
    }
}

fn texts() -> Server {
    Server::new("texts", "1.0.0").tools(tools![account, text, leak]).resources(resources![long])
}

#[tokio::test]
async fn response_limit_refuses_or_truncates() -> Result<()> {
    for &revision in Revision::ALL {
        let client = TestClient::with_revision(texts().layer(ResponseLimit::new(100)), revision).await?;
        assert_eq!(client.call("text", json!({"length": 100})).await?.text().len(), 100);
        let refused = client.call("text", json!({"length": 102})).await?;
        assert!(
            refused.is_error() && refused.text().starts_with("The result has 102 bytes, and 100 is the limit. Narrow")
        );
        let error = client.read("text://long").await.unwrap_err();
        assert!(error.to_string().contains("1000 bytes"), "{error}");
        // The structured result and its text.
        let refused = client.call("account", json!({"name": "x".repeat(30)})).await?;
        assert!(refused.is_error(), "{revision}");
    }
    let limit = ResponseLimit::new(101).truncate().advice("Ask for less.");
    let client = TestClient::connect(texts().layer(limit)).await?;
    let cut = client.call("text", json!({"length": 200})).await?;
    assert_eq!(cut.text(), format!("{}\n\n[Cut off after 100 of 200 bytes. Ask for less.]", "é".repeat(50)));
    assert!(!cut.is_error());
    assert!(client.call("account", json!({"name": "x".repeat(90)})).await?.is_error(), "half of it has no schema");
    Ok(())
}

#[tokio::test]
async fn redaction_reaches_every_text() -> Result<()> {
    let redact = || Redact::patterns([r"\b\d{16}\b", "Ada"], "$0[hidden]");
    for &revision in Revision::ALL {
        let client = TestClient::with_revision(texts().layer(redact()?), revision).await?;
        for how in ["error", "", "block"] {
            assert_eq!(client.call("leak", json!({"how": how})).await?.text(), "at $0[hidden]", "{revision} {how}");
        }
        let block = client.call("leak", json!({"how": "block"})).await?;
        assert_eq!(block.meta()["tests.example/why"], "at $0[hidden]");
        let error = client.call("leak", json!({"how": "data"})).await.unwrap_err();
        assert_eq!(error.data(), Some(&json!({"why": ["at $0[hidden]"]})));
        let account = client.call("account", json!({"name": "Ada"})).await?;
        assert_eq!(account.text(), r#"{"owner":"$0[hidden]","note":"card $0[hidden]"}"#);
    }
    assert!(Redact::patterns(["("], "").is_err());
    Ok(())
}

#[tokio::test]
async fn errors_are_mapped_by_type_and_kind() -> Result<()> {
    #[derive(Debug, thiserror::Error)]
    #[error("no quota")]
    struct Quota;
    /// Fails.
    #[tool]
    fn fails(how: Option<u8>) -> Result<()> {
        Err(if how.is_some() { Quota.into() } else { std::io::Error::other("secret path").into() })
    }
    let map = MapErrors::new(|error| match error.kind() {
        ErrorKind::Handler if error.downcast_ref::<Quota>().is_some() => {
            Some(Error::application(mcp_runtime::ErrorCode::new(7), error.to_string()))
        }
        ErrorKind::Handler => Some(Error::msg("failed")),
        _ => None,
    });
    let client = TestClient::connect(Server::new("mapped", "1").tools(tools![fails]).layer(map)).await?;
    let error = client.call("fails", json!({"how": 1})).await.unwrap_err();
    assert_eq!((error.code(), &*error.to_string()), (Some(7), "no quota"));
    assert_eq!(client.call("fails", json!({})).await?.text(), "failed");
    assert!(client.call("fails", json!({"how": "x"})).await?.text().contains("how"), "stays as it is");
    Ok(())
}

/// A subscriber that writes a line per event, as those do that write to files.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Log {
    fn dispatch(&self) -> tracing::Dispatch {
        tracing::Dispatch::new(tracing_subscriber::registry().with(self.clone()))
    }

    fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Log {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        struct Line<'a>(&'a mut String);
        impl tracing::field::Visit for Line<'_> {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                write!(self.0, " {field}={value:?}").unwrap();
            }
        }
        if event.metadata().target() == "mcp_runtime::audit" {
            let mut log = self.0.lock().unwrap();
            event.record(&mut Line(&mut log));
            log.push('\n');
        }
    }
}

/// Puts a subscriber around calls: they run on threads of their own.
fn logged(log: &Log) -> impl Fn(Call, mcp_runtime::layers::Next) -> LoggedFuture + Send + Sync + 'static + use<> {
    let dispatch = log.dispatch();
    move |call, next| {
        let dispatch = dispatch.clone();
        Box::pin(async move {
            let mut run = Box::pin(async move { next.run(call).await });
            std::future::poll_fn(|cx| tracing::dispatcher::with_default(&dispatch, || run.as_mut().poll(cx))).await
        })
    }
}

type LoggedFuture = std::pin::Pin<Box<dyn Future<Output = Outcome> + Send>>;

#[tokio::test]
async fn audit_log_has_a_line_per_call_that_no_caller_can_forge() -> Result<()> {
    let log = Log::default();
    let server = texts().layer(logged(&log)).layer(Audit::new());
    let evil = "x\nINFO mcp_runtime::audit: forged";
    let client = TestClient::builder(server).name(evil).user(evil, ["a"]).connect().await?;
    client.call("text", json!({"length": 4})).await?;
    client.call("leak", json!({"how": "error"})).await?;
    client.call("leak", json!({"how": ""})).await?;
    client.call("leak", json!({"how": "data"})).await.unwrap_err();
    client.read("text://long").await?;
    drop(client);
    let text = log.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert!(lines.iter().all(|line| line.starts_with(" message=call kind=") && line.contains(r"x\nINFO")), "{text}");
    // printf '{"length":4}' | sha256sum
    let hash = "arguments=\"976b9145";
    for (line, parts) in lines.iter().zip([
        ["kind=\"tool\" name=\"text\"", "outcome=\"ok\"", "bytes=4"],
        ["name=\"leak\"", "outcome=\"handler\"", "user="],
        ["name=\"leak\"", "outcome=\"is_error\"", "client="],
        ["name=\"leak\"", "outcome=\"protocol\" code=-32603", "revision="],
        ["kind=\"resource\" name=\"text://long\"", "outcome=\"ok\"", "bytes=1000"],
    ]) {
        assert!(parts.iter().all(|part| line.contains(part)), "{line}");
    }
    assert!(!text.contains("4000123412341234"), "no results in the log");
    assert!(lines[0].contains("arguments=") && lines[0].contains(hash), "{}", lines[0]);
    Ok(())
}

#[tokio::test]
async fn audit_log_with_a_key_tells_equal_arguments_and_nothing_else() -> Result<()> {
    let hash = |line: &str| line.split("arguments=").nth(1).unwrap()[..66].to_owned();
    let mut hashes = Vec::new();
    for secret in ["one", "other"] {
        let log = Log::default();
        let client = TestClient::connect(texts().layer(logged(&log)).layer(Audit::keyed(secret))).await?;
        for length in [2, 2, 4] {
            client.call("text", json!({"length": length})).await?;
        }
        let text = log.text();
        let lines: Vec<String> = text.lines().map(hash).collect();
        assert!(lines[0] == lines[1] && lines[0] != lines[2], "{text}");
        hashes.push(lines[0].clone());
    }
    assert_ne!(hashes[0], hashes[1]);
    Ok(())
}

#[tokio::test]
async fn audit_log_has_dropped_calls() -> Result<()> {
    /// Never returns.
    #[tool(timeout = "10ms")]
    async fn never() {
        std::future::pending::<()>().await;
    }
    let log = Log::default();
    // The subscriber must be the current one when the layer is dropped.
    let _default = tracing::dispatcher::set_default(&log.dispatch());
    let client = TestClient::connect(Server::new("s", "1").tools(tools![never]).layer(Audit::new())).await?;
    assert!(client.call("never", json!({})).await?.text().contains("timed out"));
    let text = log.text();
    assert!(text.contains("outcome=\"dropped\""), "{text}");
    Ok(())
}

/// A layer of tower: counts calls, and refuses those beyond its limit.
#[derive(Clone)]
struct Limit<S> {
    inner: S,
    left: Arc<AtomicUsize>,
}

impl<S: Service<Call, Response = Outcome>> Service<Call> for Limit<S>
where
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    S::Future: Send + 'static,
{
    type Response = Outcome;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Outcome, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
        if self.left.load(Ordering::SeqCst) == 0 {
            return std::task::Poll::Ready(Err("no calls left".into()));
        }
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        self.left.fetch_sub(1, Ordering::SeqCst);
        let done = self.inner.call(call);
        Box::pin(async move { done.await.map_err(Into::into) })
    }
}

#[tokio::test]
async fn layers_of_tower_surround_calls() -> Result<()> {
    for &revision in Revision::ALL {
        let left = Arc::new(AtomicUsize::new(2));
        let limit = tower_layer::layer_fn(move |inner| Limit { inner, left: Arc::clone(&left) });
        let client = TestClient::with_revision(texts().tower_layer(limit), revision).await?;
        assert_eq!(client.call("text", json!({"length": 2})).await?.text(), "é");
        assert_eq!(client.read("text://long").await?.text().len(), 1000);
        let refused = client.call("text", json!({"length": 2})).await?;
        assert_eq!((refused.is_error(), &*refused.text()), (true, "no calls left"), "{revision}");
    }
    Ok(())
}
