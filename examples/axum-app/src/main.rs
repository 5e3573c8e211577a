//! `axum-app` listens on 127.0.0.1:8080, `axum-app 127.0.0.1:0` on a free port; standard error shows which.

use mcp_runtime::prelude::*;

#[tokio::main]
async fn main() -> Result<()> {
    let (router, handles) = axum_app::app();
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    let signal = shutdown_signal()?; // before serving, so that no signal is missed
    axum::serve(listener, router)
        .with_graceful_shutdown(async move {
            signal.await;
            for handle in &handles {
                handle.start_shutdown(); // closes streams, which would keep the application running
            }
        })
        .await?;
    Ok(())
}

/// Waits for Ctrl-C, or for SIGTERM, which stops containers and services.
#[cfg(unix)]
fn shutdown_signal() -> Result<impl Future<Output = ()>> {
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
fn shutdown_signal() -> Result<impl Future<Output = ()>> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}
