//! The same tools on our framework, written the way its README does.
#![forbid(unsafe_code)]

use mcp_runtime::{Json, prelude::*};
use schemars::JsonSchema;
use serde::Serialize;

/// Add two integers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Return the text unchanged.
#[tool]
fn echo(text: String) -> String {
    text
}

#[derive(Serialize, JsonSchema)]
struct Stats {
    count: u64,
    sum: f64,
    mean: f64,
    min: f64,
    max: f64,
}

/// Summarize numbers.
#[tool]
#[allow(clippy::needless_pass_by_value, reason = "arguments are owned")]
#[expect(clippy::cast_precision_loss, reason = "no client sends 2^52 numbers")]
fn stats(numbers: Vec<f64>) -> Json<Stats> {
    let sum: f64 = numbers.iter().sum();
    let count = numbers.len();
    Json(Stats {
        count: count as u64,
        sum,
        mean: sum / count.max(1) as f64,
        min: numbers.iter().copied().reduce(f64::min).unwrap_or(0.0),
        max: numbers.iter().copied().reduce(f64::max).unwrap_or(0.0),
    })
}

#[tokio::main]
async fn main() -> Result<(), ServerError> {
    Server::new("bench", "1").tools(tools![add, echo, stats]).serve_stdio().await
}
