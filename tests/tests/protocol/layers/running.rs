//! How layers run: polls, repeated runs, cancellation, progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::Revision;
use mcp_runtime::layers::{Audit, Cache, Call, MapErrors, Next, Outcome, Redact, ResponseLimit, Retry};
use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use mcp_tests::http::until;

use super::*;

#[tokio::test]
async fn next_may_run_more_than_once() -> Result<()> {
    async fn thrice(call: Call, next: Next) -> Outcome {
        let mut outcome = next.run(call.clone()).await;
        for _ in 0..2 {
            if !outcome.is_error() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
            outcome = next.run(call.clone()).await;
        }
        outcome
    }
    #[derive(Default)]
    struct Flaky(AtomicUsize);
    #[handlers]
    impl Flaky {
        /// Fails twice.
        #[tool]
        fn now(&self, ctx: &Context, text: String) -> Result<String> {
            assert!(!ctx.is_cancelled());
            if self.0.fetch_add(1, Ordering::SeqCst) % 3 < 2 { Err(Error::msg("not yet")) } else { Ok(text) }
        }

        /// Fails twice, on a thread.
        #[tool(blocking)]
        fn on_a_thread(&self, ctx: &Context, text: String) -> Result<String> {
            self.now(ctx, text)
        }

        /// Fails twice, later.
        #[tool]
        async fn later(&self, ctx: &Context, text: String) -> Result<String> {
            tokio::task::yield_now().await;
            self.now(ctx, text)
        }
    }
    for &revision in Revision::ALL {
        let client =
            TestClient::with_revision(Server::new("flaky", "1").layer(thrice).mount(Flaky::default()), revision)
                .await?;
        for tool in ["now", "on_a_thread", "later"] {
            assert_eq!(client.call(tool, json!({"text": "at last"})).await?.text(), "at last", "{revision} {tool}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn call_that_never_waits_is_answered_in_the_first_poll() -> Result<()> {
    // The thread that reads polls once; a call that is pending then goes on in a task, on another thread.
    async fn threads(call: Call, next: Next) -> Outcome {
        let name = || std::thread::current().name().unwrap_or_default().to_owned();
        let (before, waits) = (name(), call.name() == "double_later");
        let outcome = next.run(call).await;
        assert_eq!(before == name(), !waits, "{before}");
        assert_eq!(before, "mcp-stdio");
        outcome
    }
    let seen = Seen::default();
    let client = TestClient::connect(server().layer(threads).layer(seen.layer("-")).layer(threads)).await?;
    assert_eq!(client.call("double", json!({"number": 4})).await?.text(), "8");
    assert_eq!(client.call("double_later", json!({"number": 4})).await?.text(), "8");
    assert_eq!(client.read("note://a/named").await?.text(), "the note a");
    assert_eq!(client.request("tests.example/half", json!({"of": 8})).await?["value"], 4);
    assert_eq!(client.complete_prompt("paint", "colour", "gr", json!({})).await?.values.len(), 2);
    Ok(())
}

#[tokio::test]
async fn ready_layers_do_not_wait() -> Result<()> {
    async fn threads(call: Call, next: Next) -> Outcome {
        assert_eq!(std::thread::current().name(), Some("mcp-stdio"));
        let outcome = next.run(call).await;
        assert_eq!(std::thread::current().name(), Some("mcp-stdio"), "a call that waits goes on in a task");
        outcome
    }
    let server = server()
        .layer(threads)
        .layer(Audit::new())
        .layer(ResponseLimit::new(1000))
        .layer(Redact::patterns(["secret"], "")?)
        .layer(MapErrors::new(|_| None))
        .layer(Cache::new(Duration::from_secs(60)))
        .layer(Retry::new(3));
    let client = TestClient::connect(server).await?;
    for _ in 0..2 {
        assert_eq!(client.call("double", json!({"number": 4})).await?.text(), "8");
    }
    Ok(())
}

#[tokio::test]
async fn cancelled_and_timed_out_calls_drop_their_layers() -> Result<()> {
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let (dropped, entered) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, begun) = (Arc::clone(&dropped), Arc::clone(&entered));
    let waits = move |call: Call, next: Next| {
        let (guard, begun) = (Dropped(Arc::clone(&counted)), Arc::clone(&begun));
        async move {
            begun.fetch_add(1, Ordering::SeqCst);
            if call.name() == "double" {
                std::future::pending::<()>().await;
            }
            let outcome = next.run(call).await;
            drop(guard);
            outcome
        }
    };
    let client = TestClient::connect(server().layer(waits.clone())).await?;
    let call = client.start("double", json!({"number": 1}))?;
    until(|| entered.load(Ordering::SeqCst) == 1).await;
    call.cancel()?;
    until(|| dropped.load(Ordering::SeqCst) == 1).await;
    // A timeout surrounds the layers, too.
    let client = TestClient::connect(server().timeout(Duration::from_millis(20)).layer(waits)).await?;
    let late = client.call("double", json!({"number": 1})).await?;
    assert_eq!(late.text(), "The tool timed out after 20ms.");
    until(|| dropped.load(Ordering::SeqCst) == 2).await;
    Ok(())
}

#[tokio::test]
async fn layers_report_progress_and_share_the_context() -> Result<()> {
    /// Work.
    #[tool]
    async fn work(ctx: &Context) -> &'static str {
        ctx.progress(2, 3).await;
        "worked"
    }
    async fn reports(call: Call, next: Next) -> Outcome {
        let ctx = call.ctx().clone();
        ctx.progress(1, 3).await;
        tokio::time::sleep(Duration::from_millis(15)).await;
        let outcome = next.run(call).await;
        ctx.progress(3, 3).await;
        outcome
    }
    for &revision in Revision::ALL {
        let server = Server::new("progress", "1.0.0").tools(tools![work]).layer(reports);
        let client = TestClient::with_revision(server, revision).await?;
        let observed = client.observe("work", json!({})).await?;
        assert_eq!(observed.result().text(), "worked");
        let done: Vec<f64> = observed.progress().iter().map(|note| note.done).collect();
        assert_eq!(done, [1.0, 2.0, 3.0], "{revision}");
    }
    Ok(())
}
