//! The layers that come with the runtime: retry, cache, limits, redaction, error mapping, the audit log, and tower's.
#![allow(clippy::unused_async, reason = "the shapes of handlers are what is tested, not what they do")]

mod audit;
mod cache;
mod map_errors;
mod redact;
mod response_limit;
mod retry;
mod tower;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use mcp_runtime::{Json, ToolResult};
use schemars::JsonSchema;
use serde::Serialize;

/// Counts its calls, and fails the first ones.
#[derive(Default)]
struct Flaky {
    calls: AtomicUsize,
    fails: usize,
}

impl Flaky {
    fn attempt(&self) -> Result<usize> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        if call <= self.fails { Err(Error::msg(format!("attempt {call} failed"))) } else { Ok(call) }
    }
}

#[handlers]
impl Flaky {
    /// Reads.
    #[tool(read_only)]
    fn reads(&self, _text: Option<String>) -> Result<usize> {
        self.attempt()
    }

    /// Sets.
    #[tool(idempotent)]
    async fn sets(&self) -> Result<usize> {
        self.attempt()
    }

    /// Changes.
    #[tool]
    fn changes(&self) -> Result<usize> {
        self.attempt()
    }

    /// Reads a report.
    #[resource("report://one")]
    fn report(&self) -> Result<String> {
        Ok(self.attempt()?.to_string())
    }

    /// Refuses.
    #[tool(read_only)]
    fn refuses(&self) -> Result<usize> {
        self.attempt().map_err(|_| Error::invalid_params("no"))
    }

    /// Returns an error as its result.
    #[tool(read_only)]
    fn reports(&self) -> ToolResult {
        self.attempt()
            .map_or_else(|error| ToolResult::error(error.to_string()), |call| ToolResult::text(call.to_string()))
    }
}

async fn flaky(fails: usize, layer: impl mcp_runtime::layers::Layer) -> Result<(TestClient, Arc<Flaky>)> {
    let flaky = Arc::new(Flaky { fails, ..Flaky::default() });
    let client = TestClient::connect(Server::new("flaky", "1.0.0").mount(Arc::clone(&flaky)).layer(layer)).await?;
    Ok((client, flaky))
}

#[derive(Serialize, JsonSchema)]
struct Account {
    owner: String,
    note: String,
}

/// An account.
#[tool(read_only)]
fn account(name: String) -> Json<Account> {
    Json(Account { owner: name, note: "card 4000123412341234".to_owned() })
}

/// Text of a length.
#[tool(read_only)]
fn text(length: usize) -> String {
    "é".repeat(length / 2)
}

/// A long resource.
#[resource("text://long")]
fn long() -> String {
    "x".repeat(1000)
}

/// Leaks.
#[tool]
fn leak(how: String) -> Result<ToolResult> {
    let text = "at 4000123412341234";
    match &*how {
        "error" => Err(Error::msg(text)),
        "data" => Err(Error::internal("failed").with_data(json!({"why": [text]}))),
        "block" => Ok(ToolResult::new([Content::text(text)]).with_meta("tests.example/why", text)),
        _ => Ok(ToolResult::error(text)),
    }
}

fn texts() -> Server {
    Server::new("texts", "1.0.0").tools(tools![account, text, leak]).resources(resources![long])
}
