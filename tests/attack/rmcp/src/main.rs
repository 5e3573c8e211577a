//! The peer under attack: rmcp on axum with its defaults, written the way its README does, and the same tools.
#![forbid(unsafe_code)]
#![expect(clippy::unused_self, reason = "tools are methods in rmcp, with or without state")]

use std::{env, io, process, thread, time::Duration};

use axum::{Router, serve::ListenerExt};
use rmcp::{
    RoleServer,
    handler::server::wrapper::Parameters,
    model::ProgressNotificationParam,
    service::RequestContext,
    tool, tool_router,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::{net::TcpListener, time::sleep};

/// The longest answer a tool gives.
const LONGEST: usize = 8 * 1024 * 1024;

#[derive(Deserialize, JsonSchema)]
struct AddParams {
    a: i64,
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
struct WaitParams {
    ms: u64,
    text: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct ReportParams {
    ms: u64,
    answer: usize,
    text: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct BigParams {
    answer: usize,
}

#[derive(Deserialize, JsonSchema)]
struct BlockParams {
    ms: u64,
}

#[derive(Clone)]
struct Attacked;

#[tool_router(server_handler)]
impl Attacked {
    /// Add two integers.
    #[tool]
    fn add(&self, Parameters(AddParams { a, b }): Parameters<AddParams>) -> String {
        (a + b).to_string()
    }

    /// Wait, and keep the text meanwhile.
    #[tool]
    async fn wait(&self, Parameters(WaitParams { ms, text }): Parameters<WaitParams>) -> String {
        sleep(Duration::from_millis(ms)).await;
        text.map_or(0, |text| text.len()).to_string()
    }

    /// Report progress until the time is over, keep the text meanwhile, and give a long answer.
    #[tool]
    async fn report(
        &self,
        Parameters(ReportParams { ms, answer, text }): Parameters<ReportParams>,
        context: RequestContext<RoleServer>,
    ) -> String {
        const STEP: u64 = 500;
        for step in 0..=ms / STEP {
            if let Some(token) = context.meta.get_progress_token() {
                #[expect(clippy::cast_precision_loss, reason = "a few thousand steps")]
                let progress = ProgressNotificationParam::new(token, step as f64);
                let _ = context.peer.notify_progress(progress).await;
            }
            sleep(Duration::from_millis(STEP.min(ms))).await;
        }
        drop(text);
        "x".repeat(answer.min(LONGEST))
    }

    /// Give a long answer at once.
    #[tool]
    fn big(&self, Parameters(BigParams { answer }): Parameters<BigParams>) -> String {
        "x".repeat(answer.min(LONGEST))
    }

    /// Hold the thread.
    #[tool]
    fn block(&self, Parameters(BlockParams { ms }): Parameters<BlockParams>) -> String {
        thread::sleep(Duration::from_millis(ms.min(10_000)));
        ms.to_string()
    }
}

#[tokio::main]
async fn main() -> io::Result<()> {
    thread::spawn(end_with_the_driver);
    let config = StreamableHttpServerConfig::default();
    let service = StreamableHttpService::new(|| Ok(Attacked), LocalSessionManager::default().into(), config);
    let address = env::args().nth(1).expect("the address to listen on");
    // Without this, responses would wait for a timer.
    let listener = TcpListener::bind(address).await?.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, Router::new().nest_service("/mcp", service)).await
}

/// However the driver ends, the server's standard input ends with it.
fn end_with_the_driver() {
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    process::exit(0);
}
