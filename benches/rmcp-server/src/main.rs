//! The peer: the same tools on rmcp, written the way its README does.
#![forbid(unsafe_code)]
#![expect(clippy::unused_self, reason = "tools are methods in rmcp, with or without state")]

use rmcp::{Json, ServiceExt, handler::server::wrapper::Parameters, tool, tool_router, transport::stdio};
use rmcp_server::{AddParams, EchoParams, Stats, StatsParams};

#[derive(Clone)]
struct Bench;

#[tool_router(server_handler)]
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

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Bench.serve(stdio()).await?.waiting().await?;
    Ok(())
}
