//! A server over HTTP whose tool asks several questions, to be run as one of several replicas: `REPLICA_SECRET` is the
//! secret they share, and its first line of output is its address.

use mcp_runtime::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::net::TcpListener;

#[derive(Deserialize, JsonSchema)]
struct Answer {
    text: String,
}

/// Fill in an application, and tell which processes took part in it.
#[tool]
async fn apply(ctx: &Context) -> Result<String> {
    let first = ctx.once("first", async { Ok(std::process::id()) }).await?;
    let name: Answer = ctx.elicit("Your name?").await?;
    let town: Answer = ctx.elicit(format!("Where do you live, {}?", name.text)).await?;
    let second = ctx.once("second", async { Ok(std::process::id()) }).await?;
    let trade: Answer = ctx.elicit("What do you do?").await?;
    Ok(format!("{} of {}, {}: {first} {second} {}", name.text, town.text, trade.text, std::process::id()))
}

#[tokio::main]
async fn main() -> Result<(), ServerError> {
    let mut server = Server::new("replica", "1.0.0").tools(tools![apply]);
    if let Ok(secret) = std::env::var("REPLICA_SECRET") {
        server = server.state_secrets([secret]);
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    #[expect(clippy::print_stdout, reason = "nobody reads messages there")]
    {
        println!("{}", listener.local_addr()?);
    }
    server.into_service().serve_on(listener).await
}
