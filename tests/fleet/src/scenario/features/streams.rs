//! Streams: progress on them, cut ones resumed elsewhere, calls cancelled from elsewhere.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::ensure;
use super::sessions::connect;
use crate::Result;
use crate::client::{Client, answer, text, until, until_method};
use crate::http::Reply;

const PROGRESS: &str = "notifications/progress";

pub(super) async fn progress(address: SocketAddr, revision: &'static str) -> Result<()> {
    let client = connect(address, revision).await?;
    for _ in 0..3 {
        let (id, mut reply) = client.start("test_tool_with_progress", json!({})).await?;
        let (before, result) = until(&mut reply, |message| message["id"] == id).await?;
        let steps: Vec<&Value> = before.iter().map(|message| &message["params"]["progress"]).collect();
        ensure(steps == [0, 50, 100] && text(&result["result"]) == "done", format!("{before:?} {result}"))?;
    }
    Ok(())
}

/// Cuts a stream, and resumes it at another replica.
async fn elsewhere(client: &Client, mut cut: Reply) -> Result<Reply> {
    let last = cut.last_event.take().ok_or("the stream has no event ids")?;
    let replica = cut.replica;
    drop(cut);
    client.avoid(replica).await?;
    let resumed = client.listen(Some(&last)).await?;
    ensure(resumed.status == 200, format!("resumption: HTTP {}", resumed.status))?;
    ensure(resumed.replica != replica, "it was resumed where it began")?;
    Ok(resumed)
}

/// After the first event, with more of them still to come.
pub(super) async fn resume(address: SocketAddr, revision: &'static str) -> Result<()> {
    let client = connect(address, revision).await?;
    let (id, mut reply) = client.start("test_tool_with_progress", json!({})).await?;
    until_method(&mut reply, PROGRESS).await?;
    let mut resumed = elsewhere(&client, reply).await?;
    let (before, result) = until(&mut resumed, |message| message["id"] == id).await?;
    let steps: Vec<&Value> = before.iter().map(|message| &message["params"]["progress"]).collect();
    ensure(steps == [50, 100] && text(&result["result"]) == "done", format!("{before:?} {result}"))
}

/// While the call runs and there is nothing to replay: what follows reaches the other replica.
pub(super) async fn resume_running(address: SocketAddr, revision: &'static str) -> Result<()> {
    let client = connect(address, revision).await?;
    let (id, mut reply) = client.start("slow_compute", json!({ "seconds": 1.5 })).await?;
    until_method(&mut reply, PROGRESS).await?;
    let mut resumed = elsewhere(&client, reply).await?;
    let result = answer(&mut resumed, id).await?;
    ensure(text(&result["result"]) == "It is done after 1.5 s", &result)
}

/// Where the server closes the stream, and the client has to come back.
pub(super) async fn resume_closed(address: SocketAddr, revision: &'static str) -> Result<()> {
    let client = connect(address, revision).await?;
    let (id, mut reply) = client.start("test_reconnection", json!({})).await?;
    // Closing is of 2025-11-25; older clients get their result on the stream.
    let result = match reply.next().await? {
        Some(result) => result,
        None => answer(&mut elsewhere(&client, reply).await?, id).await?,
    };
    ensure(text(&result["result"]) == "welcome back", &result)
}

pub(super) async fn cancel(address: SocketAddr, revision: &'static str) -> Result<()> {
    let client = connect(address, revision).await?;
    let (id, mut reply) = client.start("slow_compute", json!({ "seconds": 60 })).await?;
    until_method(&mut reply, PROGRESS).await?;
    client.avoid(reply.replica).await?;
    client.notify("notifications/cancelled", json!({ "requestId": id })).await?;
    match timeout(Duration::from_secs(8), reply.next()).await {
        Ok(Ok(None)) => Ok(()),
        Ok(other) => Err(format!("after the cancellation: {other:?}").into()),
        Err(_) => Err("the call runs on after its cancellation".into()),
    }
}

/// A session has one GET stream in the whole fleet, and it is free again when its client has left.
pub(super) async fn one_get_stream(address: SocketAddr, revision: &'static str) -> Result<()> {
    let client = connect(address, revision).await?;
    let first = client.listen(None).await?;
    ensure(first.status == 200, format!("GET: HTTP {}", first.status))?;
    client.avoid(first.replica).await?;
    let second = client.listen(None).await?;
    ensure(second.status == 409, format!("a second GET elsewhere: HTTP {}", second.status))?;
    drop(first);
    for _ in 0..100 {
        if client.listen(None).await?.status == 200 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err("the GET stream does not become free".into())
}
