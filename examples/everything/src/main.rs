//! One of everything: the server the official conformance suite talks to.
//!
//! `everything stdio` speaks on standard input and output, `everything http 127.0.0.1:8080` over HTTP.

mod content;
mod prompts;
mod resources;
mod telling;

use mcp_runtime::{Cache, prelude::*};

fn server() -> Server {
    Server::new("everything", env!("CARGO_PKG_VERSION"))
        .title("Everything")
        .dynamic()
        .cache(Cache::NONE)
        .tools(content::tools())
        .tools(telling::tools())
        .prompts(prompts::prompts())
        .resources(resources::resources())
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["stdio"] => server().serve_stdio().await,
        ["http", address] => server().serve_http(address).await,
        _ => Err(Error::tool("usage: everything stdio | everything http ADDRESS")),
    }
}
