//! Round trips to Redis per call, counted by a proxy before it.

use serde_json::json;

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

pub(super) async fn run(options: &Options) -> Result<Findings> {
    let redis = Redis::start().await?;
    let wire = Wire::to(redis.address()).await?;
    let site = Site::with_urls(options, &[wire.url()]).await?;
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
    Ok(findings)
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
