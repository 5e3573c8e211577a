//! The scenarios: who attacks, what the good client does meanwhile, and what else is checked.

mod connections;
mod json;
pub(crate) mod leftovers;
mod retained;
mod sessions;
mod tasks;
mod unread;
mod workers;

use std::fmt::Write as _;
use std::pin::Pin;

use crate::Result;
use crate::attacker::{Attack, Tally};
use crate::good::Duty;
use crate::options::Size;
use crate::process::Setup;

type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What a scenario needs besides the tools that every server here has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    Tasks,
    Sse,
    /// A process that the driver starts, for its descriptor limit.
    OwnProcess,
    /// Minutes. Not run unless named, or with `--long`.
    Long,
}

#[derive(Debug)]
pub(crate) struct Scenario {
    /// The scenarios of one row are variants of one attack.
    pub(crate) row: u8,
    pub(crate) name: &'static str,
    about: &'static str,
    pub(crate) needs: Needs,
    pub(crate) setup: Setup,
    pub(crate) duties: &'static [Duty],
    /// The requests or connections below which an attack proves little.
    pub(crate) least: usize,
    pub(crate) run: fn(Attack) -> Running,
    /// What is wrong with what the attackers got.
    pub(crate) check: fn(&Tally) -> Option<String>,
}

const fn scenario(row: u8, name: &'static str, about: &'static str, run: fn(Attack) -> Running) -> Scenario {
    let setup = Setup { descriptors: None, sse: false };
    Scenario { row, name, about, needs: Needs::Nothing, setup, duties: &[Duty::Add], least: 0, run, check: |_| None }
}

impl Scenario {
    const fn needs(self, needs: Needs) -> Self {
        Scenario { needs, ..self }
    }

    const fn descriptors(mut self, limit: u64) -> Self {
        self.setup.descriptors = Some(limit);
        self.needs(Needs::OwnProcess)
    }

    const fn sse(mut self) -> Self {
        self.setup.sse = true;
        self.needs(Needs::Sse)
    }

    const fn duties(self, duties: &'static [Duty]) -> Self {
        Scenario { duties, ..self }
    }

    const fn least(self, least: usize) -> Self {
        Scenario { least, ..self }
    }

    const fn check(self, check: fn(&Tally) -> Option<String>) -> Self {
        Scenario { check, ..self }
    }
}

