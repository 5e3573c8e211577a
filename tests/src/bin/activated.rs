//! A server on the sockets that systemd hands over.

use mcp_runtime::http::Sockets;
use mcp_runtime::prelude::*;

/// Which process this is.
#[tool]
fn process() -> u32 {
    std::process::id()
}

#[tokio::main]
async fn main() -> Result<(), ServerError> {
    let sockets = Sockets::from_systemd()?;
    Server::new("activated", "1.0.0").tools(tools![process]).into_service().serve_on(sockets).await
}
