//! `Retry`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::Revision;
use mcp_runtime::layers::{Call, Next, Outcome, Retry};
use mcp_runtime::prelude::*;
use mcp_runtime::testing::{ElicitRequest, TestClient};
use mcp_tests::http::until;
use schemars::JsonSchema;

use super::{Flaky, flaky};

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
        let answer = |_: &ElicitRequest| json!({"name": "Ada"});
        let client = TestClient::builder(server).revision(revision).on_elicit(answer).connect().await?;
        assert_eq!(client.call("asks", json!({})).await?.text(), "not for Ada");
        assert_eq!(CALLS.load(Ordering::SeqCst), round + 1, "{revision}");
    }
    Ok(())
}

#[tokio::test]
async fn retry_inside_of_a_layer_that_asks_repeats() -> Result<()> {
    #[derive(serde::Deserialize, JsonSchema)]
    struct Name {
        name: String,
    }
    async fn asked(call: Call, next: Next) -> Result<Outcome> {
        let Name { name } = call.ctx().elicit("Who are you?").await?;
        assert_eq!(name, "Ada");
        Ok(next.run(call).await)
    }
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let state = Arc::new(Flaky { fails: 2, ..Flaky::default() });
        let server = Server::new("asked", "1").mount(Arc::clone(&state)).layer(asked).layer(quick(3));
        let answer = |_: &ElicitRequest| json!({"name": "Ada"});
        let client = TestClient::builder(server).revision(revision).on_elicit(answer).connect().await?;
        assert_eq!(client.call("reads", json!({})).await?.text(), "3", "{revision}");
    }
    Ok(())
}

/// Pauses for longer than any test runs.
fn patient() -> Retry {
    let day = Duration::from_secs(24 * 60 * 60);
    Retry::new(3).backoff(day).max_backoff(day)
}

#[tokio::test]
async fn timeout_covers_all_attempts_and_their_pauses() -> Result<()> {
    let state = Arc::new(Flaky { fails: 2, ..Flaky::default() });
    let server = Server::new("flaky", "1").mount(Arc::clone(&state)).timeout(Duration::from_millis(20));
    let client = TestClient::connect(server.layer(patient())).await?;
    assert_eq!(client.call("reads", json!({})).await?.text(), "The tool timed out after 20ms.");
    assert_eq!(state.calls.load(Ordering::SeqCst), 1);
    Ok(())
}

#[tokio::test]
async fn cancellation_ends_a_pause() -> Result<()> {
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&dropped);
    let guarded = move |call: Call, next: Next| {
        let guard = Dropped(Arc::clone(&counted));
        async move {
            let outcome = next.run(call).await;
            drop(guard);
            outcome
        }
    };
    let state = Arc::new(Flaky { fails: 2, ..Flaky::default() });
    let server = Server::new("flaky", "1").mount(Arc::clone(&state)).layer(guarded).layer(patient());
    let client = TestClient::connect(server).await?;
    let call = client.start("reads", json!({}))?;
    until(|| state.calls.load(Ordering::SeqCst) == 1).await;
    call.cancel()?;
    until(|| dropped.load(Ordering::SeqCst) == 1).await;
    assert_eq!(state.calls.load(Ordering::SeqCst), 1);
    Ok(())
}
