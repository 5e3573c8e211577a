//! Task handlers that ask, start, panic or block in the wrong place.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mcp_runtime::testing::TestClient;
use mcp_runtime::{Limits, Revision, prelude::*};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::{Confirm, accept};

const SOON: Duration = Duration::from_secs(5);

/// Ask for a moment only, and go on.
#[tool(task)]
async fn hasty(ctx: &Context) -> Result<String> {
    let moment = Duration::from_millis(150);
    let asked = timeout(moment, ctx.elicit::<Confirm>("Quick?").key("quick")).await;
    sleep(Duration::from_millis(300)).await;
    let other: Confirm = ctx.elicit("Slow?").key("slow").await?;
    Ok(format!("{} {}", asked.is_ok(), other.sure))
}

/// Ask, and become a task, at the same time.
#[tool(task, asks_first)]
async fn both(ctx: &Context) -> Result<String> {
    let (sure, ()) = tokio::join!(ctx.elicit::<Confirm>("Sure?"), ctx.start_task());
    Ok(format!("{} {}", sure?.sure, ctx.is_task()))
}

/// Become a task from a thread.
#[tool(task, asks_first, blocking)]
fn from_thread(ctx: &Context) -> String {
    std::thread::sleep(Duration::from_millis(20));
    tokio::runtime::Handle::current().block_on(ctx.start_task());
    format!("task: {}", ctx.is_task())
}

/// Become a task from somewhere else.
#[tool(task, asks_first)]
async fn elsewhere(ctx: &Context) -> Result<String> {
    let starter = ctx.clone();
    tokio::spawn(async move {
        sleep(Duration::from_millis(20)).await;
        starter.start_task().await;
    })
    .await?;
    Ok(format!("task: {}", ctx.is_task()))
}

/// Never become the task it could be.
#[tool(task, asks_first)]
async fn never(ctx: &Context, fail: Option<bool>) -> Result<&'static str> {
    tokio::task::yield_now().await;
    if fail == Some(true) || ctx.is_task() { Err(Error::msg("it failed")) } else { Ok("no task") }
}

/// Have no way to become one.
#[tool(task, asks_first)]
async fn oblivious() -> &'static str {
    tokio::task::yield_now().await;
    "no task"
}

static DROPPED: AtomicBool = AtomicBool::new(false);

/// Compute for a while before anything is awaited, and then never end.
#[tool(task)]
async fn heavy() {
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            DROPPED.store(true, Ordering::SeqCst);
        }
    }
    let _guard = Guard;
    std::thread::sleep(Duration::from_millis(300));
    std::future::pending::<()>().await;
}

/// Panic.
#[tool(task)]
async fn panics() {
    tokio::task::yield_now().await;
    panic!("on purpose");
}

/// Never end.
#[tool(task)]
async fn forever() {
    std::future::pending::<()>().await;
}

fn misused() -> Server {
    let mut limits = Limits::default();
    limits.task_ttl = Duration::from_secs(20);
    let tools = tools![hasty, both, from_thread, elsewhere, never, oblivious, heavy, panics, forever];
    Server::new("misused", "1.0.0").limits(limits).tools(tools)
}

async fn connect(revision: Revision) -> Result<TestClient, ServerError> {
    let client = TestClient::builder(misused()).revision(revision).capability("elicitation", json!({}));
    client.capability("extensions", json!({"io.modelcontextprotocol/tasks": {}})).connect().await
}

async fn modern() -> Result<TestClient, ServerError> {
    connect(Revision::V2026_07_28).await
}

async fn legacy() -> Result<TestClient, ServerError> {
    connect(Revision::V2025_11_25).await
}

async fn call(client: &TestClient, name: &str, arguments: Value) -> Result<Value, ServerError> {
    let call = client.request("tools/call", json!({"name": name, "arguments": arguments, "task": {"ttl": 10_000}}));
    timeout(SOON, call).await.expect("it waits for ever")
}

