//! `TestClient` and tasks: the same test code in both eras.

use mcp_runtime::store::TaskStatus;
use mcp_runtime::testing::{ElicitReply, ElicitRequest, TestClient, TestClientBuilder};
use mcp_runtime::{Revision, prelude::*};

use super::server;

const WIRES: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

fn builder(revision: Revision) -> TestClientBuilder {
    let sure = |question: &ElicitRequest| json!({"sure": question.message() != "Two?"});
    TestClient::builder(server()).revision(revision).on_elicit(sure)
}

#[tokio::test]
async fn task_can_be_started_followed_and_answered() -> Result<()> {
    for revision in WIRES {
        let client = builder(revision).connect().await?;
        let task = client.start_task("slow", json!({"millis": 30})).await?;
        assert!(task.id().len() >= 22);
        assert!(!task.status().await?.status.is_over());
        assert_eq!(task.result().await?.text(), "task after 30");
        assert_eq!(task.status().await?.status, TaskStatus::Completed);
        assert_eq!(task.result().await?.text(), "task after 30", "as often as one likes");

        let task = client.start_task("ask", json!({})).await?;
        assert_eq!(task.result().await?.text(), "true false true");
        let task = client.start_task("prepared", json!({})).await?;
        assert_eq!(task.result().await?.text(), "true true", "what it asks before it is a task, too");
    }
    Ok(())
}

#[tokio::test]
async fn failed_and_cancelled_tasks_are_reported() -> Result<()> {
    for revision in WIRES {
        let client = builder(revision).connect().await?;
        let task = client.start_task("failing", json!({})).await?;
        assert!(task.result().await?.is_error());
        let task = client.start_task("broken", json!({})).await?;
        assert_eq!(task.result().await.unwrap_err().code(), Some(-32603));
        assert_eq!(task.status().await?.message.as_deref(), Some("no such thing"));
        let task = client.start_task("slow", json!({"millis": 60_000})).await?;
        task.cancel().await?;
        assert_eq!(task.status().await?.status, TaskStatus::Cancelled);
        let error = task.result().await.unwrap_err().to_string();
        assert!(error.to_lowercase().contains("this task was cancelled"), "{error}");
    }
    Ok(())
}

#[tokio::test]
async fn start_task_on_a_plain_call_is_an_error() -> Result<()> {
    for revision in [Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18] {
        let client = builder(revision).connect().await?;
        let error = client.start_task("slow", json!({"millis": 1})).await.unwrap_err().to_string();
        assert_eq!(error, format!("revision {revision} has no tasks; use 2025-11-25 or 2026-07-28"));
    }
    let client = builder(Revision::V2026_07_28).connect().await?;
    let error = client.start_task("greet", json!({"name": "Ada"})).await.unwrap_err().to_string();
    assert!(error.starts_with("`greet` did not become a task; its result is"), "{error}");
    let client = builder(Revision::V2025_11_25).connect().await?;
    assert_eq!(client.start_task("greet", json!({"name": "Ada"})).await.unwrap_err().code(), Some(-32601));
    Ok(())
}

#[tokio::test]
async fn client_with_tasks_waits_for_results() -> Result<()> {
    for revision in WIRES {
        let client = builder(revision).tasks().connect().await?;
        assert_eq!(client.call("slow", json!({"millis": 1})).await?.text(), "task after 1");
        assert_eq!(client.call("ask", json!({})).await?.text(), "true false true");
        assert_eq!(client.call("prepared", json!({})).await?.text(), "true true");
        assert_eq!(client.call("greet", json!({"name": "Ada"})).await?.text(), "Hello, Ada!");
        assert_eq!(client.observe("slow", json!({"millis": 1})).await?.result().text(), "task after 1");
    }
    // `tasks()` adds to capabilities that were set by hand.
    let by_hand = builder(Revision::V2026_07_28).capability("extensions", json!({"example.com/x": {}})).tasks();
    assert_eq!(by_hand.connect().await?.call("slow", json!({"millis": 1})).await?.text(), "task after 1");
    Ok(())
}

#[tokio::test]
async fn task_is_followed_at_the_server_that_created_it() -> Result<()> {
    const SECRET: &str = "the secret of these tests, long enough";
    let client = TestClient::builder(server().state_secrets([SECRET])).on_elicit(|_| json!({"sure": true}));
    let client = client.new_server_per_round(|| server().state_secrets([SECRET])).tasks().connect().await?;
    assert_eq!(client.call("prepared", json!({})).await?.text(), "true true");
    let task = client.start_task("prepared", json!({})).await?;
    assert_eq!(task.result().await?.text(), "true true");
    assert_eq!(task.status().await?.status, TaskStatus::Completed);
    Ok(())
}

#[tokio::test]
async fn missing_elicit_callback_is_named() -> Result<()> {
    let client = TestClient::builder(server()).capability("elicitation", json!({})).connect().await?;
    let error = client.start_task("ask", json!({})).await?.result().await.unwrap_err().to_string();
    assert!(error.ends_with("give the client's builder an `on_elicit`"), "{error}");
    let client = builder(Revision::V2026_07_28).on_elicit(|_| ElicitReply::decline()).connect().await?;
    let task = client.start_task("ask", json!({})).await?;
    assert_eq!(task.result().await?.text(), "the user declined");
    Ok(())
}
