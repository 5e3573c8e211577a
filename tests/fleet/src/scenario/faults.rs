//! Machines that die, deploys, and a Redis that is away, under load.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::sleep;

use super::{Finding, Findings, Row};
use crate::Result;
use crate::client::Client;
use crate::load::{Both, Figures, Load};
use crate::options::Options;
use crate::site::Site;

/// One of this many refusals may take longer than a second, on a machine that has other things to do.
const SLOW: usize = 20;

/// How soon everything has to be well when Redis is back.
const WELL: Duration = Duration::from_secs(15);

/// SIGKILL of a random replica every few seconds, back after a second.
pub(super) async fn kill(options: &Options) -> Result<Findings> {
    let mut site = Site::start(&options.everything, options.replicas).await?;
    let load = Load::start(site.address()).await?;
    let (begun, mut kills) = (Instant::now(), 0);
    while begun.elapsed() < Duration::from_secs(options.pick(10, 60)) {
        sleep(Duration::from_millis(1500)).await;
        let victim = random(options.replicas);
        site.replicas[victim].kill();
        kills += 1;
        sleep(Duration::from_secs(1)).await;
        site.revive(victim).await?;
    }
    let both = load.stop().await?;
    let mut misses = never(&both);
    misses.extend(well(site.address()).await);
    Ok(findings("kill", both, misses, format!("kill: {kills} replicas were killed")))
}

/// SIGTERM of one replica after the other, each started again.
pub(super) async fn rolling(options: &Options) -> Result<Findings> {
    let mut site = Site::start(&options.everything, options.replicas).await?;
    let load = Load::start(site.address()).await?;
    let mut longest = Duration::ZERO;
    for _ in 0..options.pick(1, 3) {
        for number in 0..options.replicas {
            sleep(Duration::from_millis(500)).await;
            let begun = Instant::now();
            site.replicas[number].shut_down().await?;
            longest = longest.max(begun.elapsed());
            site.revive(number).await?;
        }
    }
    sleep(Duration::from_millis(500)).await;
    let both = load.stop().await?;
    let mut misses = never(&both);
    let broken = both.modern.broken + both.sessions.broken;
    if broken > 0 {
        misses.push(format!("{broken} streams broke: calls that run are to be finished"));
    }
    let refused = both.modern.refused + both.sessions.refused;
    if refused > 0 {
        misses.push(format!("{refused} requests were refused by a replica that had accepted their connection"));
    }
    misses.extend(well(site.address()).await);
    let note = format!("rolling: the longest shutdown took {} ms", longest.as_millis());
    Ok(findings("rolling", both, misses, note))
}

/// Redis restarted, with its log of writes.
pub(super) async fn redis_restart(options: &Options) -> Result<Findings> {
    let mut site = Site::start(&options.everything, options.replicas).await?;
    let load = Load::start(site.address()).await?;
    sleep(Duration::from_secs(1)).await;
    for _ in 0..options.pick(1, 3) {
        site.redis.restart(Duration::from_secs(1)).await?;
        sleep(Duration::from_secs(3)).await;
    }
    without_redis("redis-restart", &site, load).await
}

/// Redis stopped: its connections stay, and it does not answer.
pub(super) async fn redis_pause(options: &Options) -> Result<Findings> {
    let site = Site::start(&options.everything, options.replicas).await?;
    let load = Load::start(site.address()).await?;
    sleep(Duration::from_secs(1)).await;
    site.redis.pause(Duration::from_secs(options.pick(4, 10))).await;
    sleep(Duration::from_secs(3)).await;
    without_redis("redis-pause", &site, load).await
}

async fn without_redis(name: &str, site: &Site, load: Load) -> Result<Findings> {
    let both = load.stop().await?;
    let mut misses = never(&both);
    if both.modern.retryable > 0 {
        misses.push(format!("{} calls of 2026-07-28 failed, which need no Redis", both.modern.retryable));
    }
    if both.sessions.slow_refusals * SLOW > both.sessions.retryable {
        misses.push(format!("{} refusals took longer than a second", both.sessions.slow_refusals));
    }
    if both.sessions.retryable == 0 {
        misses.push("no session request noticed anything: the scenario proves nothing".to_owned());
    }
    misses.extend(well(site.address()).await);
    let note = format!("{name}: the longest refusal took {} ms", both.sessions.longest_refusal.as_millis());
    Ok(findings(name, both, misses, note))
}

/// What must never happen, whatever goes wrong.
fn never(both: &Both) -> Vec<String> {
    let mut misses = Vec::new();
    for (clients, Figures { answered, lost, sessions_lost, faults, .. }) in
        [("2026-07-28", &both.modern), ("sessions", &both.sessions)]
    {
        for (count, what) in [(lost, "calls lost"), (sessions_lost, "sessions lost"), (faults, "faulty responses")] {
            if *count > 0 {
                misses.push(format!("{clients}: {count} {what}"));
            }
        }
        if *answered == 0 {
            misses.push(format!("{clients}: nothing was answered"));
        }
    }
    misses
}

/// Whether everything is well: calls and new sessions, at every replica.
async fn well(address: SocketAddr) -> Option<String> {
    let begun = Instant::now();
    loop {
        let tried = async {
            for _ in 0..3 {
                Client::modern(address).call("greet", json!({ "name": "you" })).await?;
                let client = Client::open(address, "2025-11-25").await?;
                client.call("greet", json!({ "name": "you" })).await?;
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
        };
        match tried.await {
            Ok(()) => return None,
            Err(error) if begun.elapsed() > WELL => return Some(format!("not well afterwards: {error}")),
            Err(_) => sleep(Duration::from_millis(200)).await,
        }
    }
}

fn findings(name: &str, both: Both, misses: Vec<String>, note: String) -> Findings {
    let mut notes = vec![note];
    for (clients, figures) in [("2026-07-28", &both.modern), ("sessions", &both.sessions)] {
        notes.extend(figures.why.as_ref().map(|why| format!("{name}: first of {clients}: {why}")));
    }
    let rows =
        vec![Row { clients: "2026-07-28", figures: both.modern }, Row { clients: "sessions", figures: both.sessions }];
    Findings { rows, items: vec![Finding { name: name.to_owned(), misses }], notes }
}

/// A random number below another.
fn random(below: usize) -> usize {
    let number = RandomState::new().build_hasher().finish();
    usize::try_from(number % below as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::never;
    use crate::load::{Both, Figures};

    #[test]
    fn losses_are_misses_and_retryable_errors_are_not() {
        let good = Figures { calls: 9, answered: 7, retryable: 2, broken: 1, ..Figures::default() };
        let both = |sessions| Both { modern: good.clone(), sessions };
        assert!(never(&both(good.clone())).is_empty());
        assert_eq!(never(&both(Figures { lost: 1, ..good.clone() })), ["sessions: 1 calls lost"]);
        assert_eq!(never(&both(Figures { sessions_lost: 2, ..good.clone() })), ["sessions: 2 sessions lost"]);
        assert_eq!(never(&both(Figures { faults: 3, ..good.clone() })), ["sessions: 3 faulty responses"]);
        assert_eq!(never(&both(Figures::default())), ["sessions: nothing was answered"]);
    }
}
