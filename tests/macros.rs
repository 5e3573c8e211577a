//! What the macros make of functions, methods and structs: descriptors as a client sees them, and
//! calls through the same path a client's would take.
#![allow(
    clippy::unnecessary_wraps,
    clippy::unused_async,
    clippy::unused_self,
    reason = "handlers of every shape, with as little inside as possible"
)]
#![allow(dead_code, reason = "fields that are only printed")]

#[path = "macros/arguments.rs"]
mod arguments;
#[path = "macros/blocks.rs"]
mod blocks;
#[path = "macros/docs.rs"]
mod docs;
#[path = "macros/errors.rs"]
mod errors;
#[path = "macros/keys.rs"]
mod keys;
#[path = "macros/places.rs"]
mod places;
#[path = "macros/prompts.rs"]
mod prompts;
#[path = "macros/resources.rs"]
mod resources;
#[path = "macros/returns.rs"]
mod returns;

use mcp_runtime::prelude::*;

/// A client of a server with these tools.
async fn client(tools: impl IntoIterator<Item = Tool>) -> TestClient {
    connect(Server::new("test", "1.0.0").tools(tools)).await
}

async fn connect(server: Server) -> TestClient {
    TestClient::connect(server).await.unwrap()
}
