//! Arguments and results of the tools, shared by the plain and the tuned server.
#![forbid(unsafe_code)]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
pub struct AddParams {
    pub a: i64,
    pub b: i64,
}

#[derive(Deserialize, JsonSchema)]
pub struct EchoParams {
    pub text: String,
}

#[derive(Deserialize, JsonSchema)]
pub struct StatsParams {
    pub numbers: Vec<f64>,
}

#[derive(Serialize, JsonSchema)]
pub struct Stats {
    count: u64,
    sum: f64,
    mean: f64,
    min: f64,
    max: f64,
}

impl Stats {
    #[expect(clippy::cast_precision_loss, reason = "no client sends 2^52 numbers")]
    #[must_use]
    pub fn of(numbers: &[f64]) -> Self {
        let sum: f64 = numbers.iter().sum();
        let count = numbers.len();
        Self {
            count: count as u64,
            sum,
            mean: sum / count.max(1) as f64,
            min: numbers.iter().copied().reduce(f64::min).unwrap_or(0.0),
            max: numbers.iter().copied().reduce(f64::max).unwrap_or(0.0),
        }
    }
}