async fn until(client: &TestClient, id: &Value, status: &str) -> Result<Value> {
    let begun = Instant::now();
    loop {
        let task = client.request("tasks/get", json!({"taskId": id})).await?;
        if task["status"] == status {
            return Ok(task);
        }
        assert!(begun.elapsed() < SOON, "never {status}: {task}");
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn dropped_ask_leaves_input_requests() -> Result<()> {
    let client = modern().await?;
    let task = call(&client, "hasty", json!({})).await?;
    let parked = until(&client, &task["taskId"], "input_required").await?;
    assert!(parked["inputRequests"].get("quick").is_some());
    until(&client, &task["taskId"], "working").await?;
    let parked = until(&client, &task["taskId"], "input_required").await?;
    assert_eq!(parked["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["slow"]);
    let answers = json!({"quick": accept(true), "slow": accept(true)});
    client.request("tasks/update", json!({"taskId": task["taskId"], "inputResponses": answers})).await?;
    let done = until(&client, &task["taskId"], "completed").await?;
    assert_eq!(done["result"]["content"][0]["text"], "false true");
    Ok(())
}

/// In 2025-11-25 the question was a request: the client gets its cancellation before the result.
#[tokio::test]
async fn dropped_ask_withdraws_its_request() -> Result<()> {
    let client = legacy().await?;
    let task = call(&client, "hasty", json!({})).await?["task"].clone();
    let result = json!({"jsonrpc": "2.0", "id": "r", "method": "tasks/result", "params": {"taskId": task["taskId"]}});
    client.send(&result.to_string())?;
    let next = async || -> Result<Value> {
        Ok(serde_json::from_str(&timeout(SOON, client.receive()).await.expect("nothing more comes")?)?)
    };
    let quick = next().await?;
    assert_eq!(quick["params"]["message"], "Quick?");
    let withdrawn = next().await?;
    assert_eq!(
        (&withdrawn["method"], &withdrawn["params"]["requestId"]),
        (&json!("notifications/cancelled"), &quick["id"])
    );
    let slow = next().await?;
    assert_eq!(slow["params"]["message"], "Slow?");
    client.send(&json!({"jsonrpc": "2.0", "id": slow["id"], "result": accept(true)}).to_string())?;
    assert_eq!(next().await?["result"]["content"][0]["text"], "false true");
    Ok(())
}

#[tokio::test]
async fn concurrent_ask_and_start_task_asks_first() -> Result<()> {
    let client = modern().await?;
    let round = call(&client, "both", json!({})).await?;
    assert_eq!(round["resultType"], "input_required", "{round}");
    let retry = json!({"name": "both", "arguments": {}, "task": {"ttl": 10_000}, "inputResponses": {"ask-1": accept(true)}, "requestState": round["requestState"]});
    let task = client.request("tools/call", retry).await?;
    assert_eq!(task["resultType"], "task", "{task}");
    let done = until(&client, &task["taskId"], "completed").await?;
    assert_eq!(done["result"]["content"][0]["text"], "true true");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn task_can_be_started_from_a_thread_or_a_spawned_task() -> Result<()> {
    for tool in ["from_thread", "elsewhere"] {
        let client = modern().await?;
        let task = call(&client, tool, json!({})).await?;
        assert_eq!(task["resultType"], "task", "{tool}: {task}");
        let done = until(&client, &task["taskId"], "completed").await?;
        assert_eq!(done["result"]["content"][0]["text"], "task: true", "{tool}");
    }
    Ok(())
}

/// In 2025-11-25 the client requested a task, and cannot read anything else.
/// <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#result-retrieval>
#[tokio::test]
async fn asks_first_handler_that_never_starts_is_a_task_in_2025_11_25() -> Result<()> {
    let client = legacy().await?;
    for (tool, arguments, status, text) in [
        ("never", json!({}), "completed", "no task"),
        ("never", json!({"fail": true}), "failed", "it failed"),
        ("never", json!({"fail": "perhaps"}), "failed", "Invalid arguments"),
        ("oblivious", json!({}), "completed", "no task"),
    ] {
        let created = call(&client, tool, arguments).await?;
        assert_eq!(created["task"]["status"], "working", "{created}");
        let id = &created["task"]["taskId"];
        let done = until(&client, id, status).await?;
        if status == "failed" {
            assert!(done["statusMessage"].as_str().unwrap().contains(text), "{done}");
        }
        let result = client.request("tasks/result", json!({"taskId": id})).await?;
        assert!(result["content"][0]["text"].as_str().unwrap().contains(text), "{result}");
    }
    let client = modern().await?;
    assert_eq!(call(&client, "never", json!({})).await?["content"][0]["text"], "no task", "there the server decides");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_task_is_dropped_at_its_first_await() -> Result<()> {
    let client = modern().await?;
    let task = call(&client, "heavy", json!({})).await?;
    client.request("tasks/cancel", json!({"taskId": task["taskId"]})).await?;
    let begun = Instant::now();
    while !DROPPED.load(Ordering::SeqCst) {
        assert!(begun.elapsed() < SOON, "it runs on");
        sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

#[tokio::test]
async fn panicking_task_completes_with_an_error() -> Result<()> {
    let client = modern().await?;
    let task = call(&client, "panics", json!({})).await?;
    let done = until(&client, &task["taskId"], "completed").await?;
    assert_eq!(done["result"]["isError"], true);
    Ok(())
}

#[tokio::test]
async fn tasks_result_fails_when_the_task_expires() -> Result<()> {
    let client = legacy().await?;
    let call = json!({"name": "forever", "arguments": {}, "task": {"ttl": 200}});
    let created = client.request("tools/call", call).await?;
    let result = client.request("tasks/result", json!({"taskId": created["task"]["taskId"]}));
    let error = timeout(SOON, result).await.expect("it waits for ever").unwrap_err();
    assert_eq!(error.code(), Some(-32602));
    Ok(())
}
