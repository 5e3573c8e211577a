//! `notifications/cancelled`: the handler's future is dropped, and the call gets no response.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::testing::TestClient;
use mcp_runtime::{Revision, prelude::*};
use serde_json::Value;

/// Counts the calls that began, and those that were dropped.
#[derive(Default)]
struct Sleeper {
    begun: AtomicUsize,
    dropped: AtomicUsize,
    enough: AtomicBool,
}

struct Guard<'a>(&'a AtomicUsize);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[handlers]
impl Sleeper {
    /// Sleep for so many milliseconds.
    #[tool]
    async fn sleep(&self, ms: u64) -> String {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let _guard = Guard(&self.dropped);
        tokio::time::sleep(Duration::from_millis(ms)).await;
        format!("slept {ms}")
    }

    /// Waits once, and then works without a pause: there is no `.await` at which it could be dropped.
    #[tool]
    async fn crunch(&self) -> &'static str {
        tokio::task::yield_now().await;
        self.begun.fetch_add(1, Ordering::SeqCst);
        while !self.enough.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        "crunched"
    }
}

async fn connect(revision: Revision) -> Result<(TestClient, Arc<Sleeper>)> {
    let sleeper = Arc::new(Sleeper::default());
    let server = Server::new("sleeper", "1.0.0").mount(Arc::clone(&sleeper));
    Ok((TestClient::with_revision(server, revision).await?, sleeper))
}

/// A call of `sleep` with an id of our own, as `revision` writes it.
fn call(revision: Revision, id: &str, ms: u64) -> String {
    request(revision, id, json!({"name": "sleep", "arguments": {"ms": ms}}))
}

fn request(revision: Revision, id: &str, mut params: Value) -> String {
    if revision.is_modern() {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": revision.as_str(),
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
}

async fn until(condition: impl Fn() -> bool) {
    for _ in 0..500 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("it never came to that");
}

#[tokio::test]
async fn cancelled_call_is_dropped_without_a_response() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let (client, sleeper) = connect(revision).await?;
        client.send(&call(revision, "\"a\"", 60_000))?;
        until(|| sleeper.begun.load(Ordering::SeqCst) == 1).await;
        // Another spelling of the same string.
        client.send(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\u0061","reason":"bored"}}"#,
        )?;
        until(|| sleeper.dropped.load(Ordering::SeqCst) == 1).await;
        // The id is free again, and this time it is answered.
        let answer = client.exchange(&call(revision, "\"a\"", 1)).await?;
        assert!(answer.contains("slept 1"), "{answer}");
        assert_eq!(client.close().await?, [""; 0], "nothing else was ever said");
    }
    Ok(())
}

// A client should not reuse an id. If it does, the response must still be that of the second call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelled_call_does_not_answer_a_reused_id() -> Result<()> {
    let revision = Revision::V2025_11_25;
    let (client, sleeper) = connect(revision).await?;
    client.send(&request(revision, "\"a\"", json!({"name": "crunch"})))?;
    until(|| sleeper.begun.load(Ordering::SeqCst) == 1).await;
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#)?;
    client.send(&call(revision, "\"a\"", 100))?;
    until(|| sleeper.begun.load(Ordering::SeqCst) == 2).await;
    sleeper.enough.store(true, Ordering::SeqCst);
    let answer = client.receive().await?;
    assert!(answer.contains("slept 100"), "{answer}");
    assert_eq!(client.close().await?, [""; 0]);
    Ok(())
}

#[tokio::test]
async fn invalid_cancellations_are_ignored() -> Result<()> {
    let (client, sleeper) = connect(Revision::V2025_11_25).await?;
    client.send(&call(Revision::V2025_11_25, "7", 50))?;
    until(|| sleeper.begun.load(Ordering::SeqCst) == 1).await;
    for params in
        ["{}", "[]", r#"{"requestId":8}"#, r#"{"requestId":"7"}"#, r#"{"requestId":null}"#, r#"{"requestId":{}}"#]
    {
        client.send(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#))?;
    }
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#)?;
    let answer = client.receive().await?;
    assert!(answer.contains("slept 50"), "{answer}");
    // Too late.
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#)?;
    assert_eq!(client.close().await?, [""; 0]);
    Ok(())
}

#[tokio::test]
async fn cancelled_calls_free_in_flight_slots() -> Result<()> {
    let sleeper = Arc::new(Sleeper::default());
    let mut limits = mcp_runtime::Limits::default();
    limits.in_flight = 2;
    let server = Server::new("sleeper", "1.0.0").limits(limits).mount(Arc::clone(&sleeper));
    let revision = Revision::V2025_11_25;
    let client = TestClient::with_revision(server, revision).await?;
    for id in ["1001", "1002"] {
        client.send(&call(revision, id, 60_000))?;
    }
    let refused = client.exchange(&call(revision, "1003", 1)).await?;
    assert!(refused.contains("Too many calls in flight"), "{refused}");
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1001}}"#)?;
    until(|| sleeper.dropped.load(Ordering::SeqCst) == 1).await;
    let answer = client.exchange(&call(revision, "1004", 1)).await?;
    assert!(answer.contains("slept 1"), "{answer}");
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1002}}"#)?;
    client.close().await?;
    Ok(())
}

#[tokio::test]
async fn allow_remote_shutdown_false_disables_shutdown_and_exit() -> Result<()> {
    let server = Server::new("sleeper", "1.0.0").allow_remote_shutdown(false).mount(Sleeper::default());
    let client = TestClient::with_revision(server, Revision::V2025_11_25).await?;
    assert_eq!(client.request("shutdown", json!({})).await.unwrap_err().code(), Some(-32601));
    client.notify("exit", &json!({}))?;
    assert_eq!(client.request("ping", json!({})).await?, json!({}));
    Ok(())
}

#[tokio::test]
async fn shutdown_in_a_batch_is_rejected() -> Result<()> {
    let client =
        TestClient::with_revision(Server::new("sleeper", "1.0.0").mount(Sleeper::default()), Revision::V2025_03_26)
            .await?;
    let answer = client.exchange(r#"[{"jsonrpc":"2.0","id":"a","method":"shutdown"}]"#).await?;
    assert!(answer.contains("`shutdown` cannot be part of a batch"), "{answer}");
    let pong = client.exchange(r#"{"jsonrpc":"2.0","id":"b","method":"ping"}"#).await?;
    assert_eq!(pong, r#"{"jsonrpc":"2.0","id":"b","result":{}}"#);
    Ok(())
}
