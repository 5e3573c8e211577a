//! More replicas: calls per second and processor time per call, as ratios to one replica; and what sessions and streams take of
//! Redis's memory.

use std::fs;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;

use super::{Finding, Findings};
use crate::Result;
use crate::client::{Client, MODERN};
use crate::kept_alive::KeptAlive;
use crate::options::Options;
use crate::redis::Redis;
use crate::replica::Replica;
use crate::site::Site;

/// Clients that call all the time, each at all replicas in turn.
const CLIENTS: usize = 16;

pub(super) async fn run(options: &Options) -> Result<Findings> {
    let mut notes = vec![cores()];
    for (name, revision) in [("2026-07-28", MODERN), ("session", "2025-11-25")] {
        let mut one = None;
        for count in [1, 2, 4] {
            let now = measure(options, count, revision).await?;
            let (rate, work) = one.get_or_insert(now);
            notes.push(format!(
                "scale: {count} replicas: {:.2} times the calls per second of one, {:.2} times its processor time per call ({name})",
                now.0 / *rate,
                now.1 / *work
            ));
        }
    }
    notes.extend(memory(options).await?);
    Ok(Findings { items: vec![Finding { name: "scale".to_owned(), misses: Vec::new() }], notes, ..Findings::default() })
}

fn cores() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let build = if cfg!(debug_assertions) { "; a debug build, whose figures say little" } else { "" };
    format!(
        "scale: {cores} cores for clients, replicas and Redis together, so that calls per second say little, and processor time \
         per call says what more cores would give{build}"
    )
}

/// Calls per second, and the processor time of replicas and Redis per call.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
async fn measure(options: &Options, count: usize, revision: &'static str) -> Result<(f64, f64)> {
    let redis = Redis::start().await?;
    let site = Site::with_urls(options, &vec![redis.url(); count], 0).await?;
    let addresses: Vec<SocketAddr> = site.replicas.iter().map(|replica| replica.address).collect();
    let processes: Vec<u32> = site.replicas.iter().map(Replica::id).chain([redis.id()]).collect();
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let mut client = KeptAlive::to(&addresses, revision).await?;
        client.call().await?;
        clients.push(client);
    }
    let (before, begun) = (processor_time(&processes)?, Instant::now());
    let time = Duration::from_secs(options.pick(2, 6));
    let mut calling: JoinSet<Result<usize>> = JoinSet::new();
    for mut client in clients {
        calling.spawn(async move {
            let mut calls = 0;
            while begun.elapsed() < time {
                client.call().await?;
                calls += 1;
            }
            Ok(calls)
        });
    }
    let mut calls = 0;
    while let Some(made) = calling.join_next().await {
        calls += made??;
    }
    let work = processor_time(&processes)? - before;
    Ok((calls as f64 / begun.elapsed().as_secs_f64(), work as f64 / calls as f64))
}

/// The processor time of processes, in ticks of the system.
fn processor_time(processes: &[u32]) -> Result<u64> {
    let mut ticks = 0;
    for id in processes {
        let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
        // Behind the name of the program, which may have spaces: the 14th and 15th of all fields.
        let fields = stat.rsplit_once(") ").ok_or("/proc has another form")?.1.split(' ');
        ticks += fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>();
    }
    Ok(ticks)
}

/// How many sessions, and how many streams of calls, fit in a megabyte of Redis.
async fn memory(options: &Options) -> Result<[String; 2]> {
    let redis = Redis::start().await?;
    let site = Site::with_urls(options, &[redis.url()], 0).await?;
    let address = site.replicas[0].address;
    // Half of what a replica keeps by default, so that none is evicted.
    let count = 500;
    let empty = used(&redis).await?;
    let mut sessions = Vec::new();
    for _ in 0..count {
        sessions.push(Client::open(address, "2025-11-25").await?);
    }
    let with_sessions = used(&redis).await?;
    let streams = count / 10;
    let mut calling: JoinSet<Result<()>> = JoinSet::new();
    for client in sessions.into_iter().take(streams) {
        calling.spawn(async move {
            let (id, mut reply) = client.start("test_tool_with_progress", json!({})).await?;
            crate::client::answer(&mut reply, id).await?;
            Ok(())
        });
    }
    while let Some(called) = calling.join_next().await {
        called??;
    }
    // Events are copied to Redis behind the calls.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let with_streams = used(&redis).await?;
    let per_megabyte = |count: usize, bytes: usize| count * 1024 * 1024 / bytes.max(1);
    let (of_sessions, of_streams) = (with_sessions.saturating_sub(empty), with_streams.saturating_sub(with_sessions));
    Ok([
        format!(
            "scale: {} sessions per megabyte of Redis, {} bytes each",
            per_megabyte(count, of_sessions),
            of_sessions / count
        ),
        format!(
            "scale: {} streams of four events per megabyte of Redis, {} bytes each",
            per_megabyte(streams, of_streams),
            of_streams / streams
        ),
    ])
}

/// The bytes that Redis uses.
async fn used(redis: &Redis) -> Result<usize> {
    let info = redis.ask(&["INFO memory"]).await?;
    let used = info.lines().find_map(|line| line.strip_prefix("used_memory:")?.trim().parse().ok());
    used.ok_or_else(|| "Redis does not say what it uses".into())
}
