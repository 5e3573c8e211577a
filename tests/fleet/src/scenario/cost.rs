//! Round trips to Redis per call, counted by a proxy before it; and how long a session takes to open if its write waits for a
//! replica of Redis.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{Finding, Findings};
use crate::Result;
use crate::client::Client;
use crate::options::Options;
use crate::redis::Redis;
use crate::site::Site;
use crate::wire::Wire;

/// Calls in a batch, and batches. The fewest count, because the connection is also asked whether it is there.
const CALLS: usize = 20;
const BATCHES: usize = 5;

/// Sessions that are opened in a round.
const SESSIONS: usize = 96;

pub(super) async fn run(options: &Options) -> Result<Findings> {
    let redis = Redis::start().await?;
    let wire = Wire::to(redis.address()).await?;
    let site = Site::with_urls(options, &[wire.url()], 0).await?;
    let mut findings = Findings::default();
    let address = site.replicas[0].address;
    let (modern, session) = (Client::modern(address), Client::open(address, "2025-11-25").await?);
    for (name, client, most) in [("2026-07-28", &modern, 0), ("session", &session, CALLS)] {
        let fewest = batches(client, &wire).await?;
        let misses = (fewest > most).then(|| format!("{fewest} round trips for {CALLS} calls, at most {most}"));
        findings.notes.push(format!("cost: {fewest} round trips to Redis for {CALLS} calls ({name})"));
        findings.items.push(Finding { name: format!("cost/{name}"), misses: misses.into_iter().collect() });
    }
    if wire.trips() == 0 {
        findings.items.push(Finding { name: "cost".to_owned(), misses: vec!["nothing was counted".to_owned()] });
    }
    findings.notes.extend(waiting(options).await?);
    Ok(findings)
}

/// How long sessions take to open with `WAIT`, as a ratio to those without. Rounds alternate, and the shortest counts.
async fn waiting(options: &Options) -> Result<[String; 2]> {
    let redis = Redis::start().await?;
    let replica = Redis::replica_of(&redis).await?;
    while !replica.ask(&["INFO replication"]).await?.contains("master_link_status:up") {
        sleep(Duration::from_millis(50)).await;
    }
    let plain = Site::with_urls(options, &[redis.url()], 0).await?;
    let waits = Site::with_urls(options, &[redis.url()], 1).await?;
    let mut notes = [String::new(), String::new()];
    for (note, clients) in notes.iter_mut().zip([1, 16]) {
        let mut shortest = [Duration::MAX; 2];
        // A replica may have a thousand sessions.
        for _ in 0..options.pick(3, 5) {
            for (site, shortest) in [&plain, &waits].into_iter().zip(&mut shortest) {
                *shortest = open_sessions(site.replicas[0].address, clients).await?.min(*shortest);
            }
        }
        let ratio = shortest[1].as_secs_f64() / shortest[0].as_secs_f64();
        *note = format!(
            "cost: with a write that waits for a replica (WAIT 1), opening a session takes {ratio:.2} times as long, {clients} at a time"
        );
    }
    Ok(notes)
}

/// The time it takes to open some sessions, by so many clients at a time.
async fn open_sessions(address: SocketAddr, clients: usize) -> Result<Duration> {
    let begun = Instant::now();
    let mut opening: JoinSet<Result<()>> = JoinSet::new();
    for _ in 0..clients {
        opening.spawn(async move {
            for _ in 0..SESSIONS / clients {
                Client::open(address, "2025-11-25").await?;
            }
            Ok(())
        });
    }
    while let Some(opened) = opening.join_next().await {
        opened??;
    }
    Ok(begun.elapsed())
}

/// The fewest round trips of a batch of calls.
async fn batches(client: &Client, wire: &Wire) -> Result<usize> {
    let mut fewest = usize::MAX;
    for _ in 0..BATCHES {
        let before = wire.trips();
        for _ in 0..CALLS {
            client.call("greet", json!({ "name": "you" })).await?;
        }
        fewest = fewest.min(wire.trips() - before);
    }
    Ok(fewest)
}
