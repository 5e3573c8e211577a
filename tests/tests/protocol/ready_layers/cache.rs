//! `Cache`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::Revision;
use mcp_runtime::layers::{Cache, Call, Next, Outcome};
use mcp_runtime::prelude::*;
use mcp_runtime::testing::{ElicitRequest, TestClient};
use mcp_tests::http::until;
use schemars::JsonSchema;

use super::{Flaky, flaky};

#[tokio::test]
async fn cache_answers_the_same_call() -> Result<()> {
    let cache = Cache::new(Duration::from_secs(10 * 60));
    let (client, _) = flaky(0, cache.clone()).await?;
    assert_eq!(client.call("reads", json!({})).await?.text(), "1");
    assert_eq!(client.call("reads", json!({})).await?.text(), "1");
    assert_eq!(client.call("reads", json!({"_text": "other"})).await?.text(), "2", "other arguments");
    cache.clear();
    assert_eq!(client.call("reads", json!({})).await?.text(), "3");
    Ok(())
}

#[tokio::test]
async fn servers_that_share_a_cache_do_not_share_results() -> Result<()> {
    let cache = Cache::new(Duration::from_secs(10 * 60));
    let (one, _) = flaky(0, cache.clone()).await?;
    let (other, flaky) = flaky(0, cache.clone()).await?;
    flaky.calls.store(10, Ordering::SeqCst);
    assert_eq!(one.call("reads", json!({})).await?.text(), "1");
    assert_eq!(other.call("reads", json!({})).await?.text(), "11");
    cache.clear();
    assert_eq!(one.call("reads", json!({})).await?.text(), "2");
    Ok(())
}

#[tokio::test]
async fn tool_that_replaces_another_begins_without_results() -> Result<()> {
    fn made(text: &'static str) -> Tool {
        let tool = Tool::builder("made").description("Made at run time.").read_only(true);
        tool.handler(move |_, _: serde_json::Value| async move { text })
    }
    let server = Server::new("changing", "1").tools([made("old")]).layer(Cache::new(Duration::from_secs(10 * 60)));
    let handle = server.handle();
    let client = TestClient::connect(server).await?;
    assert_eq!(client.call("made", json!({})).await?.text(), "old");
    assert!(handle.tools().remove("made"));
    handle.tools().add([made("new")])?;
    assert_eq!(client.call("made", json!({})).await?.text(), "new");
    Ok(())
}

#[derive(serde::Deserialize, JsonSchema)]
struct Name {
    name: String,
}

fn ada(_: &ElicitRequest) -> serde_json::Value {
    json!({"name": "Ada"})
}

#[tokio::test]
async fn cache_keeps_nothing_of_a_handler_that_asked() -> Result<()> {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    /// Asks.
    #[tool(read_only)]
    async fn asks(ctx: &Context) -> Result<String> {
        let Name { name } = ctx.elicit("Who?").await?;
        Ok(format!("{name} {}", CALLS.fetch_add(1, Ordering::SeqCst)))
    }
    let revisions = [Revision::V2025_11_25, Revision::V2026_07_28];
    for (first, revision) in (0..).step_by(2).zip(revisions) {
        let server = Server::new("asks", "1").tools(tools![asks]).layer(Cache::new(Duration::from_secs(10 * 60)));
        let client = TestClient::builder(server).revision(revision).on_elicit(ada).connect().await?;
        for call in [first, first + 1] {
            assert_eq!(client.call("asks", json!({})).await?.text(), format!("Ada {call}"), "{revision}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn cache_inside_of_a_layer_that_asks_keeps_results() -> Result<()> {
    async fn asked(call: Call, next: Next) -> Result<Outcome> {
        let Name { name } = call.ctx().elicit("Who are you?").await?;
        assert!(name == "Ada" && call.has_asked());
        Ok(next.run(call).await)
    }
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let state = Arc::new(Flaky::default());
        let server = Server::new("asked", "1").mount(Arc::clone(&state));
        let server = server.layer(asked).layer(Cache::new(Duration::from_secs(10 * 60)));
        let client = TestClient::builder(server).revision(revision).on_elicit(ada).connect().await?;
        for _ in 0..2 {
            assert_eq!(client.call("reads", json!({})).await?.text(), "1", "{revision}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn result_of_a_call_that_ran_when_the_cache_was_cleared_is_not_kept() -> Result<()> {
    #[derive(Default)]
    struct Gate {
        entered: AtomicUsize,
        open: tokio::sync::Notify,
    }
    #[handlers]
    impl Gate {
        /// Waits.
        #[tool(read_only)]
        async fn waits(&self) -> usize {
            let call = self.entered.fetch_add(1, Ordering::SeqCst) + 1;
            self.open.notified().await;
            call
        }
    }
    let (cache, gate) = (Cache::new(Duration::from_secs(10 * 60)), Arc::new(Gate::default()));
    let server = Server::new("gate", "1").mount(Arc::clone(&gate)).layer(cache.clone());
    let client = TestClient::connect(server).await?;
    let call = client.start("waits", json!({}))?;
    until(|| gate.entered.load(Ordering::SeqCst) == 1).await;
    cache.clear();
    gate.open.notify_one();
    assert_eq!(call.result().await?.text(), "1");
    gate.open.notify_one();
    assert_eq!(client.call("waits", json!({})).await?.text(), "2", "the first is as old as the cleared ones");
    assert_eq!(client.call("waits", json!({})).await?.text(), "2", "and the second is kept");
    Ok(())
}

#[tokio::test]
async fn cache_keeps_no_errors_and_nothing_of_tools_that_change() -> Result<()> {
    let (client, flaky) = flaky(1, Cache::new(Duration::from_secs(10 * 60))).await?;
    assert!(client.call("reads", json!({})).await?.is_error());
    assert_eq!(client.call("reads", json!({})).await?.text(), "2");
    assert_eq!(client.call("changes", json!({})).await?.text(), "3");
    assert_eq!(client.call("changes", json!({})).await?.text(), "4");
    assert_eq!(client.read("report://one").await?.text(), "5");
    assert_eq!(client.read("report://one").await?.text(), "6");
    assert_eq!(flaky.calls.load(Ordering::SeqCst), 6);
    Ok(())
}
