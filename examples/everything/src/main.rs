//! `everything stdio` serves on standard input and output, `everything http 127.0.0.1:8080` over HTTP.
//! Port 0 picks a free port; standard error shows which.

use mcp_runtime::prelude::*;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["stdio"] => Ok(everything::server().serve_stdio().await?),
        ["http", address] => {
            let listener = TcpListener::bind(address).await?;
            eprintln!("listening on http://{}/mcp", listener.local_addr()?);
            Ok(everything::server().into_service().serve_on(listener).await?)
        }
        _ => Err(Error::msg("usage: everything stdio | everything http ADDRESS")),
    }
}
