//! The peer over HTTP at its best: one router for all requests, answers as JSON, and no sessions in either era.
#![forbid(unsafe_code)]
#![expect(clippy::unused_self, reason = "tools are methods in rmcp, with or without state")]

use std::sync::Arc;

use rmcp::{
    ServerHandler,
    handler::server::{router::tool::ToolRouter, wrapper::Parameters},
    tool, tool_handler, tool_router,
    transport::streamable_http_server::StreamableHttpServerConfig,
};
use rmcp_http::AddParams;

#[derive(Clone)]
struct Bench {
    tool_router: Arc<ToolRouter<Self>>,
}

#[tool_router]
impl Bench {
    /// Add two integers.
    #[tool]
    fn add(&self, Parameters(AddParams { a, b }): Parameters<AddParams>) -> String {
        (a + b).to_string()
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Bench {}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let bench = Bench { tool_router: Arc::new(Bench::tool_router()) };
    let config = StreamableHttpServerConfig::default().with_legacy_session_mode(false).with_json_response(true);
    rmcp_http::serve(move || bench.clone(), config).await
}
