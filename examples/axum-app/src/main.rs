//! `axum-app` listens on 127.0.0.1:8080, `axum-app 127.0.0.1:0` on any port that is free; which one it is,
//! standard error says.

use mcp_runtime::prelude::*;

#[tokio::main]
async fn main() -> Result<()> {
    let (router, handles) = axum_app::app();
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    let told = told_to_end()?; // before it serves, so that no signal is missed
    axum::serve(listener, router)
        .with_graceful_shutdown(async move {
            told.await;
            for handle in &handles {
                handle.start_shutdown(); // streams end, so that the application can
            }
        })
        .await?;
    Ok(())
}

/// Waits for Ctrl-C, or for the SIGTERM that containers and services are ended with.
#[cfg(unix)]
fn told_to_end() -> Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};

    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
fn told_to_end() -> Result<impl Future<Output = ()>> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}
