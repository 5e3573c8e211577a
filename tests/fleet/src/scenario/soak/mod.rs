//! A soak: everything at once for minutes, over HTTP and stdio, in all revisions, while Redis comes and goes. Nothing may
//! fail that Redis is not the reason for, and memory and descriptors have to stay flat.

mod census;
mod malformed;
mod stdio;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;

use self::census::Census;
use super::features::{self, ALONE};
use super::verdict::well;
use super::{Finding, Findings};
use crate::Result;
use crate::client::{Client, LEGACY, MODERN};
use crate::load::Load;
use crate::options::Options;
use crate::proxy::Proxy;
use crate::redis::Redis;
use crate::site::Site;
use crate::wire::{Condition, Wire};

/// Replicas, which share the features of a client.
const REPLICAS: usize = 2;

/// Most sessions are left behind, and go after so many seconds: what has not gone then is a leak.
const SESSION_IDLE: u64 = 15;

/// Of so many visits one may be refused although Redis is there: a busy machine makes it look away.
const REFUSALS: usize = 100;

const REVISIONS: [&str; 4] = [LEGACY[0], LEGACY[1], LEGACY[2], MODERN];

/// What Redis does again and again: it is there, then the network to it is cut in one way or the other.
const UP: Duration = Duration::from_secs(6);
const CUT: Duration = Duration::from_secs(1);

/// How long a feature may still fail when Redis is back. It may have begun just before.
const AFTERWARDS: Duration = Duration::from_secs(3);

/// What the lanes of a soak share.
struct Soak {
    over: AtomicBool,
    redis: Faults,
}

/// When Redis could not be reached.
struct Faults {
    begun: Instant,
    cuts: std::sync::Mutex<Vec<(Instant, Option<Instant>)>>,
}

/// What the lanes have done.
#[derive(Debug, Default)]
struct Tally {
    done: usize,
    /// Failures with Redis as their reason.
    excused: usize,
    /// Refused with 503, which tells the client to come back.
    refused: usize,
    faults: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.done += other.done;
        self.excused += other.excused;
        self.refused += other.refused;
        self.faults.extend(other.faults);
    }
}

impl Faults {
    fn new() -> Self {
        Faults { begun: Instant::now(), cuts: std::sync::Mutex::default() }
    }

    fn begin(&self) {
        self.cuts.lock().expect("no panics while it is locked").push((Instant::now(), None));
    }

    fn end(&self) {
        if let Some((_, end)) = self.cuts.lock().expect("no panics while it is locked").last_mut() {
            *end = Some(Instant::now());
        }
    }

    /// Whether Redis was away at some time between then and now, or just before.
    fn excuse(&self, since: Instant) -> bool {
        let cuts = self.cuts.lock().expect("no panics while it is locked");
        cuts.iter().any(|(_, end)| end.is_none_or(|end| end + AFTERWARDS >= since))
    }
}

impl Soak {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

pub(super) async fn run(options: &Options) -> Result<Findings> {
    let redis = Redis::start().await?;
    let wire = Wire::to(redis.address()).await?;
    let site = Site::with_idle_sessions(options, &vec![wire.url(); REPLICAS], SESSION_IDLE).await?;
    let conversation = stdio::Conversation::start(&options.everything).await?;
    let mut census = Census::new(site.replicas.iter().map(crate::replica::Replica::id).chain([conversation.id()]));

    let soak = Arc::new(Soak { over: AtomicBool::new(false), redis: Faults::new() });
    let mut lanes = lanes(&soak, &site, conversation, options).await?;
    let load = Load::beginning_anew(site.address()).await?;
    let time = Duration::from_secs(options.minutes.map_or(options.pick(40, 600), |minutes| minutes * 60));
    soak.run(time, &wire, &mut census).await;
    soak.over.store(true, Ordering::Relaxed);

    let (mut tally, mut ended) = (Tally::default(), Vec::new());
    while let Some(lane) = lanes.join_next().await {
        let (lane, done) = lane?;
        tally.add(done);
        // The conversation on stdio stays open until its process was looked at.
        ended.push(lane);
    }
    let both = load.stop().await?;
    let mut misses = Vec::new();
    for (clients, figures) in [("2026-07-28", &both.modern), ("sessions", &both.sessions)] {
        if figures.lost + figures.faults > 0 || figures.answered == 0 {
            misses.push(format!(
                "{clients}: {} lost, {} faulty, {} answered",
                figures.lost, figures.faults, figures.answered
            ));
        }
    }
    if let Some(fault) = tally.faults.first() {
        misses.push(format!("{} faults; the first: {fault}", tally.faults.len()));
    }
    if tally.refused * REFUSALS > tally.done {
        misses.push(format!("{} visits were refused although Redis was there", tally.refused));
    }
    misses.extend(well(site.address()).await);
    misses.extend(census.verdict(options.pick(true, false)).await);
    drop(ended);
    let note = format!(
        "soak: {} s; {} visits of features, stdio and malformed traffic, {} excused by Redis, {} refused without; {} calls beside them; {census}",
        time.as_secs(),
        tally.done,
        tally.excused,
        tally.refused,
        both.modern.calls + both.sessions.calls,
    );
    Ok(Findings { rows: Vec::new(), items: vec![Finding { name: "soak".to_owned(), misses }], notes: vec![note] })
}

/// Everything that goes on meanwhile, but for the calls of [`Load`].
async fn lanes(
    soak: &Arc<Soak>,
    site: &Site,
    conversation: stdio::Conversation,
    options: &Options,
) -> Result<JoinSet<(Lane, Tally)>> {
    let mut all = vec![
        Lane::Alone(site.address()),
        Lane::FaultyHandlers(site.address()),
        Lane::Stdio { conversation: Box::new(conversation), program: options.everything.clone() },
    ];
    for revision in REVISIONS {
        all.push(Lane::Features { proxy: site.another_proxy().await?, revision });
    }
    all.extend(site.replicas.iter().map(|replica| Lane::Malformed(replica.address)));
    let mut lanes = JoinSet::new();
    for lane in all {
        lanes.spawn(lane.visits(Arc::clone(soak)));
    }
    Ok(lanes)
}

/// What is done again and again.
enum Lane {
    /// The features of a revision that mind no company.
    Features {
        proxy: Proxy,
        revision: &'static str,
    },
    /// Those of all revisions that look for a change, which nobody else may make.
    Alone(SocketAddr),
    FaultyHandlers(SocketAddr),
    Malformed(SocketAddr),
    Stdio {
        conversation: Box<stdio::Conversation>,
        program: PathBuf,
    },
}

impl Lane {
    /// Visits until the end, and what became of them.
    async fn visits(mut self, soak: Arc<Soak>) -> (Self, Tally) {
        let mut tally = Tally::default();
        while !soak.is_over() {
            let begun = Instant::now();
            let failures = self.visit().await;
            tally.done += 1;
            if soak.redis.excuse(begun) {
                tally.excused += usize::from(!failures.is_empty());
            } else {
                let at = soak.redis.begun.elapsed().as_secs();
                let (refused, faults): (Vec<_>, Vec<_>) =
                    failures.into_iter().partition(|failure| failure.contains("HTTP 503"));
                tally.refused += refused.len();
                tally.faults.extend(faults.into_iter().map(|fault| format!("{fault} (second {at})")));
            }
            sleep(Duration::from_millis(20)).await;
        }
        (self, tally)
    }

