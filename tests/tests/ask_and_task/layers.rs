//! Layers around calls that ask, and around tasks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::layers::{Call, Layer, Next, Outcome};
use mcp_runtime::prelude::*;
use mcp_runtime::testing::{ElicitRequest, TestClient};
use mcp_runtime::{Revision, ToolResult};
use mcp_tests::http::{soon, until};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// Greet someone.
#[tool]
async fn greet(ctx: &Context) -> Result<String> {
    let Name { name } = ctx.elicit("Who is there?").await?;
    Ok(format!("Hello, {name}!"))
}

/// Greet two.
#[tool]
async fn greet_two(ctx: &Context) -> Result<String> {
    let Name { name: one } = ctx.elicit("Who is there?").await?;
    let Name { name: two } = ctx.elicit("And who else?").await?;
    Ok(format!("Hello, {one} and {two}!"))
}

/// Take a while.
#[tool(task)]
async fn slow(ctx: &Context) -> String {
    ctx.progress_message(1, 2, "half way").await;
    tokio::time::sleep(Duration::from_millis(10)).await;
    format!("is a task: {}", ctx.is_task())
}

/// Take no time.
#[tool(task)]
#[expect(clippy::unused_async, reason = "it never waits")]
async fn quick(text: String) -> String {
    text
}

/// Ask first, then take a while.
#[tool(task = "required", asks_first)]
async fn prepared(ctx: &Context) -> Result<String> {
    let Name { name } = ctx.elicit("Who?").await?;
    ctx.start_task().await;
    tokio::time::sleep(Duration::from_millis(10)).await;
    Ok(format!("prepared for {name}"))
}

/// Block in a task.
#[tool(task, blocking)]
fn thread(ctx: &Context) -> bool {
    std::thread::sleep(Duration::from_millis(5));
    ctx.is_task()
}

fn server() -> Server {
    Server::new("layered", "1.0.0").tools(tools![greet, greet_two, slow, quick, prepared, thread])
}

/// Notes when a call enters, and what comes of it.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Layer for Seen {
    async fn call(&self, call: Call, next: Next) -> Outcome {
        let name = call.name().to_owned();
        self.0.lock().unwrap().push(format!("{name} in, task: {}", call.ctx().is_task()));
        let outcome = next.run(call).await;
        self.0.lock().unwrap().push(format!("{name} out"));
        outcome
    }
}

async fn connect(server: Server, revision: Revision) -> Result<TestClient, ServerError> {
    let answer = |_: &ElicitRequest| json!({"name": "Ada"});
    TestClient::builder(server).revision(revision).on_elicit(answer).tasks().connect().await
}

#[tokio::test]
async fn rounds_enter_the_layers_again_and_sessions_do_not() -> Result<()> {
    let seen = Seen::default();
    let client = connect(server().layer(seen.clone()), Revision::V2025_11_25).await?;
    assert_eq!(client.call("greet_two", json!({})).await?.text(), "Hello, Ada and Ada!");
    assert_eq!(seen.take(), ["greet_two in, task: false", "greet_two out"]);

    // Each round runs the handler from the top: two that end with a question, and one that ends.
    let client = connect(server().layer(seen.clone()), Revision::V2026_07_28).await?;
    assert_eq!(client.call("greet_two", json!({})).await?.text(), "Hello, Ada and Ada!");
    let entered = "greet_two in, task: false";
    assert_eq!(seen.take(), [entered, entered, entered, "greet_two out"]);
    Ok(())
}

#[tokio::test]
async fn layers_may_ask_themselves() -> Result<()> {
    async fn confirmed(call: Call, next: Next) -> Result<Outcome> {
        let Name { name } = call.ctx().elicit("Who are you?").await?;
        if name != "Ada" {
            return Ok(ToolResult::error("not you").into());
        }
        Ok(next.run(call).await)
    }
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = connect(server().layer(confirmed), revision).await?;
        assert_eq!(client.call("greet", json!({})).await?.text(), "Hello, Ada!", "{revision}");
    }
    Ok(())
}

