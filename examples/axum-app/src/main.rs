use mcp_runtime::prelude::*;

#[tokio::main]
async fn main() -> Result<()> {
    let (router, handles) = axum_app::app();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    axum::serve(listener, router)
        .with_graceful_shutdown(async move {
            let _ = tokio::signal::ctrl_c().await;
            for handle in &handles {
                handle.begin_close(); // streams end, so that the application can
            }
        })
        .await?;
    Ok(())
}
