//! What the plain and the tuned server have in common: the arguments, and how they are served.
#![forbid(unsafe_code)]

use std::{env, io, process, thread};

use axum::{Router, serve::ListenerExt};
use rmcp::{
    ServerHandler,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::net::TcpListener;

#[derive(Deserialize, JsonSchema)]
pub struct AddParams {
    pub a: i64,
    pub b: i64,
}

/// Serves on axum, as the SDK's README does, with `TCP_NODELAY` so that no response waits for a timer.
///
/// # Errors
///
/// When the address cannot be listened on.
///
/// # Panics
///
/// Without an address on the command line.
pub async fn serve<H>(
    handler: impl Fn() -> H + Send + Sync + 'static,
    config: StreamableHttpServerConfig,
) -> io::Result<()>
where
    H: ServerHandler,
{
    thread::spawn(end_with_the_driver);
    let service = StreamableHttpService::new(move || Ok(handler()), LocalSessionManager::default().into(), config);
    let address = env::args().nth(1).expect("the address to listen on");
    let listener = TcpListener::bind(address).await?.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, Router::new().nest_service("/mcp", service)).await
}

/// Every server here ends when its standard input does.
fn end_with_the_driver() {
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    process::exit(0);
}