#[tokio::test]
async fn layers_surround_the_run_inside_a_task() -> Result<()> {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let seen = Seen::default();
        let client = connect(server().layer(seen.clone()), revision).await?;
        for (name, arguments, text) in [
            ("slow", json!({}), "is a task: true"),
            ("quick", json!({"text": "done"}), "done"),
            ("thread", json!({}), "true"),
        ] {
            let task = client.start_task(name, arguments).await?;
            assert_eq!(task.result().await?.text(), text, "{revision} {name}");
            assert_eq!(seen.take(), [format!("{name} in, task: true"), format!("{name} out")], "{revision}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn layers_go_with_a_call_that_becomes_a_task() -> Result<()> {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let seen = Seen::default();
        let client = connect(server().layer(seen.clone()), revision).await?;
        let task = client.start_task("prepared", json!({})).await?;
        assert_eq!(task.result().await?.text(), "prepared for Ada", "{revision}");
        let seen = seen.take();
        assert_eq!(seen.iter().filter(|line| *line == "prepared out").count(), 1, "{seen:?}");
        // 2026-07-28 asks in a round of its own first.
        let runs = if revision == Revision::V2026_07_28 { 2 } else { 1 };
        assert_eq!(seen.iter().filter(|line| line.contains(" in")).count(), runs, "{revision} {seen:?}");
    }
    Ok(())
}

#[tokio::test]
async fn cancelled_task_drops_its_layers() -> Result<()> {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::SeqCst);
        }
    }
    async fn stuck(_: Call, _: Next) -> Outcome {
        let _guard = Guard;
        std::future::pending().await
    }
    let client = connect(server().layer(stuck), Revision::V2026_07_28).await?;
    let task = client.start_task("slow", json!({})).await?;
    task.cancel().await?;
    until(|| DROPPED.load(Ordering::SeqCst) == 1).await;
    Ok(())
}

#[tokio::test]
async fn progress_inside_of_layers_is_that_of_the_task() -> Result<()> {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let (open, gate) = (Arc::new(tokio::sync::Notify::new()), Arc::new(tokio::sync::Notify::new()));
        let (opened, gated) = (Arc::clone(&open), Arc::clone(&gate));
        let reports = move |call: Call, next: Next| {
            let (open, gate) = (Arc::clone(&opened), Arc::clone(&gated));
            async move {
                let ctx = call.ctx().clone();
                ctx.progress_message(0, 2, "begun").await;
                open.notified().await;
                let outcome = next.run(call).await;
                gate.notified().await;
                outcome
            }
        };
        let client = connect(server().layer(reports), revision).await?;
        let task = client.start_task("slow", json!({})).await?;
        for (message, next) in [("begun", &open), ("half way", &gate)] {
            soon(async {
                while task.status().await?.message.as_deref() != Some(message) {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
                Ok::<(), ServerError>(())
            })
            .await?;
            next.notify_one();
        }
        assert_eq!(task.result().await?.text(), "is a task: true", "{revision}");
    }
    Ok(())
}

#[tokio::test]
async fn layer_may_answer_for_a_task() -> Result<()> {
    async fn answer(_: Call, _: Next) -> Outcome {
        ToolResult::text("mine").into()
    }
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = connect(server().layer(answer), revision).await?;
        for name in ["slow", "quick"] {
            let task = client.start_task(name, json!({"text": "x"})).await?;
            assert_eq!(task.result().await?.text(), "mine", "{revision} {name}");
        }
    }
    // It has not started its task: the result is owed as one only to a client that asked for one.
    let client = connect(server().layer(answer), Revision::V2025_11_25).await?;
    assert_eq!(client.start_task("prepared", json!({})).await?.result().await?.text(), "mine");
    let client = connect(server().layer(answer), Revision::V2026_07_28).await?;
    assert_eq!(client.call("prepared", json!({})).await?.text(), "mine");
    Ok(())
}
