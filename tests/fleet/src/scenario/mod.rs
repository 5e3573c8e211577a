//! The scenarios, and what they find.

mod cost;
mod faults;
pub(crate) mod features;
mod instructions;
mod redis_away;
mod scale;
mod soak;
mod tasks;
mod verdict;

use crate::Result;
use crate::load::Figures;
use crate::options::Options;

/// In the order in which they are run.
pub(crate) const SCENARIOS: &[&str] = &[
    "features",
    "kill",
    "rolling",
    "tasks",
    "redis-restart",
    "redis-pause",
    "redis-failover",
    "redis-empty",
    "network-cut",
    "soak",
    "cost",
    "scale",
    "instructions",
];

/// Those that take long, measure rather than judge, and say little of a debug build. They are run without `--short`, or by name.
pub(crate) const LONG: &[&str] = &["scale", "instructions"];

/// What a scenario has found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) rows: Vec<Row>,
    /// What was judged.
    pub(crate) items: Vec<Finding>,
    pub(crate) notes: Vec<String>,
}

impl Findings {
    pub(crate) fn extend(&mut self, more: Findings) {
        self.rows.extend(more.rows);
        self.items.extend(more.items);
        self.notes.extend(more.notes);
    }
}

/// Figures of one kind of clients.
#[derive(Debug)]
pub(crate) struct Row {
    /// What was judged by them.
    pub(crate) name: String,
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
        "tasks" => tasks::run(options).await,
        "redis-restart" => redis_away::restart(options).await,
        "redis-pause" => redis_away::pause(options).await,
        "redis-failover" => redis_away::failover(options).await,
        "redis-empty" => redis_away::empty(options).await,
        "network-cut" => redis_away::network_cut(options).await,
        "soak" => soak::run(options).await,
        "cost" => cost::run(options).await,
        "scale" => scale::run(options).await,
        "instructions" => instructions::run(options).await,
        unknown => Err(format!("no scenario `{unknown}`: there are {}", SCENARIOS.join(", ")).into()),
    }
}
