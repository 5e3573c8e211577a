//! The server that `tests/browser` opens from a web page: `browsed ORIGIN` allows pages of that origin. Its first line of
//! output has two addresses: of a server for everybody, and of one that wants a token, which is `alice`. It ends with its
//! standard input.

use std::sync::Arc;

use mcp_runtime::ServerError;
use mcp_runtime::auth::{Auth, Rejection, User};
use mcp_tests::http::server::server;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

#[allow(clippy::unused_async, reason = "as one that asks elsewhere")]
async fn verify(token: String) -> Result<User, Rejection> {
    match &*token {
        "alice" => Ok(User::new("alice").with_issuer("https://auth.example.com")),
        _ => Err(Rejection::invalid("the token is unknown")),
    }
}

#[tokio::main]
async fn main() -> Result<(), ServerError> {
    let origin = std::env::args().nth(1).expect("an origin");
    let service = || server(&Arc::default()).into_service().allow_origins([&*origin]).request_ids();
    let open = service().legacy_sse();
    let auth = Auth::verify_with(verify)
        .resource("https://mcp.example.com/mcp")
        .authorization_servers(["https://auth.example.com"]);
    let closed = service().allow_hosts(["127.0.0.1"]).authorize(auth);
    let listeners = [TcpListener::bind("127.0.0.1:0").await?, TcpListener::bind("127.0.0.1:0").await?];
    #[expect(clippy::print_stdout, reason = "nobody reads messages there")]
    {
        println!("{} {}", listeners[0].local_addr()?, listeners[1].local_addr()?);
    }
    let [first, second] = listeners;
    let ended = async { tokio::io::stdin().read_to_end(&mut Vec::new()).await };
    tokio::select! {
        served = open.serve_on(first) => served,
        served = closed.serve_on(second) => served,
        _ = ended => Ok(()),
    }
}
