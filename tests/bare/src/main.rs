//! The smallest server: one tool, stdio, no command line.

use mcp_runtime::prelude::*;

/// Add two integers.
#[tool(read_only)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tokio::main]
async fn main() -> Result<(), ServerError> {
    Server::new("bare", "0.1.0").tools(tools![add]).serve_stdio().await
}
