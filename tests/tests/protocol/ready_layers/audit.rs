//! `Audit`.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use mcp_runtime::auth::User;
use mcp_runtime::layers::{Audit, Call, Next, Outcome};
use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use mcp_tests::http::until;
use tracing_subscriber::layer::SubscriberExt as _;

use super::texts;

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
fn logged(log: &Log) -> impl Fn(Call, Next) -> LoggedFuture + Send + Sync + 'static + use<> {
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

#[tokio::test]
async fn audit_log_names_handlers_and_issuers_and_no_arguments() -> Result<()> {
    /// A file of a patient.
    #[resource("patient://{name}")]
    fn patient(name: String) -> String {
        name
    }
    /// Ask about a patient.
    #[prompt]
    fn about(name: String) -> String {
        name
    }
    let log = Log::default();
    let server = Server::new("s", "1").resources(resources![patient]).prompts(prompts![about]);
    let user = User::new("alice").with_issuer("https://auth.example.com");
    let server = server.layer(logged(&log)).layer(Audit::new());
    let client = TestClient::builder(server).user_is(user).connect().await?;
    assert_eq!(client.read("patient://ada").await?.text(), "ada");
    assert_eq!(client.get_prompt("about", json!({"name": "ada"})).await?.text(), "ada");
    let text = log.text();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains(r#"kind="resource" name="patient://{name}""#), "{text}");
    assert!(lines[1].contains(r#"kind="prompt" name="about""#) && lines[1].contains("outcome=\"ok\""), "{text}");
    assert!(lines.iter().all(|line| line.contains(r#"user="alice" issuer="https://auth.example.com""#)), "{text}");
    assert!(!text.contains("ada"), "no arguments in the log: {text}");
    Ok(())
}

#[tokio::test]
async fn audit_log_has_cancelled_calls() -> Result<()> {
    /// Never returns.
    #[tool]
    async fn never() {
        std::future::pending::<()>().await;
    }
    let log = Log::default();
    let _default = tracing::dispatcher::set_default(&log.dispatch());
    let entered = Arc::new(AtomicBool::new(false));
    let enters = Arc::clone(&entered);
    let notes = move |call: Call, next: Next| {
        enters.store(true, Ordering::SeqCst);
        async move { next.run(call).await }
    };
    let server = Server::new("s", "1").tools(tools![never]).layer(Audit::new()).layer(notes);
    let client = TestClient::connect(server).await?;
    let call = client.start("never", json!({}))?;
    until(|| entered.load(Ordering::SeqCst)).await;
    call.cancel()?;
    until(|| log.text().contains("outcome=\"dropped\"")).await;
    Ok(())
}
