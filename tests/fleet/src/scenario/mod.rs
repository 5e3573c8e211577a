//! The scenarios, and what they find.

mod cost;
mod faults;
pub(crate) mod features;

use crate::Result;
use crate::load::Figures;
use crate::options::Options;

/// In the order in which they are run.
pub(crate) const SCENARIOS: &[&str] = &["features", "kill", "rolling", "redis-restart", "redis-pause", "cost"];

/// What a scenario has found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) rows: Vec<Row>,
    /// What was judged.
    pub(crate) items: Vec<Finding>,
    pub(crate) notes: Vec<String>,
}

/// Figures of one kind of clients.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) clients: &'static str,
    pub(crate) figures: Figures,
}

/// Something with a verdict: a scenario, or one of the features. Without misses, it holds.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) name: String,
    pub(crate) misses: Vec<String>,
}

pub(crate) async fn run(scenario: &str, options: &Options) -> Result<Findings> {
    match scenario {
        "features" => features::run(options).await,
        "kill" => faults::kill(options).await,
        "rolling" => faults::rolling(options).await,
        "redis-restart" => faults::redis_restart(options).await,
        "redis-pause" => faults::redis_pause(options).await,
        "cost" => cost::run(options).await,
        unknown => Err(format!("no scenario `{unknown}`: there are {}", SCENARIOS.join(", ")).into()),
    }
}
