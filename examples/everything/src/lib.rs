//! Every feature of the protocol: the server under test by the official conformance suite.

mod asking;
mod content;
mod prompts;
mod resources;
mod rounds;
mod schema;
mod tasks;
mod telling;

use mcp_runtime::prelude::*;
use mcp_runtime::protocol::CacheHint;

/// The server with all its handlers.
pub fn server() -> Server {
    Server::new("everything", env!("CARGO_PKG_VERSION"))
        .title("Everything")
        .dynamic()
        .cache_hint(CacheHint::NONE)
        .tools(content::tools())
        .tools(telling::tools())
        .tools(schema::tools())
        .tools(asking::tools())
        .tools(rounds::tools())
        .tools(tasks::tools())
        .prompts(prompts::prompts())
        .prompts(rounds::prompts())
        .resources(resources::resources())
}
