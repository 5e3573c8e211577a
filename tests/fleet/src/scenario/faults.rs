//! Machines that die, and deploys, under load.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::Findings;
use super::verdict::{findings, never, well};
use crate::Result;
use crate::load::Load;
use crate::options::Options;
use crate::redis::Redis;
use crate::site::Site;

/// SIGKILL of a random replica every few seconds, back after a second.
pub(super) async fn kill(options: &Options) -> Result<Findings> {
    let redis = Redis::start().await?;
    let mut site = Site::start(options, &redis).await?;
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
    let redis = Redis::start().await?;
    let mut site = Site::start(options, &redis).await?;
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
    let failed = both.modern.retryable + both.sessions.retryable;
    if failed > 0 {
        misses.push(format!("{failed} calls failed: a replica serves whoever has connected"));
    }
    misses.extend(well(site.address()).await);
    let note = format!("rolling: the longest shutdown took {} ms", longest.as_millis());
    Ok(findings("rolling", both, misses, note))
}

/// A random number below another.
fn random(below: usize) -> usize {
    let number = RandomState::new().build_hasher().finish();
    usize::try_from(number % below as u64).unwrap_or(0)
}