pub(crate) static SCENARIOS: &[Scenario] = &[
    scenario(1, "slow-bodies", "1100 bodies at a byte a second", |attack| Box::pin(connections::slow_bodies(attack)))
        .least(1000),
    scenario(2, "silent", "2500 (long: 5000) silent connections", |attack| Box::pin(connections::silent(attack)))
        .least(2000),
    scenario(2, "slow-heads", "2500 (long: 5000) heads at a byte a second", |attack| {
        Box::pin(connections::slow_heads(attack))
    })
    .least(2000),
    scenario(2, "silent-1024", "the same silence, and 1024 descriptors", |attack| {
        Box::pin(connections::silent(attack))
    })
    .descriptors(1024)
    .least(1000),
    scenario(3, "task-arguments", "running tasks with 4 MiB of arguments", |attack| {
        Box::pin(retained::task_arguments(attack))
    })
    .needs(Needs::Tasks)
    .least(100),
    scenario(3, "progress", "calls that report progress, with 4 MiB of arguments", |attack| {
        Box::pin(retained::progress(attack))
    })
    .least(100),
    scenario(3, "listen", "subscription streams with 250 URIs of 16 KiB", |attack| Box::pin(retained::listen(attack)))
        .least(100),
    scenario(3, "events", "answers of 4 MiB, kept for a reader who left", |attack| Box::pin(retained::events(attack)))
        .least(100),
    scenario(3, "abandoned-calls", "calls with 4 MiB of arguments in sessions whose client left", |attack| {
        Box::pin(retained::abandoned_calls(attack))
    })
    .least(50),
    scenario(3, "task-results", "finished tasks with results of 4 MiB", |attack| {
        Box::pin(retained::task_results(attack))
    })
    .needs(Needs::Tasks)
    .least(100),
    scenario(3, "greetings", "`initialize` of 3 MiB", |attack| Box::pin(retained::greetings(attack))).least(100),
    scenario(4, "big-heads", "1500 heads of 400 kB", |attack| Box::pin(connections::big_heads(attack))).least(1000),
    scenario(6, "blocking", "one plain `fn` that blocks", |attack| Box::pin(workers::blocking(attack, 1))).least(2),
    scenario(6, "blocking-many", "eight at once", |attack| Box::pin(workers::blocking(attack, 8))).least(8),
    scenario(7, "initialize-flood", "1000 `initialize`, then 25 a second", |attack| {
        Box::pin(sessions::initialize_flood(attack))
    })
    .duties(&[Duty::Add, Duty::Session, Duty::Open, Duty::Return])
    .least(900),
    scenario(8, "tasks", "1000 running tasks, then 25 more a second", |attack| Box::pin(tasks::many(attack)))
        .needs(Needs::Tasks)
        .duties(&[Duty::Add, Duty::Task])
        .least(900),
    scenario(10, "sse-streams", "HTTP+SSE streams of one caller", |attack| Box::pin(sessions::sse_streams(attack)))
        .sse()
        .check(sessions::few_streams)
        .least(600),
    scenario(14, "unread", "120 answers of 8 MiB that nobody reads", |attack| Box::pin(unread::never_read(attack)))
        .least(100),
    scenario(14, "slow-readers", "the same, read at 6 kB a second", |attack| Box::pin(unread::slowly_read(attack)))
        .least(100),
    scenario(15, "json-wide", "4 MiB of wide JSON, over and over", |attack| Box::pin(json::wide(attack))).least(20),
    scenario(15, "json-deep", "4 MiB of deep JSON, over and over", |attack| Box::pin(json::deep(attack))).least(20),
    scenario(16, "leftovers", "mixed load that leaves asks, tasks and sessions behind; minutes", |attack| {
        Box::pin(leftovers::load(attack))
    })
    .needs(Needs::Long),
    scenario(19, "short-ttl", "tasks with a ttl of 1 ms, as many as possible", |attack| {
        Box::pin(tasks::short_ttl(attack))
    })
    .needs(Needs::Tasks)
    .duties(&[Duty::Add, Duty::Task])
    .least(1000),
];

/// The scenarios of these names and rows; without any, all that are not too long.
pub(crate) fn select(names: &[String], size: Size) -> Result<Vec<&'static Scenario>> {
    if names.is_empty() {
        let fits = |scenario: &&Scenario| size == Size::Long || scenario.needs != Needs::Long;
        return Ok(SCENARIOS.iter().filter(fits).collect());
    }
    let mut chosen = Vec::new();
    for name in names {
        let before = chosen.len();
        let is_meant = |scenario: &&Scenario| scenario.name == name || scenario.row.to_string() == *name;
        chosen.extend(SCENARIOS.iter().filter(is_meant));
        if chosen.len() == before {
            return Err(format!("there is no scenario `{name}`; there are:\n{}", list()).into());
        }
    }
    Ok(chosen)
}

pub(crate) fn list() -> String {
    SCENARIOS.iter().fold(String::new(), |mut list, Scenario { row, name, about, .. }| {
        let _ = writeln!(list, "{row:>3}  {name:<17} {about}");
        list
    })
}

#[cfg(test)]
mod tests {
    use super::SCENARIOS;

    #[test]
    fn readme_lists_every_scenario() {
        let readme = include_str!("../../README.md");
        let rows =
            readme.lines().filter_map(|line| line.split('|').nth(2)?.trim().strip_prefix('`')?.strip_suffix('`'));
        assert_eq!(rows.collect::<Vec<_>>(), SCENARIOS.iter().map(|scenario| scenario.name).collect::<Vec<_>>());
    }
}
