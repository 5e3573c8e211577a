//! Limits of tasks: which are evicted, which calls go on without one, and when they are gone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_runtime::store::MemoryTasks;
use mcp_runtime::testing::TestClient;
use mcp_runtime::{Limits, Revision, prelude::*};
use serde_json::Value;

use super::{accept, server};

/// Become a task when there is room.
#[tool(task, asks_first)]
async fn later(ctx: &Context) -> Result<String> {
    ctx.start_task().await;
    let sure: super::Confirm = ctx.elicit("Sure?").await?;
    Ok(format!("{} as a {}", sure.sure, if ctx.is_task() { "task" } else { "call" }))
}

fn within(tasks: usize) -> Server {
    let mut limits = Limits::default();
    limits.tasks = tasks;
    server().tools(tools![later]).limits(limits)
}

async fn connect(server: Server, revision: Revision) -> Result<TestClient, ServerError> {
    let client = TestClient::builder(server).revision(revision).capability("elicitation", json!({}));
    client.capability("extensions", json!({"io.modelcontextprotocol/tasks": {}})).connect().await
}

async fn modern(tasks: usize) -> Result<TestClient, ServerError> {
    connect(within(tasks), Revision::V2026_07_28).await
}

async fn legacy(tasks: usize) -> Result<TestClient, ServerError> {
    connect(within(tasks), Revision::V2025_11_25).await
}

async fn call(client: &TestClient, name: &str, arguments: Value) -> Result<Value, ServerError> {
    client.request("tools/call", json!({"name": name, "arguments": arguments})).await
}

/// Requests a task of 2025-11-25.
async fn start(client: &TestClient, name: &str, arguments: Value, ttl: u64) -> Result<Value, ServerError> {
    let params = json!({"name": name, "arguments": arguments, "task": {"ttl": ttl}});
    Ok(client.request("tools/call", params).await?["task"].clone())
}

