//! The peer at its best: the router built once instead of per call, and rmcp's non-blocking pipes.
#![forbid(unsafe_code)]
#![expect(clippy::unused_self, reason = "tools are methods in rmcp, with or without state")]

use rmcp::{
    Json, ServerHandler, ServiceExt,
    handler::server::{router::tool::ToolRouter, wrapper::Parameters},
    tool, tool_handler, tool_router,
    transport::io::stdio_pipes,
};
use rmcp_server::{AddParams, EchoParams, Stats, StatsParams};

#[derive(Clone)]
struct Bench {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Bench {
    /// Add two integers.
    #[tool]
    fn add(&self, Parameters(AddParams { a, b }): Parameters<AddParams>) -> String {
        (a + b).to_string()
    }

    /// Return the text unchanged.
    #[tool]
    fn echo(&self, Parameters(EchoParams { text }): Parameters<EchoParams>) -> String {
        text
    }

    /// Summarize numbers.
    #[tool]
    fn stats(&self, Parameters(StatsParams { numbers }): Parameters<StatsParams>) -> Json<Stats> {
        Json(Stats::of(&numbers))
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Bench {}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bench = Bench { tool_router: Bench::tool_router() };
    bench.serve(stdio_pipes()).await?.waiting().await?;
    Ok(())
}
