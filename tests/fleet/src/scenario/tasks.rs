//! Tasks whose replicas die, are replaced, or cannot reach Redis: durable ones go on, others fail, and none is lost.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::sleep;

use super::{Finding, Findings};
use crate::Result;
use crate::client::{Client, MODERN};
use crate::options::Options;
use crate::redis::Redis;
use crate::site::Site;

/// The tasks of each kind.
const TASKS: usize = 9;
/// The steps of a durable task, and how long it takes undisturbed.
const STEPS: u64 = 20;
const SECONDS: u64 = 6;
/// How soon a task that is not durable has failed when its replica has died.
const FAILED: Duration = Duration::from_secs(20);
/// When everything has to be over.
const LONGEST: Duration = Duration::from_secs(2 * 60);

/// What happens while they run.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// SIGKILL of a replica, then of another one.
    Kill,
    /// SIGTERM of one replica after the other.
    Deploy,
    /// SIGSTOP of Redis.
    Pause,
}

pub(super) async fn run(options: &Options) -> Result<Findings> {
    let mut found = Findings::default();
    for (name, fault) in [("tasks/kill", Fault::Kill), ("tasks/deploy", Fault::Deploy), ("tasks/pause", Fault::Pause)] {
        found.extend(under(name, fault, options).await?);
    }
    Ok(found)
}

/// A task, and how its client follows it.
struct Task {
    client: Client,
    id: String,
    key: String,
}

async fn under(name: &str, fault: Fault, options: &Options) -> Result<Findings> {
    let redis = Redis::start().await?;
    let mut site = Site::start(options, &redis).await?;
    let mut durable = Vec::new();
    for number in 0..TASKS {
        let key = format!("task-{number}");
        let arguments = json!({ "steps": STEPS, "seconds": SECONDS, "key": key });
        durable.push(start(&site, number, "durable_steps", arguments, key).await?);
    }
    // Only those that cannot go on: a deploy would wait for them.
    let mut ordinary = Vec::new();
    for number in 0..if fault == Fault::Kill { TASKS } else { 0 } {
        ordinary.push(start(&site, number, "slow_compute", json!({ "seconds": 40 }), String::new()).await?);
    }
    let begun = Instant::now();
    sleep(Duration::from_secs(2)).await;
    happens(fault, options, &redis, &mut site).await?;
    let mut misses = Vec::new();
    let mut slowest_failure = Duration::ZERO;
    let failing = Instant::now();
    while fault == Fault::Kill && failing.elapsed() < FAILED {
        let failed = statuses(&ordinary).await.into_iter().filter(|status| status == "failed").count();
        // Two of three replicas were killed, and each had some of them.
        if failed >= TASKS * 2 / 3 {
            break;
        }
        slowest_failure = failing.elapsed();
        sleep(Duration::from_millis(200)).await;
    }
    if slowest_failure + Duration::from_secs(1) > FAILED {
        misses.push("tasks that are not durable have not failed after the death of their replica".to_owned());
    }
    while begun.elapsed() < LONGEST && statuses(&durable).await.iter().any(|status| is_running(status)) {
        sleep(Duration::from_millis(100)).await;
    }
    let took = begun.elapsed();
    let completed = statuses(&durable).await.into_iter().filter(|status| status == "completed").count();
    if completed < TASKS {
        misses.push(format!("{} durable tasks lost", TASKS - completed));
    }
    let effects = Effects::read(&fs::read_to_string(site.effects())?, durable.iter().map(|task| &*task.key));
    misses.extend(effects.misses(fault));
    let note = format!(
        "{name}: {completed} of {TASKS} durable tasks completed, the last after {:.1} s; {} effects, {} of them repeated \
         because nobody knew whether they were done",
        took.as_secs_f64(),
        effects.done,
        effects.uncertain
    );
    Ok(Findings { items: vec![Finding { name: name.to_owned(), misses }], notes: vec![note], ..Findings::default() })
}

async fn happens(fault: Fault, options: &Options, redis: &Redis, site: &mut Site) -> Result<()> {
    match fault {
        Fault::Kill => {
            for number in 0..2 {
                site.replicas[number].kill();
                sleep(Duration::from_secs(1)).await;
                site.revive(number).await?;
            }
        }
        Fault::Deploy => {
            for number in 0..options.replicas {
                site.replicas[number].shut_down().await?;
                site.revive(number).await?;
            }
        }
        Fault::Pause => redis.pause(Duration::from_secs(options.pick(3, 15))).await,
    }
    Ok(())
}

