//! Changes: made at one replica, told to clients whose stream is at another.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::ensure;
use super::sessions::connect;
use crate::Result;
use crate::client::{Client, until_method};
use crate::http::Reply;

const URI: &str = "test://watched-resource";
const TOOLS: &str = "notifications/tools/list_changed";
const UPDATED: &str = "notifications/resources/updated";

/// Calls a tool at another replica than the one of a stream, and waits for what the stream says of it.
async fn told(client: &Client, stream: &mut Reply, tool: &str, method: &str) -> Result<Value> {
    ensure(stream.status == 200, format!("HTTP {}", stream.status))?;
    client.avoid(stream.replica).await?;
    client.call(tool, json!({})).await?;
    until_method(stream, method).await
}

pub(super) async fn list(address: SocketAddr, revision: &'static str) -> Result<()> {
    let client = connect(address, revision).await?;
    let mut stream = client.listen(None).await?;
    told(&client, &mut stream, "test_trigger_tool_change", TOOLS).await.map(drop)
}

pub(super) async fn resource(address: SocketAddr, revision: &'static str) -> Result<()> {
    let client = connect(address, revision).await?;
    let mut stream = client.listen(None).await?;
    // The subscription is made elsewhere, too.
    client.avoid(stream.replica).await?;
    client.ask("resources/subscribe", json!({ "uri": URI })).await?;
    // At once: the replica with the stream may not know of the subscription yet.
    let update = told(&client, &mut stream, "test_trigger_resource_update", UPDATED).await?;
    ensure(update["params"]["uri"] == URI, &update)
}

async fn listen(client: &Client, to: Value) -> Result<Reply> {
    let (_, mut stream) = client.request("subscriptions/listen", json!({ "notifications": to })).await?;
    until_method(&mut stream, "notifications/subscriptions/acknowledged").await?;
    Ok(stream)
}

pub(super) async fn listened_list(address: SocketAddr) -> Result<()> {
    let client = Client::modern(address);
    let mut stream = listen(&client, json!({ "toolsListChanged": true })).await?;
    told(&client, &mut stream, "test_trigger_tool_change", TOOLS).await.map(drop)
}

pub(super) async fn listened_resource(address: SocketAddr) -> Result<()> {
    let client = Client::modern(address);
    let mut stream = listen(&client, json!({ "resourceSubscriptions": [URI] })).await?;
    let update = told(&client, &mut stream, "test_trigger_resource_update", UPDATED).await?;
    ensure(update["params"]["uri"] == URI, &update)
}
