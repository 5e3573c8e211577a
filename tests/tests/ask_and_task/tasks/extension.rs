//! The tasks extension of 2026-07-28: the server creates tasks, the client polls or listens.

use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::store::{MemoryTasks, TaskStatus, TaskStore as _};
use mcp_runtime::testing::TestClient;
use mcp_runtime::{Limits, prelude::*};
use serde_json::Value;

use super::{accept, server};

async fn connect(server: Server) -> Result<TestClient, ServerError> {
    TestClient::builder(server)
        .capability("extensions", json!({"io.modelcontextprotocol/tasks": {}}))
        .capability("elicitation", json!({}))
        .connect()
        .await
}

async fn call(client: &TestClient, name: &str, arguments: Value) -> Result<Value, ServerError> {
    client.request("tools/call", json!({"name": name, "arguments": arguments})).await
}

async fn get(client: &TestClient, id: &Value) -> Result<Value, ServerError> {
    client.request("tasks/get", json!({"taskId": id})).await
}

/// Polls until the task has this status.
async fn until(client: &TestClient, id: &Value, status: &str) -> Result<Value> {
    for _ in 0..400 {
        let task = get(client, id).await?;
        if task["status"] == status {
            return Ok(task);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never {status}: {}", get(client, id).await?)
}

#[tokio::test]
async fn call_becomes_a_task_with_a_result() -> Result<()> {
    let client = connect(server()).await?;
    let task = call(&client, "slow", json!({"millis": 30})).await?;
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")));
    assert!(
        task["taskId"].as_str().unwrap().len() >= 22 && task["ttlMs"] == 3_600_000 && task["pollIntervalMs"] == 500
    );
    assert!(task["createdAt"].as_str().unwrap().ends_with('Z') && task.get("task").is_none());
    let now = get(&client, &task["taskId"]).await?;
    assert_eq!((&now["resultType"], &now["status"]), (&json!("complete"), &json!("working")));
    let done = until(&client, &task["taskId"], "completed").await?;
    assert_eq!(done["result"]["content"][0]["text"], "task after 30");
    assert_eq!(done["result"]["resultType"], "complete");
    assert_eq!(done["statusMessage"], "half way");
    assert!(done.get("error").is_none() && done.get("inputRequests").is_none());
    Ok(())
}

#[tokio::test]
async fn client_without_the_extension_waits_for_the_result() -> Result<()> {
    let client = TestClient::connect(server()).await?;
    assert_eq!(client.call("slow", json!({"millis": 1})).await?.text(), "call after 1");
    // Or is told that it cannot be, before anything ran.
    let error = client.call("failing", json!({})).await.unwrap_err();
    assert_eq!(error.code(), Some(-32021));
    let required = json!({"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
    assert_eq!(error.data(), Some(&required));
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let error = client.request(method, json!({"taskId": "x", "inputResponses": {}})).await.unwrap_err();
        assert_eq!(error.code(), Some(-32021), "{method}");
    }
    let listen = json!({"notifications": {"taskIds": ["x"]}});
    assert_eq!(client.request("subscriptions/listen", listen).await.unwrap_err().code(), Some(-32021));
    Ok(())
}

#[tokio::test]
async fn tool_error_completes_and_protocol_error_fails_the_task() -> Result<()> {
    let client = connect(server()).await?;
    let task = call(&client, "failing", json!({})).await?;
    let done = until(&client, &task["taskId"], "completed").await?;
    assert_eq!(
        (&done["result"]["isError"], &done["result"]["content"][0]["text"]),
        (&json!(true), &json!("it went wrong"))
    );
    let task = call(&client, "broken", json!({})).await?;
    let done = until(&client, &task["taskId"], "failed").await?;
    assert_eq!((&done["error"]["code"], &done["statusMessage"]), (&json!(-32603), &json!("no such thing")));
    assert!(done.get("result").is_none());
    Ok(())
}

#[tokio::test]
async fn questions_set_input_required_until_answered() -> Result<()> {
    let client = connect(server()).await?;
    let task = call(&client, "ask", json!({})).await?;
    let id = &task["taskId"];
    let update =
        async |answers: Value| client.request("tasks/update", json!({"taskId": id, "inputResponses": answers})).await;
    loop {
        let parked = until(&client, id, "input_required").await?;
        if parked["inputRequests"].as_object().unwrap().len() == 2 {
            assert_eq!(parked["inputRequests"]["ask-1"]["method"], "elicitation/create");
            assert_eq!(parked["inputRequests"]["ask-2"]["params"]["message"], "Two?");
            break;
        }
    }
    // Unknown keys are ignored; an answered question is not asked again.
    let acknowledged = update(json!({"ask-2": accept(true), "ask-9": accept(true)})).await?;
    assert_eq!(acknowledged["resultType"], "complete");
    assert!(acknowledged.get("taskId").is_none() && acknowledged.get("status").is_none());
    let parked = get(&client, id).await?;
    assert_eq!(parked["status"], "input_required");
    assert_eq!(parked["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["ask-1"]);
    update(json!({"ask-1": accept(false)})).await?;
    loop {
        let parked = until(&client, id, "input_required").await?;
        if parked["inputRequests"].get("three").is_some() {
            break;
        }
    }
    // What else is in an answer is left alone, whatever it is called.
    update(json!({"three": {"action": "accept", "content": {"sure": true}, "error": {}}})).await?;
    let done = until(&client, id, "completed").await?;
    assert_eq!(done["result"]["content"][0]["text"], "false true true");
    Ok(())
}

#[tokio::test]
async fn malformed_answers_are_rejected_and_the_question_stays_open() -> Result<()> {
    let client = connect(server()).await?;
    let task = call(&client, "ask", json!({})).await?;
    let id = &task["taskId"];
    while until(&client, id, "input_required").await?["inputRequests"].as_object().unwrap().len() < 2 {}
    let update =
        async |answers: Value| client.request("tasks/update", json!({"taskId": id, "inputResponses": answers})).await;
    for malformed in [json!(5), json!(null), json!("accept"), json!({}), json!({"action": 5}), json!({"roots": []})] {
        // The other answer is fine, but it is not taken without this one.
        let error = update(json!({"ask-1": malformed, "ask-2": accept(true)})).await.unwrap_err();
        assert_eq!(error.code(), Some(-32602), "{malformed}");
        assert_eq!(error.data().unwrap()["field"], "inputResponses.ask-1", "{malformed}: {error}");
    }
    for malformed in [json!(null), json!([accept(true)]), json!("yes")] {
        assert_eq!(update(malformed.clone()).await.unwrap_err().code(), Some(-32602), "{malformed}");
    }
    let error = client.request("tasks/update", json!({"taskId": id})).await.unwrap_err();
    assert_eq!(error.code(), Some(-32602));
    let open = get(&client, id).await?;
    assert_eq!(open["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["ask-1", "ask-2"]);
    update(json!({"ask-1": accept(true), "ask-2": accept(false)})).await?;
    while get(&client, id).await?["inputRequests"].get("three").is_none() {}
    update(json!({"three": accept(true)})).await?;
    assert_eq!(until(&client, id, "completed").await?["result"]["content"][0]["text"], "true false true");
    Ok(())
}

#[tokio::test]
async fn rounds_precede_the_task() -> Result<()> {
    let client = connect(server()).await?;
    let round = call(&client, "prepared", json!({})).await?;
    assert_eq!(round["resultType"], "input_required");
    assert!(round.get("taskId").is_none());
    let retry = json!({"name": "prepared", "arguments": {}, "inputResponses": {"ask-1": accept(true)}, "requestState": round["requestState"]});
    let task = client.request("tools/call", retry).await?;
    assert_eq!(task["resultType"], "task");
    assert!(task.get("requestState").is_none() && task.get("inputRequests").is_none());
    until(&client, &task["taskId"], "input_required").await?;
    client
        .request("tasks/update", json!({"taskId": task["taskId"], "inputResponses": {"ask-2": accept(false)}}))
        .await?;
    let done = until(&client, &task["taskId"], "completed").await?;
    assert_eq!(done["result"]["content"][0]["text"], "true false");
    Ok(())
}

#[tokio::test]
async fn cancel_ends_the_task_and_its_handler() -> Result<()> {
    let client = connect(server()).await?;
    for (tool, arguments) in [("slow", json!({"millis": 60_000})), ("thread", json!({}))] {
        let task = call(&client, tool, arguments).await?;
        let cancel = || client.request("tasks/cancel", json!({"taskId": task["taskId"]}));
        assert_eq!(cancel().await?["resultType"], "complete");
        assert_eq!(get(&client, &task["taskId"]).await?["status"], "cancelled");
        // Once more is as good.
        assert_eq!(cancel().await?["resultType"], "complete");
        tokio::time::sleep(Duration::from_millis(30)).await;
        assert_eq!(get(&client, &task["taskId"]).await?["status"], "cancelled");
    }
    Ok(())
}

#[tokio::test]
async fn unknown_tasks_and_2025_methods_are_rejected() -> Result<()> {
    let client = connect(server()).await?;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let error = client.request(method, json!({"taskId": "nobody", "inputResponses": {}})).await.unwrap_err();
        assert_eq!(error.code(), Some(-32602), "{method}");
    }
    for method in ["tasks/result", "tasks/list"] {
        let error = client.request(method, json!({"taskId": "nobody"})).await.unwrap_err();
        assert_eq!(error.code(), Some(-32601), "{method}");
    }
    // What the other wire would ask for means nothing here.
    let params = json!({"name": "greet", "arguments": {"name": "Ada"}, "task": {"ttl": 1}});
    assert_eq!(client.request("tools/call", params).await?["content"][0]["text"], "Hello, Ada!");
    let discovered = client.request("server/discover", json!({})).await?;
    assert_eq!(discovered["capabilities"]["extensions"], json!({"io.modelcontextprotocol/tasks": {}}));
    assert!(discovered["capabilities"].get("tasks").is_none());
    Ok(())
}

#[tokio::test]
async fn task_ttl_and_tasks_limit_apply() -> Result<()> {
    let mut limits = Limits::default();
    (limits.task_ttl, limits.tasks) = (Duration::from_millis(150), 2);
    let client = connect(server().limits(limits)).await?;
    let first = call(&client, "slow", json!({"millis": 1})).await?;
    assert_eq!(first["ttlMs"], 150);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(get(&client, &first["taskId"]).await.unwrap_err().code(), Some(-32602));
    for _ in 0..2 {
        assert_eq!(call(&client, "slow", json!({"millis": 60_000})).await?["resultType"], "task");
    }
    let error = call(&client, "failing", json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "Too many running tasks: retry later");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(call(&client, "failing", json!({})).await?["resultType"], "task", "expired tasks do not count");
    Ok(())
}

#[tokio::test]
async fn listen_stream_carries_task_status() -> Result<()> {
    let client = connect(server()).await?;
    let task = call(&client, "slow", json!({"millis": 50})).await?;
    let line = json!({"jsonrpc": "2.0", "id": "stream", "method": "subscriptions/listen", "params": {
        "notifications": {"taskIds": [task["taskId"], "nobody's"]},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
        },
    }});
    client.send(&line.to_string())?;
    let next = async || -> Result<Value> { Ok(serde_json::from_str(&client.receive().await?)?) };
    let acknowledged = next().await?;
    assert_eq!(acknowledged["params"]["notifications"], json!({"taskIds": [task["taskId"]]}));
    loop {
        let told = next().await?;
        assert_eq!(told["method"], "notifications/tasks");
        assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "stream");
        assert_eq!(told["params"]["taskId"], task["taskId"]);
        if told["params"]["status"] == "completed" {
            assert_eq!(told["params"]["result"]["content"][0]["text"], "task after 50");
            return Ok(());
        }
    }
}

#[tokio::test]
async fn shutdown_fails_running_tasks() -> Result<()> {
    let store = Arc::new(MemoryTasks::new());
    let client = connect(server().task_store(Arc::clone(&store))).await?;
    let task = call(&client, "slow", json!({"millis": 60_000})).await?;
    client.close().await?;
    let record = store.load(task["taskId"].as_str().unwrap()).await?.unwrap();
    assert_eq!(record.status, TaskStatus::Failed);
    assert_eq!(record.status_message.as_deref(), Some("The server shut down before the task was done"));
    Ok(())
}
