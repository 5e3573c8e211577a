use booking::server;
use mcp_runtime::prelude::*;

#[tokio::main]
async fn main() -> Result<(), ServerError> {
    server().serve_stdio().await
}
