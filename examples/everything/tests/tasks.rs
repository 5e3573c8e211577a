//! Tasks of both eras: the extension of 2026-07-28, where the server decides, and the tasks of 2025-11-25, which the
//! client requests.

use std::time::Duration;

use mcp_runtime::testing::TestClient;
use mcp_runtime::{Revision, prelude::*};
use serde_json::Value;

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

async fn modern() -> Result<TestClient, ServerError> {
    let client = TestClient::builder(everything::server()).capability("extensions", json!({EXTENSION: {}}));
    client.capability("elicitation", json!({})).connect().await
}

async fn call(client: &TestClient, name: &str, arguments: Value) -> Result<Value, ServerError> {
    client.request("tools/call", json!({"name": name, "arguments": arguments})).await
}

/// Polls a task until the condition holds.
async fn until(client: &TestClient, task: &Value, is: impl Fn(&Value) -> bool) -> Result<Value> {
    for _ in 0..400 {
        let now = client.request("tasks/get", json!({"taskId": task["taskId"]})).await?;
        if is(&now) {
            return Ok(now);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never came to that")
}

async fn update(client: &TestClient, task: &Value, key: &str, content: Value) -> Result<Value, ServerError> {
    let answers = json!({key: {"action": "accept", "content": content}});
    client.request("tasks/update", json!({"taskId": task["taskId"], "inputResponses": answers})).await
}

fn asked(task: &Value) -> Vec<&str> {
    let requests = task["inputRequests"].as_object();
    requests.map(|requests| requests.keys().map(String::as_str).collect()).unwrap_or_default()
}

#[tokio::test]
async fn client_with_the_extension_gets_tasks() -> Result<()> {
    let client = modern().await?;
    let greeted = call(&client, "greet", json!({"name": "Ada"})).await?;
    assert_eq!((&greeted["resultType"], &greeted["content"][0]["text"]), (&json!("complete"), &json!("Hello, Ada!")));

    let task = call(&client, "slow_compute", json!({"seconds": 0.01, "label": "sum"})).await?;
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")));
    let done = until(&client, &task, |now| now["status"] == "completed").await?;
    assert_eq!(done["result"]["content"][0]["text"], "sum is done after 0.01 s");
    assert_eq!(done["statusMessage"], "computing");

    let task = call(&client, "slow_compute", json!({"seconds": 60})).await?;
    client.request("tasks/cancel", json!({"taskId": task["taskId"]})).await?;
    until(&client, &task, |now| now["status"] == "cancelled").await?;
    Ok(())
}

#[tokio::test]
async fn client_without_the_extension_waits_or_gets_an_error() -> Result<()> {
    let client = TestClient::connect(everything::server()).await?;
    let waited = client.call("slow_compute", json!({"seconds": 0})).await?;
    assert_eq!(waited.text(), "It is done after 0 s");
    let never = client.call("slow_compute", json!({"seconds": -1})).await?;
    assert!(never.is_error() && never.text() == "no time is so long");
    for tool in ["failing_job", "test_tool_with_task"] {
        let error = client.call(tool, json!({})).await.unwrap_err();
        assert_eq!(error.code(), Some(-32021), "{tool}");
    }
    Ok(())
}

#[tokio::test]
async fn tool_error_completes_and_protocol_error_fails_the_task() -> Result<()> {
    let client = modern().await?;
    let tool = call(&client, "failing_job", json!({})).await?;
    let done = until(&client, &tool, |now| now["status"] == "completed").await?;
    assert_eq!(done["result"]["isError"], true);
    let task = call(&client, "protocol_error_job", json!({})).await?;
    let failed = until(&client, &task, |now| now["status"] == "failed").await?;
    assert_eq!(failed["error"], json!({"code": -32603, "message": "The job cannot be done"}));
    assert!(failed.get("result").is_none());
    Ok(())
}

#[tokio::test]
async fn task_waits_for_every_answer() -> Result<()> {
    let client = modern().await?;
    let task = call(&client, "confirm_delete", json!({"filename": "a.txt"})).await?;
    let parked = until(&client, &task, |now| now["status"] == "input_required").await?;
    assert_eq!(parked["inputRequests"]["confirm"]["params"]["message"], "Delete a.txt?");
    update(&client, &task, "confirm", json!({"confirm": false})).await?;
    let done = until(&client, &task, |now| now["status"] == "completed").await?;
    assert_eq!(done["result"]["content"][0]["text"], "a.txt is kept");

    let task = call(&client, "multi_input", json!({})).await?;
    until(&client, &task, |now| asked(now) == ["confirm", "name"]).await?;
    update(&client, &task, "name", json!({"name": "Ada"})).await?;
    let parked = until(&client, &task, |now| asked(now) == ["confirm"]).await?;
    assert_eq!(parked["status"], "input_required");
    update(&client, &task, "confirm", json!({"confirm": true})).await?;
    let done = until(&client, &task, |now| now["status"] == "completed").await?;
    assert_eq!(done["result"]["content"][0]["text"], "Ada: yes");
    Ok(())
}

#[tokio::test]
async fn asks_first_precede_the_task() -> Result<()> {
    let client = modern().await?;
    let round = call(&client, "test_tool_with_task", json!({})).await?;
    assert_eq!((&round["resultType"], round.get("taskId")), (&json!("input_required"), None));
    let answers = json!({"user_name": {"action": "accept", "content": {"name": "Ada"}}});
    let retry = json!({
        "name": "test_tool_with_task", "arguments": {}, "inputResponses": answers, "requestState": round["requestState"],
    });
    let task = client.request("tools/call", retry).await?;
    assert_eq!((&task["resultType"], task.get("requestState")), (&json!("task"), None));
    let done = until(&client, &task, |now| now["status"] == "completed").await?;
    assert_eq!(done["result"]["content"][0]["text"], "Hello, Ada!");
    Ok(())
}

#[tokio::test]
async fn session_task_asks_during_tasks_result() -> Result<()> {
    let client = TestClient::builder(everything::server()).revision(Revision::V2025_11_25);
    let client = client.on_elicit(|_| json!({"confirm": true})).connect().await?;
    let tools = client.request("tools/list", json!({})).await?["tools"].take();
    let support = |name: &str| {
        let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
        tool["execution"]["taskSupport"].clone()
    };
    assert_eq!([support("greet"), support("slow_compute")], [Value::Null, json!("optional")]);
    assert_eq!(support("failing_job"), "required");

    let params = json!({"name": "confirm_delete", "arguments": {"filename": "a.txt"}, "task": {"ttl": 60_000}});
    let created = client.request("tools/call", params).await?;
    let result = client.request("tasks/result", json!({"taskId": created["task"]["taskId"]})).await?;
    assert_eq!(result["content"][0]["text"], "a.txt is deleted");
    Ok(())
}
