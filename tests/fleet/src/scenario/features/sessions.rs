//! Calls, and what a session is: opened at one replica, known to all, changed and ended anywhere.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use serde_json::json;

use super::ensure;
use crate::Result;
use crate::client::{Client, MODERN, answer, text, until};

pub(super) async fn connect(address: SocketAddr, revision: &'static str) -> Result<Client> {
    if revision == MODERN { Ok(Client::modern(address)) } else { Client::open(address, revision).await }
}

pub(super) async fn calls(address: SocketAddr, revision: &'static str) -> Result<()> {
    let client = connect(address, revision).await?;
    let listed = client.ask("tools/list", json!({})).await?;
    ensure(listed["tools"].as_array().is_some_and(|tools| tools.len() > 20), &listed)?;
    let mut served = BTreeSet::new();
    for number in 0..9 {
        let name = number.to_string();
        let params = json!({ "name": "greet", "arguments": { "name": name } });
        let (id, mut reply) = client.request("tools/call", params).await?;
        let answer = answer(&mut reply, id).await?;
        ensure(text(&answer["result"]) == format!("Hello, {name}!"), &answer)?;
        served.extend(reply.replica);
    }
    ensure(served.len() > 1, format!("all calls were served by {served:?}"))
}

pub(super) async fn log_level(address: SocketAddr, revision: &'static str) -> Result<()> {
    let client = connect(address, revision).await?;
    for (level, expected) in [("error", 0), ("debug", 3), ("error", 0)] {
        client.ask("logging/setLevel", json!({ "level": level })).await?;
        let (id, mut reply) = client.start("test_tool_with_logging", json!({})).await?;
        let (before, _) = until(&mut reply, |message| message["id"] == id).await?;
        let logged = before.iter().filter(|message| message["method"] == "notifications/message").count();
        ensure(logged == expected, format!("{logged} messages were logged after `{level}` was set elsewhere"))?;
    }
    Ok(())
}

pub(super) async fn delete(address: SocketAddr, revision: &'static str) -> Result<()> {
    let client = connect(address, revision).await?;
    let mut stream = client.listen(None).await?;
    ensure(stream.status == 200, format!("GET: HTTP {}", stream.status))?;
    client.avoid(stream.replica).await?;
    let deleted = client.delete().await?;
    ensure((200..300).contains(&deleted.status), format!("DELETE: HTTP {}", deleted.status))?;
    for _ in 0..3 {
        let (_, reply) = client.request("ping", json!({})).await?;
        ensure(reply.status == 404, format!("after DELETE: HTTP {}", reply.status))?;
    }
    while stream.next().await.map_err(|error| format!("the stream of the session stays: {error}"))?.is_some() {}
    Ok(())
}
