//! `metrics` listens on 127.0.0.1:8080, `metrics 127.0.0.1:0` on a free port; standard error shows which.

use mcp_runtime::prelude::*;

#[tokio::main]
async fn main() -> Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init(); // shows the access log
    let (router, handle) = metrics::app();
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, router)
        .with_graceful_shutdown(async move {
            let _ = tokio::signal::ctrl_c().await;
            handle.start_shutdown(); // closes streams, which would keep the application running
        })
        .await?;
    Ok(())
}
