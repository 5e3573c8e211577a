//! What the macros generate for functions, methods and structs: descriptors as a client sees them, and calls
//! through a client.
#![allow(
    clippy::unnecessary_wraps,
    clippy::unused_async,
    clippy::unused_self,
    reason = "handlers of every shape, with as little inside as possible"
)]
#![allow(dead_code, reason = "fields that are only printed")]

mod arguments;
mod blocks;
mod borrowed;
mod constraints;
mod docs;
mod enforced;
mod enforced_in_types;
mod errors;
mod forms;
mod hygiene;
mod keys;
mod layers;
mod lists;
mod names;
mod places;
mod prompts;
mod resources;
mod returns;
mod run_time;
mod state;
mod tour;

use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;

/// A client of a server with these tools.
async fn client(tools: impl IntoIterator<Item = Tool>) -> TestClient {
    connect(Server::new("test", "1.0.0").tools(tools)).await
}

async fn connect(server: Server) -> TestClient {
    TestClient::connect(server).await.unwrap()
}