/// Waits for the end of a task without fetching its result in 2025-11-25; in 2026-07-28 that fetches it.
async fn completed(client: &TestClient, id: &Value) -> Result<Value> {
    let begun = Instant::now();
    loop {
        let task = client.request("tasks/get", json!({"taskId": id})).await?;
        if task["status"] == "completed" {
            return Ok(task);
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{task}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn is_known(client: &TestClient, id: &Value) -> bool {
    client.request("tasks/get", json!({"taskId": id})).await.is_ok()
}

#[tokio::test]
async fn finished_tasks_make_room_for_new_ones() -> Result<()> {
    let client = modern(3).await?;
    let mut ids = Vec::new();
    for _ in 0..10 {
        let task = call(&client, "slow", json!({"millis": 1})).await?;
        assert_eq!(task["resultType"], "task", "{task}");
        completed(&client, &task["taskId"]).await?;
        ids.push(task["taskId"].clone());
    }
    assert!(!is_known(&client, &ids[6]).await && is_known(&client, &ids[7]).await && is_known(&client, &ids[9]).await);
    let client = legacy(3).await?;
    for _ in 0..10 {
        let task = start(&client, "slow", json!({"millis": 1}), 60_000).await?;
        client.request("tasks/result", json!({"taskId": task["taskId"]})).await?;
    }
    Ok(())
}

#[tokio::test]
async fn fetched_tasks_are_evicted_first() -> Result<()> {
    let client = legacy(3).await?;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let task = start(&client, "slow", json!({"millis": 1}), 60_000).await?;
        completed(&client, &task["taskId"]).await?;
        ids.push(task["taskId"].clone());
    }
    client.request("tasks/result", json!({"taskId": ids[1]})).await?;
    for left in [[true, false, true], [false, false, true], [false, false, false]] {
        start(&client, "slow", json!({"millis": 60_000}), 60_000).await?;
        for (id, left) in ids.iter().zip(left) {
            assert_eq!(is_known(&client, id).await, left);
        }
    }
    Ok(())
}

#[tokio::test]
async fn optional_task_without_room_is_an_ordinary_call() -> Result<()> {
    let client = modern(2).await?;
    for _ in 0..2 {
        assert_eq!(call(&client, "slow", json!({"millis": 60_000})).await?["resultType"], "task");
    }
    let result = call(&client, "slow", json!({"millis": 1})).await?;
    assert_eq!((&result["resultType"], &result["content"][0]["text"]), (&json!("complete"), &json!("call after 1")));
    let error = call(&client, "broken", json!({})).await.unwrap_err();
    assert_eq!(error.code(), Some(-32603), "{error}");
    assert_eq!(call(&client, "thread", json!({})).await?["content"][0]["text"], "true");
    // It asks as a call does, whether or not it waited to become a task.
    for (tool, answer, text) in
        [("ask", json!({}), None), ("later", json!({"ask-1": accept(true)}), Some("true as a call"))]
    {
        let round = call(&client, tool, json!({})).await?;
        assert_eq!(round["resultType"], "input_required", "{tool}: {round}");
        if let Some(text) = text {
            let retry =
                json!({"name": tool, "arguments": {}, "inputResponses": answer, "requestState": round["requestState"]});
            assert_eq!(client.request("tools/call", retry).await?["content"][0]["text"], text);
        }
    }
    let error = call(&client, "failing", json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "Too many running tasks: retry later", "it runs as a task only");
    Ok(())
}

#[tokio::test]
async fn optional_task_without_room_reports_progress_as_a_call() -> Result<()> {
    let client = modern(0).await?;
    let meta = json!({
        "progressToken": "p", "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
    });
    let params = json!({"name": "slow", "arguments": {"millis": 1}, "_meta": meta});
    client.send(&json!({"jsonrpc": "2.0", "id": "s", "method": "tools/call", "params": params}).to_string())?;
    let told: Value = serde_json::from_str(&client.receive().await?)?;
    assert_eq!((&told["method"], &told["params"]["progressToken"]), (&json!("notifications/progress"), &json!("p")));
    let result: Value = serde_json::from_str(&client.receive().await?)?;
    assert_eq!(result["result"]["content"][0]["text"], "call after 1");
    Ok(())
}

/// In 2025-11-25 a client that requests a task cannot read anything else, but it can call without one.
#[tokio::test]
async fn requested_task_without_room_is_refused() -> Result<()> {
    let client = legacy(1).await?;
    start(&client, "slow", json!({"millis": 60_000}), 60_000).await?;
    let error = start(&client, "slow", json!({"millis": 1}), 60_000).await.unwrap_err();
    let text = "Too many running tasks: call the tool without `task`, or retry later";
    assert_eq!(error.to_string(), text);
    assert_eq!(call(&client, "slow", json!({"millis": 1})).await?["content"][0]["text"], "call after 1");
    Ok(())
}

#[tokio::test]
async fn expired_tasks_are_removed_without_a_request() -> Result<()> {
    let store = Arc::new(MemoryTasks::new());
    let client = connect(within(100).task_store(Arc::clone(&store)), Revision::V2025_11_25).await?;
    for number in 0..40 {
        let millis = if number % 2 == 0 { 1 } else { 60_000 };
        let task = start(&client, "slow", json!({"millis": millis}), 1).await?;
        assert_eq!(task["ttl"], 1000, "a shorter one is raised");
    }
    let begun = Instant::now();
    while format!("{store:?}") != "MemoryTasks { tasks: 0, .. }" {
        // The store is also swept every thirty seconds.
        assert!(begun.elapsed() < Duration::from_secs(15), "{store:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// A client that has its tasks expire at once has no more of them than the limit.
#[tokio::test]
async fn short_lived_tasks_count_until_they_expire() -> Result<()> {
    let store = Arc::new(MemoryTasks::new());
    let client = connect(within(10).task_store(Arc::clone(&store)), Revision::V2025_11_25).await?;
    let (mut created, mut refused) = (0, 0);
    for _ in 0..100 {
        match start(&client, "slow", json!({"millis": 60_000}), 1).await {
            Ok(_) => created += 1,
            Err(error) => {
                assert_eq!(error.code(), Some(-32603));
                refused += 1;
            }
        }
        let held = format!("{store:?}");
        let held: usize = held.trim_start_matches("MemoryTasks { tasks: ").trim_end_matches(", .. }").parse()?;
        assert!(held <= 10, "{held}");
    }
    assert!(created >= 10 && refused > 0, "{created} created, {refused} refused");
    Ok(())
}
