//! A Redis that cannot be reached for a while, that is replaced by its replica, or that comes back without its data.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::sleep;

use super::Findings;
use super::verdict::{findings, well, without_redis};
use crate::Result;
use crate::client::Client;
use crate::load::{Both, Load};
use crate::options::Options;
use crate::redis::Redis;
use crate::sentinels::Watched;
use crate::site::Site;
use crate::wire::{Condition, Wire};

/// How long the load goes on when Redis is back.
const AFTERWARDS: Duration = Duration::from_secs(3);

/// Redis restarted, with its log of writes.
pub(super) async fn restart(options: &Options) -> Result<Findings> {
    let mut redis = Redis::start().await?;
    let site = Site::start(options, &redis).await?;
    let load = Load::start(site.address()).await?;
    sleep(Duration::from_secs(1)).await;
    for _ in 0..options.pick(1, 3) {
        redis.restart(Duration::from_secs(1)).await?;
        sleep(AFTERWARDS).await;
    }
    judge("redis-restart", &site, load.stop().await?).await
}

/// Redis stopped: its connections stay, and it does not answer.
pub(super) async fn pause(options: &Options) -> Result<Findings> {
    let redis = Redis::start().await?;
    let site = Site::start(options, &redis).await?;
    let load = Load::start(site.address()).await?;
    sleep(Duration::from_secs(1)).await;
    redis.pause(Duration::from_secs(options.pick(4, 10))).await;
    sleep(AFTERWARDS).await;
    judge("redis-pause", &site, load.stop().await?).await
}

/// The primary killed, and replaced by its replica. Redis replicates asynchronously: sessions that the replica has are judged,
/// and those of the last moment before the kill only if writes wait for it.
pub(super) async fn failover(options: &Options) -> Result<Findings> {
    let mut found = fail_over("redis-failover", options, 0).await?;
    if !options.pick(true, false) {
        found.extend(fail_over("redis-failover/wait", options, 1).await?);
    }
    Ok(found)
}

async fn fail_over(name: &str, options: &Options, wait: u32) -> Result<Findings> {
    let mut redis = Watched::start().await?;
    let site = Site::with_urls(options, &vec![redis.url(); options.replicas], wait).await?;
    let load = Load::start(site.address()).await?;
    redis.replicate().await?;
    sleep(Duration::from_secs(1)).await;
    let (begun, mut late) = (Instant::now(), Vec::new());
    while begun.elapsed() < Duration::from_millis(500) {
        late.push(Client::open(site.address(), "2025-11-25").await?);
    }
    let took = redis.fail_over().await?;
    sleep(Duration::from_secs(options.pick(4, 15))).await;
    let both = load.stop().await?;
    let mut known = 0;
    for client in &late {
        known += usize::from(client.ask("tools/list", json!({})).await.is_ok());
    }
    let (took, all) = (took.as_millis(), late.len());
    let mut misses = without_redis(&both);
    if wait > 0 && known < all {
        misses.push(format!("{} sessions lost, though their writes waited for the replica", all - known));
    }
    // Another one, which acknowledges writes.
    let _replica = Redis::replica_of(&redis.replica).await?;
    misses.extend(well(site.address()).await);
    let note = format!(
        "{name}: it took {took} ms; of {all} sessions opened in the half second before the kill, the new primary has {known}"
    );
    Ok(findings(name, both, misses, note))
}

/// Redis restarted without its data: sessions are gone, which clients have to be told, so that they begin anew.
pub(super) async fn empty(options: &Options) -> Result<Findings> {
    let mut redis = Redis::start().await?;
    let site = Site::start(options, &redis).await?;
    let load = Load::beginning_anew(site.address()).await?;
    sleep(Duration::from_secs(1)).await;
    redis.restart_empty(Duration::from_secs(1)).await?;
    sleep(Duration::from_secs(options.pick(4, 15))).await;
    let mut both = load.stop().await?;
    // Gone is what they have to be, once each.
    let (gone, anew, sessions) =
        (std::mem::take(&mut both.sessions.sessions_lost), both.sessions.anew, both.sessions.sessions);
    let mut misses = without_redis(&both);
    both.sessions.sessions_lost = gone;
    if gone != sessions || anew != sessions {
        misses.push(format!("of {sessions} sessions, {gone} got 404 and {anew} were begun anew"));
    }
    misses.extend(well(site.address()).await);
    let note = format!("redis-empty: {gone} sessions got 404, and {anew} clients began anew");
    Ok(findings("redis-empty", both, misses, note))
}

/// The network to Redis cut, for one replica and for all: by silence, and by closed connections.
pub(super) async fn network_cut(options: &Options) -> Result<Findings> {
    let redis = Redis::start().await?;
    let mut wires = Vec::new();
    for _ in 0..options.replicas {
        wires.push(Wire::to(redis.address()).await?);
    }
    let urls: Vec<String> = wires.iter().map(Wire::url).collect();
    let site = Site::with_urls(options, &urls, 0).await?;
    let all = wires.len();
    let mut found = Findings::default();
    for (name, condition, count) in [
        ("network-cut/stalled-one", Condition::Stalled, 1),
        ("network-cut/stalled-all", Condition::Stalled, all),
        ("network-cut/closed-one", Condition::Refused, 1),
        ("network-cut/closed-all", Condition::Refused, all),
    ] {
        let load = Load::start(site.address()).await?;
        sleep(Duration::from_millis(500)).await;
        wires[..count].iter().for_each(|wire| wire.is(condition));
        sleep(Duration::from_secs(options.pick(2, 12))).await;
        wires[..count].iter().for_each(|wire| wire.is(Condition::Up));
        sleep(Duration::from_secs(options.pick(1, 3))).await;
        found.extend(judge(name, &site, load.stop().await?).await?);
    }
    Ok(found)
}

async fn judge(name: &str, site: &Site, both: Both) -> Result<Findings> {
    let mut misses = without_redis(&both);
    misses.extend(well(site.address()).await);
    let refusal = format!("{name}: the longest refusal took {} ms", both.sessions.longest_refusal.as_millis());
    Ok(findings(name, both, misses, refusal))
}
