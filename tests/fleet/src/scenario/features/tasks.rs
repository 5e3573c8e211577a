//! Tasks: created at one replica; polled, answered, awaited and cancelled at others.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};

use super::ensure;
use super::sessions::connect;
use crate::Result;
use crate::client::{Client, MODERN, answer, text, until_method};

/// Creates a task. Returns its id, and the replica that runs it.
async fn create(client: &Client, tool: &str, arguments: Value) -> Result<(String, Option<usize>)> {
    let mut params = json!({ "name": tool, "arguments": arguments });
    if client.revision != MODERN {
        params["task"] = json!({ "ttl": 60_000 });
    }
    let (id, mut reply) = client.request("tools/call", params).await?;
    let created = answer(&mut reply, id).await?;
    let result = &created["result"];
    let task = result["taskId"].as_str().or(result["task"]["taskId"].as_str());
    Ok((task.ok_or_else(|| format!("no task: {created}"))?.to_owned(), reply.replica))
}

/// Polls a task, at one replica after the other, until it has a status.
async fn until_status(client: &Client, task: &str, status: &str) -> Result<Value> {
    let mut now = Value::Null;
    for _ in 0..200 {
        now = client.ask("tasks/get", json!({ "taskId": task })).await?;
        if now["status"] == status {
            return Ok(now);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err(format!("the task does not become `{status}`: {now}").into())
}

pub(super) async fn result(address: SocketAddr, revision: &'static str) -> Result<()> {
    let client = connect(address, revision).await?;
    let (task, runner) = create(&client, "slow_compute", json!({ "seconds": 1 })).await?;
    client.avoid(runner).await?;
    let now = client.ask("tasks/get", json!({ "taskId": task })).await?;
    ensure(now["status"] == "working", &now)?;
    let said = if revision == MODERN {
        text(&until_status(&client, &task, "completed").await?["result"])
    } else {
        client.avoid(runner).await?;
        text(&client.ask("tasks/result", json!({ "taskId": task })).await?)
    };
    ensure(said == "It is done after 1 s", said)
}

pub(super) async fn cancel(address: SocketAddr, revision: &'static str) -> Result<()> {
    let client = connect(address, revision).await?;
    let (task, runner) = create(&client, "slow_compute", json!({ "seconds": 60 })).await?;
    client.avoid(runner).await?;
    client.ask("tasks/cancel", json!({ "taskId": task })).await?;
    for _ in 0..3 {
        until_status(&client, &task, "cancelled").await?;
    }
    Ok(())
}

/// 2026-07-28: the questions are in the task, and the answers come by `tasks/update`.
pub(super) async fn asks_for_update(address: SocketAddr) -> Result<()> {
    let client = Client::modern(address);
    let (task, runner) = create(&client, "confirm_delete", json!({ "filename": "a" })).await?;
    until_status(&client, &task, "input_required").await?;
    client.avoid(runner).await?;
    let responses = json!({ "confirm": { "action": "accept", "content": { "confirm": true } } });
    client.ask("tasks/update", json!({ "taskId": task, "inputResponses": responses })).await?;
    let done = until_status(&client, &task, "completed").await?;
    ensure(text(&done["result"]) == "a is deleted", &done)
}

/// 2025-11-25: whoever waits for the result is asked, and answers at a third replica.
pub(super) async fn asks_whoever_waits(address: SocketAddr, revision: &'static str) -> Result<()> {
    let client = connect(address, revision).await?;
    let (task, runner) = create(&client, "confirm_delete", json!({ "filename": "a" })).await?;
    until_status(&client, &task, "input_required").await?;
    client.avoid(runner).await?;
    let (id, mut waiting) = client.request("tasks/result", json!({ "taskId": task })).await?;
    let question = until_method(&mut waiting, "elicitation/create").await?;
    client.avoid(waiting.replica).await?;
    client.respond(&question, json!({ "action": "accept", "content": { "confirm": true } })).await?;
    let done = answer(&mut waiting, id).await?;
    ensure(text(&done["result"]) == "a is deleted", &done)
}
