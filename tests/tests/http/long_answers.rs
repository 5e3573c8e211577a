//! Handlers with long answers take turns, so that half of the cores is left to everything else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{available_parallelism, sleep};
use std::time::Duration;

use mcp_runtime::{Limits, Revision, prelude::*};
use mcp_tests::http::{Ask, Site, call, call_in, soon};
use serde_json::json;

/// How many calls there were, and how many at the same time.
#[derive(Debug, Default)]
struct Counts {
    calls: AtomicUsize,
    running: AtomicUsize,
    most: AtomicUsize,
}

impl Counts {
    fn answer(&self, length: usize) -> String {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let running = self.running.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(running, Ordering::Relaxed);
        // Long enough to overlap with another call, too short to count as blocking.
        sleep(Duration::from_millis(20));
        self.running.fetch_sub(1, Ordering::Relaxed);
        "x".repeat(length)
    }
}

struct Long(Arc<Counts>);

#[handlers]
impl Long {
    /// Answers at once.
    #[tool]
    fn long(&self, length: usize) -> String {
        self.0.answer(length)
    }

    /// Answers after a while.
    #[tool]
    async fn long_later(&self, length: usize) -> String {
        tokio::time::sleep(Duration::from_millis(1)).await;
        self.0.answer(length)
    }
}

const LENGTH: usize = 300_000;

async fn start(limits: Limits) -> (Site, Arc<Counts>) {
    let counts = Arc::new(Counts::default());
    let server = Server::new("long", "1.0.0").limits(limits).mount(Long(Arc::clone(&counts)));
    (Site::of(server).await, counts)
}

async fn length_of(site: &Site, ask: Ask) -> usize {
    let mut wire = site.open().await;
    wire.send(&ask.bytes()).await;
    let response = soon(wire.response()).await;
    assert_eq!(response.status, 200);
    response.text().len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn long_answers_take_turns() {
    let turns = (available_parallelism().unwrap().get() / 2).max(1);
    for tool in ["long", "long_later"] {
        let (site, counts) = start(Limits::default()).await;
        let session = site.session(Revision::V2025_11_25).await;
        assert!(length_of(&site, call(tool, &json!({ "length": LENGTH }))).await > LENGTH);
        counts.most.store(0, Ordering::Relaxed);
        let stateless = (0..12).map(|_| call(tool, &json!({ "length": LENGTH })));
        let in_session = (0..12).map(|id| call_in(&session, id, tool, &json!({ "length": LENGTH })));
        let mut calls = tokio::task::JoinSet::new();
        let site = Arc::new(site);
        for ask in stateless.chain(in_session) {
            let site = Arc::clone(&site);
            calls.spawn(async move { length_of(&site, ask).await });
        }
        while let Some(length) = calls.join_next().await {
            assert!(length.unwrap() > LENGTH);
        }
        assert_eq!(counts.calls.load(Ordering::Relaxed), 25);
        let most = counts.most.load(Ordering::Relaxed);
        assert!((1..=turns).contains(&most), "{tool}: {most} at once, {turns} turns");
    }
}

/// Its owner has no room for it, and making it would be in vain.
#[tokio::test]
async fn long_answer_without_room_is_not_made() {
    let mut limits = Limits::default();
    (limits.message_bytes, limits.memory_bytes) = (10_000, LENGTH);
    let (site, counts) = start(limits).await;
    for _ in 0..3 {
        let mut wire = site.open().await;
        wire.send(&call("long", &json!({ "length": LENGTH })).bytes()).await;
        let response = soon(wire.response()).await;
        assert_eq!(response.status, 503);
        assert!(response.header("retry-after").is_some());
    }
    assert_eq!(counts.calls.load(Ordering::Relaxed), 1, "the first one shows how long its answers are");
}

/// A tool whose answers have become short again is called at once.
#[tokio::test]
async fn handler_with_short_answers_needs_no_turn() {
    let mut limits = Limits::default();
    limits.memory_bytes = 4 * LENGTH;
    let (site, _) = start(limits).await;
    assert!(length_of(&site, call("long", &json!({ "length": LENGTH }))).await > LENGTH);
    for _ in 0..5 {
        assert!(length_of(&site, call("long", &json!({ "length": 1 }))).await < 1000);
    }
}