/// Starts a task: in 2026-07-28, and every third in a session.
async fn start(site: &Site, number: usize, tool: &str, arguments: Value, key: String) -> Result<Task> {
    let mut params = json!({ "name": tool, "arguments": arguments });
    let client = if number.is_multiple_of(3) {
        params["task"] = json!({ "ttl": 600_000 });
        Client::open(site.address(), "2025-11-25").await?
    } else {
        Client::modern(site.address())
    };
    let created = client.ask("tools/call", params).await?;
    let id = created["taskId"].as_str().or(created["task"]["taskId"].as_str());
    let id = id.ok_or_else(|| format!("no task: {created}"))?.to_owned();
    Ok(Task { client, id, key })
}

/// The status of each task, or nothing if it cannot be had now.
async fn statuses(tasks: &[Task]) -> Vec<String> {
    let mut all = Vec::new();
    for Task { client, id, .. } in tasks {
        let task = client.ask("tasks/get", json!({ "taskId": id })).await.unwrap_or_default();
        all.push(task["status"].as_str().unwrap_or_default().to_owned());
        debug_assert!(client.revision != MODERN || task["taskId"].is_null() || task["taskId"] == **id);
    }
    all
}

fn is_running(status: &str) -> bool {
    !matches!(status, "completed" | "failed" | "cancelled")
}

/// What the steps of durable tasks have done.
#[derive(Debug, Default, PartialEq)]
struct Effects {
    done: usize,
    /// Done again in the next run, by a replica that could not know: the one before died with the result.
    uncertain: usize,
    /// Done again although the handler had gone on: its result was stored.
    twice: usize,
    missing: usize,
}

impl Effects {
    /// Reads lines `key step`. A step is begun when the result of the one before is stored: whatever comes again after a
    /// later one was known to be done.
    fn read<'a>(lines: &str, keys: impl Iterator<Item = &'a str>) -> Self {
        let mut effects = Effects::default();
        let mut last: BTreeMap<&str, u64> = keys.map(|key| (key, 0)).collect();
        for (key, step) in lines.lines().filter_map(|line| line.split_once(' ')) {
            let (Ok(step), Some(last)) = (step.parse::<u64>(), last.get_mut(key)) else { continue };
            effects.done += 1;
            match step {
                step if step == *last => effects.uncertain += 1,
                step if step < *last => effects.twice += 1,
                step => {
                    effects.missing += usize::try_from(step - *last - 1).unwrap_or(usize::MAX);
                    *last = step;
                }
            }
        }
        effects.missing += last.values().map(|last| usize::try_from(STEPS - last).unwrap_or(0)).sum::<usize>();
        effects
    }

    fn misses(&self, fault: Fault) -> Vec<String> {
        let mut misses = Vec::new();
        // A kill may come between an effect and its result; nothing else may.
        let uncertain = if fault == Fault::Kill { 0 } else { self.uncertain };
        for (count, what) in [
            (self.twice, "completed effects done twice"),
            (self.missing, "effects missing"),
            (uncertain, "effects repeated"),
        ] {
            if count > 0 {
                misses.push(format!("{count} {what}"));
            }
        }
        misses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_are_told_apart() {
        let all: Vec<String> = (1..=STEPS).map(|step| format!("a {step}\n")).collect();
        let all = all.concat();
        let read = |lines: &str| Effects::read(lines, ["a"].into_iter());
        assert!(read(&all).misses(Fault::Deploy).is_empty());
        let uncertain = all.replace("a 7\n", "a 7\na 7\n");
        assert_eq!(read(&uncertain).misses(Fault::Deploy), ["1 effects repeated"]);
        assert!(read(&uncertain).misses(Fault::Kill).is_empty());
        assert_eq!(read(&all.replace("a 9\n", "a 9\na 7\n")).misses(Fault::Kill), ["1 completed effects done twice"]);
        assert_eq!(read(&all.replace("a 9\n", "")).misses(Fault::Kill), ["1 effects missing"]);
        assert_eq!(read("").missing, 20);
    }
}
