//! The tasks of 2025-11-25: the client requests them.

use std::time::Duration;

use mcp_runtime::testing::TestClient;
use mcp_runtime::{Revision, prelude::*};
use serde_json::Value;

use super::{accept, server};

async fn connect() -> Result<TestClient, ServerError> {
    TestClient::builder(server()).revision(Revision::V2025_11_25).capability("elicitation", json!({})).connect().await
}

async fn start(client: &TestClient, name: &str, arguments: Value) -> Result<Value, ServerError> {
    client.request("tools/call", json!({"name": name, "arguments": arguments, "task": {"ttl": 60_000}})).await
}

async fn until(client: &TestClient, id: &Value, status: &str) -> Result<Value> {
    for _ in 0..400 {
        let task = client.request("tasks/get", json!({"taskId": id})).await?;
        if task["status"] == status {
            return Ok(task);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never {status}")
}

#[tokio::test]
async fn call_with_task_param_becomes_a_task() -> Result<()> {
    let client = connect().await?;
    let created = start(&client, "slow", json!({"millis": 30})).await?;
    let task = &created["task"];
    assert_eq!(
        (&task["status"], &task["ttl"], &task["pollInterval"]),
        (&json!("working"), &json!(60_000), &json!(500))
    );
    assert!(created.get("taskId").is_none() && created.get("resultType").is_none());
    let result = client.request("tasks/result", json!({"taskId": task["taskId"]})).await?;
    assert_eq!(result["content"][0]["text"], "task after 30");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/related-task"], json!({"taskId": task["taskId"]}));
    let done = until(&client, &task["taskId"], "completed").await?;
    assert!(done.get("result").is_none());
    Ok(())
}

#[tokio::test]
async fn call_without_task_param_is_not_a_task() -> Result<()> {
    let client = connect().await?;
    assert_eq!(client.call("slow", json!({"millis": 1})).await?.text(), "call after 1");
    let error = client.call("failing", json!({})).await.unwrap_err();
    assert_eq!(error.code(), Some(-32601), "it must be one");
    let error = start(&client, "greet", json!({"name": "Ada"})).await.unwrap_err();
    assert_eq!(error.code(), Some(-32601), "it cannot be one");
    let error = client
        .request("tools/call", json!({"name": "slow", "arguments": {"millis": 1}, "task": {"ttl": "long"}}))
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(-32602));
    Ok(())
}

#[tokio::test]
async fn older_revisions_wait_for_the_result() -> Result<()> {
    for revision in [Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18] {
        let client = TestClient::with_revision(server(), revision).await?;
        assert_eq!(client.call("slow", json!({"millis": 1})).await?.text(), "call after 1");
        assert_eq!(client.call("failing", json!({})).await?.text(), "it went wrong");
        assert_eq!(start(&client, "greet", json!({"name": "Ada"})).await?["content"][0]["text"], "Hello, Ada!");
        assert_eq!(client.request("tasks/get", json!({"taskId": "x"})).await.unwrap_err().code(), Some(-32601));
    }
    Ok(())
}

#[tokio::test]
async fn tools_list_declares_task_support() -> Result<()> {
    let client = connect().await?;
    let tools = client.list_tools().await?;
    let support = |name: &str| {
        let tool = tools.iter().find(|tool| tool.name == name).unwrap();
        tool.execution.as_ref().map(|execution| execution.task_support.clone())
    };
    assert_eq!(
        (support("slow"), support("failing"), support("greet")),
        (Some("optional".into()), Some("required".into()), None)
    );
    for revision in Revision::ALL.iter().copied() {
        if revision != Revision::V2025_11_25 {
            let client = TestClient::with_revision(server(), revision).await?;
            assert!(client.list_tools().await?.iter().all(|tool| tool.execution.is_none()), "{revision}");
        }
    }
    let client = TestClient::connect_raw(server());
    let hello = r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let answer: Value = serde_json::from_str(&client.exchange(hello).await?)?;
    assert_eq!(answer["result"]["capabilities"]["tasks"], json!({"cancel": {}, "requests": {"tools": {"call": {}}}}));
    assert!(answer["result"]["capabilities"].get("extensions").is_none());
    Ok(())
}

#[tokio::test]
async fn tool_error_fails_the_task() -> Result<()> {
    let client = connect().await?;
    let task = start(&client, "failing", json!({})).await?["task"].clone();
    until(&client, &task["taskId"], "failed").await?;
    let result = client.request("tasks/result", json!({"taskId": task["taskId"]})).await?;
    assert_eq!(result["isError"], true);
    let task = start(&client, "broken", json!({})).await?["task"].clone();
    let error = client.request("tasks/result", json!({"taskId": task["taskId"]})).await.unwrap_err();
    assert_eq!(error.code(), Some(-32603));
    Ok(())
}

#[tokio::test]
async fn second_cancel_is_an_error() -> Result<()> {
    let client = connect().await?;
    let task = start(&client, "slow", json!({"millis": 60_000})).await?["task"].clone();
    let cancel = || client.request("tasks/cancel", json!({"taskId": task["taskId"]}));
    assert_eq!(cancel().await?["status"], "cancelled");
    assert_eq!(cancel().await.unwrap_err().code(), Some(-32602));
    let error = client.request("tasks/result", json!({"taskId": task["taskId"]})).await.unwrap_err();
    assert_eq!(error.code(), Some(-32602));
    Ok(())
}

#[tokio::test]
async fn tasks_result_carries_the_questions() -> Result<()> {
    let client = connect().await?;
    let task = start(&client, "ask", json!({})).await?["task"].clone();
    until(&client, &task["taskId"], "input_required").await?;
    client.send(
        &json!({"jsonrpc": "2.0", "id": "result", "method": "tasks/result", "params": {"taskId": task["taskId"]}})
            .to_string(),
    )?;
    for _ in 0..3 {
        let question: Value = serde_json::from_str(&client.receive().await?)?;
        assert_eq!(question["method"], "elicitation/create");
        assert_eq!(question["params"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], task["taskId"]);
        let sure = question["params"]["message"] != "Two?";
        client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(sure)}).to_string())?;
    }
    let result: Value = serde_json::from_str(&client.receive().await?)?;
    assert_eq!((&result["id"], &result["result"]["content"][0]["text"]), (&json!("result"), &json!("true false true")));
    Ok(())
}

