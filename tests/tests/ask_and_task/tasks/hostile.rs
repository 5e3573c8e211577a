//! Task requests with extreme or malformed parameters, and details of 2025-11-25.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::Revision;
use mcp_runtime::prelude::*;
use mcp_runtime::store::{Change, ChangeBus, ChangeListener, LocalBus};
use mcp_runtime::store::{MemoryTasks, TaskLimit, TaskQuota, TaskRecord, TaskStore};
use mcp_runtime::testing::TestClient;
use serde_json::Value;

use super::server;

async fn legacy() -> Result<TestClient, ServerError> {
    TestClient::builder(server()).revision(Revision::V2025_11_25).connect().await
}

async fn task_of(client: &TestClient, wish: Value) -> Result<Value> {
    let call = json!({"name": "slow", "arguments": {"millis": 1}, "task": wish});
    Ok(client.request("tools/call", call).await?["task"].clone())
}

#[tokio::test]
async fn task_ttl_param_is_validated_and_capped() -> Result<()> {
    const MOST: u64 = 3_600_000;
    let client = legacy().await?;
    for (wish, kept) in [
        (json!({}), json!(MOST)),
        (json!({"ttl": null}), json!(MOST)),
        (json!({"ttl": 5000}), json!(5000)),
        (json!({"ttl": 5000.0}), json!(5000)),
        (json!({"ttl": 5000.7}), json!(5000)),
        (json!({"ttl": u64::MAX}), json!(MOST)),
        (json!({"ttl": 1e300}), json!(MOST)),
        (json!({"ttl": 0}), json!(1000)),
        (json!({"ttl": 1}), json!(1000)),
        (json!({"ttl": 5000, "more": [1]}), json!(5000)),
    ] {
        assert_eq!(task_of(&client, wish.clone()).await?["ttl"], kept, "{wish}");
    }
    for (wish, actual) in [
        (json!({"ttl": -1}), "integer"),
        (json!({"ttl": -0.5}), "number"),
        (json!({"ttl": "long"}), "string"),
        (json!({"ttl": [1]}), "array"),
        (json!({"ttl": true}), "boolean"),
    ] {
        let error = task_of(&client, wish.clone()).await.unwrap_err();
        assert_eq!(error.code(), Some(-32602), "{wish}");
        assert_eq!(error.data().unwrap()["field"], "task.ttl", "{wish}");
        assert_eq!(error.data().unwrap()["actualType"], actual, "{wish}");
    }
    for wish in [json!(5), json!([]), json!("yes")] {
        assert_eq!(task_of(&client, wish.clone()).await.unwrap_err().code(), Some(-32602), "{wish}");
    }
    Ok(())
}

/// <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#associating-task-related-messages>
#[tokio::test]
async fn notifications_of_a_task_name_it() -> Result<()> {
    /// Say this and that.
    #[tool(task)]
    async fn talk(ctx: &Context) {
        ctx.progress(1, 2).await;
        ctx.log(mcp_runtime::protocol::LogLevel::Error, "something").await;
    }
    let server = Server::new("talkative", "1.0.0").tools(tools![talk]);
    let _layer = server.tracing_layer();
    let client = TestClient::builder(server).revision(Revision::V2025_11_25).connect().await?;
    client.request("logging/setLevel", json!({"level": "debug"})).await?;
    let params = json!({"name": "talk", "arguments": {}, "task": {}, "_meta": {"progressToken": "p"}});
    let created = client.request("tools/call", params).await?;
    let related = json!({"io.modelcontextprotocol/related-task": {"taskId": created["task"]["taskId"]}});
    for method in ["notifications/progress", "notifications/message"] {
        let told: Value = serde_json::from_str(&client.receive().await?)?;
        assert_eq!((&told["method"], &told["params"]["_meta"]), (&json!(method), &related));
    }
    Ok(())
}

/// A store that counts its loads and lists.
#[derive(Debug, Default)]
struct Counting {
    tasks: MemoryTasks,
    loads: AtomicUsize,
    lists: AtomicUsize,
}

impl TaskStore for Counting {
    async fn create(
        &self,
        task: &TaskRecord,
        keep: Duration,
        quota: TaskQuota,
    ) -> std::io::Result<std::result::Result<(), TaskLimit>> {
        self.tasks.create(task, keep, quota).await
    }

    async fn load(&self, id: &str) -> std::io::Result<Option<TaskRecord>> {
        self.loads.fetch_add(1, Ordering::SeqCst);
        self.tasks.load(id).await
    }

    async fn update(&self, task: &TaskRecord) -> std::io::Result<bool> {
        self.tasks.update(task).await
    }

    async fn list(&self, owner: Option<&str>) -> std::io::Result<Vec<TaskRecord>> {
        self.lists.fetch_add(1, Ordering::SeqCst);
        self.tasks.list(owner).await
    }

    async fn holders(&self) -> std::io::Result<Vec<String>> {
        self.tasks.holders().await
    }

    async fn held_by(&self, holder: &str, limit: usize) -> std::io::Result<Vec<TaskRecord>> {
        self.tasks.held_by(holder, limit).await
    }
}

const TASKS: &str = "io.modelcontextprotocol/tasks";

#[tokio::test]
async fn duplicate_task_ids_are_loaded_once() -> Result<()> {
    let store = Arc::new(Counting::default());
    let client = TestClient::builder(server().task_store(Arc::clone(&store)));
    let client = client.capability("extensions", json!({TASKS: {}})).connect().await?;
    let ids = vec!["nobody's"; 100_000];
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {TASKS: {}}},
    });
    let params = json!({"notifications": {"taskIds": ids}, "_meta": meta});
    client.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}).to_string())?;
    let acknowledged: Value = serde_json::from_str(&client.receive().await?)?;
    assert_eq!(acknowledged["params"]["notifications"], json!({}));
    assert_eq!(store.loads.load(Ordering::SeqCst), 1);
    Ok(())
}

#[tokio::test]
async fn task_limit_does_not_list_the_store() -> Result<()> {
    let store = Arc::new(Counting::default());
    let client = TestClient::builder(server().task_store(Arc::clone(&store)));
    let client = client.capability("extensions", json!({TASKS: {}})).connect().await?;
    client.request("tools/call", json!({"name": "slow", "arguments": {"millis": 1}})).await?;
    assert_eq!(store.lists.load(Ordering::SeqCst), 0);
    Ok(())
}

/// A bus that panics after each publish.
#[derive(Debug, Default)]
struct Broken(LocalBus);

impl ChangeBus for Broken {
    fn publish(&self, change: &Change) {
        self.0.publish(change);
        panic!("on purpose");
    }

    fn subscribe(&self, listener: std::sync::Weak<dyn ChangeListener>) {
        self.0.subscribe(listener);
    }
}

#[tokio::test]
async fn panicking_bus_does_not_end_a_task() -> Result<()> {
    let server = server().change_bus(Arc::new(Broken::default()));
    let client = TestClient::builder(server).capability("extensions", json!({TASKS: {}})).connect().await?;
    let task = client.request("tools/call", json!({"name": "slow", "arguments": {"millis": 50}})).await?;
    for _ in 0..200 {
        let now = client.request("tasks/get", json!({"taskId": task["taskId"]})).await?;
        if now["status"] == "completed" {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it is never done")
}
