//! The peer over HTTP: its defaults, written the way its README does. Sessions, and answers as events.
#![forbid(unsafe_code)]
#![expect(clippy::unused_self, reason = "tools are methods in rmcp, with or without state")]

use rmcp::{
    handler::server::wrapper::Parameters, tool, tool_router,
    transport::streamable_http_server::StreamableHttpServerConfig,
};
use rmcp_http::AddParams;

#[derive(Clone)]
struct Bench;

#[tool_router(server_handler)]
impl Bench {
    /// Add two integers.
    #[tool]
    fn add(&self, Parameters(AddParams { a, b }): Parameters<AddParams>) -> String {
        (a + b).to_string()
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    rmcp_http::serve(|| Bench, StreamableHttpServerConfig::default()).await
}