/// Waits for the result of a task, under this request id.
fn wait(client: &TestClient, request: &str, id: &Value) -> Result<()> {
    let params = json!({"taskId": id});
    Ok(client
        .send(&json!({"jsonrpc": "2.0", "id": request, "method": "tasks/result", "params": params}).to_string())?)
}

async fn next(client: &TestClient) -> Result<Value> {
    let line = tokio::time::timeout(Duration::from_secs(20), client.receive()).await.expect("nothing more comes")?;
    Ok(serde_json::from_str(&line)?)
}

#[tokio::test]
async fn two_waiters_for_a_result_ask_once() -> Result<()> {
    let client = connect().await?;
    let task = start(&client, "ask", json!({})).await?["task"].clone();
    while client.request("tasks/get", json!({"taskId": task["taskId"]})).await?["status"] != "input_required" {}
    for request in ["one", "two", "three"] {
        wait(&client, request, &task["taskId"])?;
    }
    let (mut asked, mut results) = (Vec::new(), Vec::new());
    while results.len() < 3 {
        let message = next(&client).await?;
        if message["method"] == "elicitation/create" {
            asked.push(message["params"]["message"].as_str().unwrap().to_owned());
            client.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": accept(true)}).to_string())?;
        } else {
            assert_eq!(message["result"]["content"][0]["text"], "true true true", "{message}");
            results.push(message["id"].as_str().unwrap().to_owned());
        }
    }
    asked.sort_unstable();
    assert_eq!(asked, ["One?", "Three?", "Two?"]);
    results.sort_unstable();
    assert_eq!(results, ["one", "three", "two"]);
    Ok(())
}

#[tokio::test]
async fn second_waiter_asks_when_the_first_is_cancelled() -> Result<()> {
    let client = connect().await?;
    let task = start(&client, "ask", json!({})).await?["task"].clone();
    wait(&client, "one", &task["taskId"])?;
    let (first, second) = (next(&client).await?, next(&client).await?);
    wait(&client, "two", &task["taskId"])?;
    // Answered after the waiter was received.
    client.request("ping", json!({})).await?;
    client.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "one"}}).to_string(),
    )?;
    let mut asked = Vec::new();
    while asked.len() < 2 {
        let message = next(&client).await?;
        if message["method"] == "elicitation/create" {
            asked.push(message);
        }
    }
    for question in &asked {
        assert!(question["id"] != first["id"] && question["id"] != second["id"]);
        client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(true)}).to_string())?;
    }
    loop {
        let message = next(&client).await?;
        if message["params"]["message"] == "Three?" {
            client.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": accept(false)}).to_string())?;
        } else if message["id"] == "two" {
            assert_eq!(message["result"]["content"][0]["text"], "true true false");
            return Ok(());
        }
    }
}

#[tokio::test]
async fn progress_of_a_task_reaches_the_client() -> Result<()> {
    let client = connect().await?;
    let params = json!({"name": "slow", "arguments": {"millis": 1}, "task": {}, "_meta": {"progressToken": "p"}});
    let created = client.request("tools/call", params).await?;
    let told: Value = serde_json::from_str(&client.receive().await?)?;
    assert_eq!((&told["method"], &told["params"]["progressToken"]), (&json!("notifications/progress"), &json!("p")));
    until(&client, &created["task"]["taskId"], "completed").await?;
    Ok(())
}

#[tokio::test]
async fn refused_question_becomes_an_error_result() -> Result<()> {
    let client = connect().await?;
    let task = start(&client, "prepared", json!({}));
    let (task, ()) = tokio::join!(task, async {
        let question: Value = serde_json::from_str(&client.receive().await.unwrap()).unwrap();
        assert_eq!(question["params"]["message"], "Before?");
        client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(true)}).to_string()).unwrap();
    });
    let task = task?["task"].clone();
    until(&client, &task["taskId"], "input_required").await?;
    client.send(
        &json!({"jsonrpc": "2.0", "id": "result", "method": "tasks/result", "params": {"taskId": task["taskId"]}})
            .to_string(),
    )?;
    let question: Value = serde_json::from_str(&client.receive().await?)?;
    client.send(
        &json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -1, "message": "not now"}}).to_string(),
    )?;
    let result: Value = serde_json::from_str(&client.receive().await?)?;
    assert_eq!(result["result"]["isError"], true);
    assert!(result["result"]["content"][0]["text"].as_str().unwrap().contains("not now (-1)"), "{result}");
    Ok(())
}
