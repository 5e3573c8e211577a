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

/// How long a feature that needs Redis may still fail when it is back. It may have begun just before.
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
    /// Failures with Redis as their reason, of what needs it.
    excused: usize,
    /// What needs Redis, refused with 503, which tells the client to come back.
    refused: usize,
    faults: Vec<String>,
}

/// Whether a visit needs what replicas share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    Store,
    Nothing,
}

/// Sessions, tasks, asks and changes are shared. A call of 2026-07-28 is one replica's own.
fn needs(feature: &str, revision: &str) -> Needs {
    if revision == MODERN && matches!(feature, "calls" | "progress") { Needs::Nothing } else { Needs::Store }
}

impl Tally {
    /// Notes what has become of a visit that began then. Only what needs Redis may fail without it.
    fn note(&mut self, redis: &Faults, needs: Needs, begun: Instant, failure: Option<String>) {
        self.done += 1;
        let Some(failure) = failure else { return };
        if needs == Needs::Store && redis.excuse(begun) {
            self.excused += 1;
        } else if needs == Needs::Store && failure.contains("HTTP 503") {
            self.refused += 1;
        } else {
            self.faults.push(format!("{failure} (second {})", redis.begun.elapsed().as_secs()));
        }
    }

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
            self.visit(&soak.redis, &mut tally).await;
            sleep(Duration::from_millis(20)).await;
        }
        (self, tally)
    }

    /// Does all of it once.
    async fn visit(&mut self, redis: &Faults, tally: &mut Tally) {
        let begun = Instant::now();
        match self {
            Lane::Features { proxy, revision } => {
                feature_round(proxy.address, revision, |feature| !ALONE.contains(feature), redis, tally).await;
            }
            Lane::Alone(address) => {
                for revision in REVISIONS {
                    feature_round(*address, revision, |feature| ALONE.contains(feature), redis, tally).await;
                }
            }
            Lane::FaultyHandlers(address) => {
                for (revision, needs) in [(MODERN, Needs::Nothing), (LEGACY[2], Needs::Store)] {
                    let begun = Instant::now();
                    tally.note(redis, needs, begun, failure(faulty_handlers(*address, revision).await));
                }
            }
            Lane::Malformed(address) => {
                tally.note(redis, Needs::Nothing, begun, failure(malformed::send_all(*address).await));
            }
            Lane::Stdio { conversation, program } => {
                tally.note(redis, Needs::Nothing, begun, failure(conversation.exchange().await));
                tally.note(redis, Needs::Nothing, begun, failure(stdio::visit(program).await));
            }
        }
    }
}

fn failure(outcome: Result<()>) -> Option<String> {
    outcome.err().map(|error| error.to_string())
}

/// The features of a revision, one after the other: each is a visit.
async fn feature_round(
    address: SocketAddr,
    revision: &'static str,
    wanted: fn(&&'static str) -> bool,
    redis: &Faults,
    tally: &mut Tally,
) {
    for feature in features::of(revision).filter(wanted) {
        let begun = Instant::now();
        for (feature, revision, failure) in features::lane(address, revision, vec![feature]).await {
            let failure = failure.map(|failure| format!("{revision} {feature}: {failure}"));
            tally.note(redis, needs(feature, revision), begun, failure);
        }
    }
}

/// Handlers that fail, tools that do not exist, and arguments that are wrong.
async fn faulty_handlers(address: SocketAddr, revision: &'static str) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redis_excuses_only_what_needs_it() {
        let redis = Faults::new();
        let visit = |needs, failure: &str| {
            let mut tally = Tally::default();
            tally.note(&redis, needs, Instant::now(), Some(failure.to_owned()));
            (tally.excused, tally.refused, tally.faults.len())
        };
        assert_eq!(visit(Needs::Store, "lost"), (0, 0, 1), "Redis is there");
        assert_eq!(visit(Needs::Store, "HTTP 503"), (0, 1, 0));
        assert_eq!(visit(Needs::Nothing, "HTTP 503"), (0, 0, 1));
        redis.begin();
        assert_eq!(visit(Needs::Store, "lost"), (1, 0, 0));
        assert_eq!(visit(Needs::Nothing, "lost"), (0, 0, 1));
        redis.end();
        assert_eq!(visit(Needs::Store, "lost"), (1, 0, 0), "it has just come back");
    }

    #[test]
    fn plain_calls_need_nothing() {
        let without: Vec<_> = REVISIONS
            .into_iter()
            .flat_map(|revision| features::of(revision).map(move |feature| (feature, revision)))
            .filter(|(feature, revision)| needs(feature, revision) == Needs::Nothing)
            .collect();
        assert_eq!(without, [("calls", MODERN), ("progress", MODERN)]);
    }
}
