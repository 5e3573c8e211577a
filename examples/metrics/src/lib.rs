//! A server with a page of metrics beside its endpoint: `/mcp` for clients, `/metrics` for Prometheus.

mod prometheus;

use std::time::Duration;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use mcp_runtime::observe::AccessLog;
use mcp_runtime::{ServerHandle, prelude::*};

pub use prometheus::Metrics;

/// The price of an article in cents.
#[tool(read_only)]
fn price(
    /// The name of the article, `tea` for example.
    article: String,
) -> Result<u32> {
    match &*article {
        "tea" => Ok(350),
        "cake" => Ok(480),
        _ => Err(Error::msg(format!("we have no {article}; we have tea and cake"))),
    }
}

/// Order an article. The kitchen takes its time.
#[tool]
async fn order(
    /// The name of the article.
    article: String,
) -> Result<String> {
    price(article.clone())?;
    tokio::time::sleep(Duration::from_millis(20)).await;
    Ok(format!("one {article}, with pleasure"))
}

/// The server.
pub fn server() -> Server {
    Server::new("metrics", "1.0.0").tools(tools![price, order])
}

/// The application, and a handle to shut its server down.
///
/// `/metrics` says how busy the server is: put it on a port of its own if strangers should not know.
pub fn app() -> (Router, ServerHandle) {
    let metrics = Metrics::new();
    let service = server().observe(metrics.clone()).observe(AccessLog).into_service();
    let handle = service.handle();
    let page = move || async move {
        ([(CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], metrics.page())
    };
    (Router::new().route("/metrics", get(page)).nest_service("/mcp", service), handle)
}