    /// What has failed.
    async fn visit(&mut self) -> Vec<String> {
        match self {
            Lane::Features { proxy, revision } => {
                feature_round(proxy.address, revision, |feature| !ALONE.contains(feature)).await
            }
            Lane::Alone(address) => {
                let mut failures = Vec::new();
                for revision in REVISIONS {
                    failures.extend(feature_round(*address, revision, |feature| ALONE.contains(feature)).await);
                }
                failures
            }
            Lane::FaultyHandlers(address) => failure(faulty_handlers(*address).await),
            Lane::Malformed(address) => failure(malformed::send_all(*address).await),
            Lane::Stdio { conversation, program } => {
                let mut failures = failure(conversation.exchange().await);
                failures.extend(failure(stdio::visit(program).await));
                failures
            }
        }
    }
}

fn failure(outcome: Result<()>) -> Vec<String> {
    outcome.err().map(|error| error.to_string()).into_iter().collect()
}

/// The features of a revision, one after the other.
async fn feature_round(address: SocketAddr, revision: &'static str, wanted: fn(&&'static str) -> bool) -> Vec<String> {
    let wanted = features::of(revision).filter(wanted).collect();
    let outcomes = features::lane(address, revision, wanted).await;
    let failed =
        |(feature, revision, failure): (_, _, Option<String>)| Some(format!("{revision} {feature}: {}", failure?));
    outcomes.into_iter().filter_map(failed).collect()
}

/// Handlers that fail, tools that do not exist, and arguments that are wrong.
async fn faulty_handlers(address: SocketAddr) -> Result<()> {
    for revision in [MODERN, LEGACY[2]] {
        let client = if revision == MODERN { Client::modern(address) } else { Client::open(address, revision).await? };
        let failed = client.ask("tools/call", json!({ "name": "test_error_handling", "arguments": {} })).await?;
        let wrong = client.ask("tools/call", json!({ "name": "greet", "arguments": { "name": 7, "x": [] } })).await;
        let unknown = client.ask("tools/call", json!({ "name": "nothing", "arguments": {} })).await;
        let is_error =
            |result: &Result<serde_json::Value>| result.as_ref().map_or(true, |result| result["isError"] == true);
        if failed["isError"] != true || !is_error(&wrong) || unknown.is_ok() {
            return Err(format!("{revision}: what fails must fail: {failed} {wrong:?} {unknown:?}").into());
        }
        if revision != MODERN {
            client.delete().await?;
        }
    }
    Ok(())
}

impl Soak {
    /// Lets Redis come and go until the time is over, and counts what the processes have meanwhile.
    async fn run(&self, time: Duration, wire: &Wire, census: &mut Census) {
        let mut turn = 0_usize;
        // Redis is there at the end, so that everything can come to its own.
        while self.redis.begun.elapsed() + UP < time {
            census.count_for(UP).await;
            if self.redis.begun.elapsed() + CUT + UP > time {
                break;
            }
            self.redis.begin();
            wire.is(if turn.is_multiple_of(2) { Condition::Refused } else { Condition::Stalled });
            census.count_for(CUT).await;
            wire.is(Condition::Up);
            self.redis.end();
            turn += 1;
        }
        census.count_for(time.saturating_sub(self.redis.begun.elapsed())).await;
    }
}
