//! Plain functions that block: the calls of other connections do not wait for them.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcp_runtime::{Revision, prelude::*};
use mcp_tests::http::{Ask, Site, Wire, call, call_in, soon};
use mcp_tests::process::in_own_process;
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context as LayerContext, Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

/// How long a handler blocks. Nothing waits for its end.
const LONG: u64 = 20_000;
/// What another call may take meanwhile, on a machine that has other things to do.
const SOON: Duration = Duration::from_secs(5);

/// Blocks its thread, and should say so with `blocking`.
#[tool]
fn hold(ms: u64) -> u64 {
    std::thread::sleep(Duration::from_millis(ms));
    ms
}

/// Blocks its thread before it waits for anything.
#[tool]
async fn hold_async(ms: u64) -> u64 {
    std::thread::sleep(Duration::from_millis(ms));
    tokio::task::yield_now().await;
    ms
}

/// Blocks its thread after it has waited.
#[tool]
async fn hold_later(ms: u64) -> u64 {
    tokio::time::sleep(Duration::from_millis(1)).await;
    std::thread::sleep(Duration::from_millis(ms));
    ms
}

/// Waits for the runtime it runs on, which a function on a worker must not.
#[tool]
fn nested() -> u8 {
    tokio::runtime::Handle::current().block_on(async { 1 })
}

/// Answers at once.
#[tool]
fn quick() -> &'static str {
    "quick"
}

/// A server on a runtime of its own, which it can block.
struct Host {
    runtime: Option<Runtime>,
    site: Site,
}

impl Host {
    async fn start(workers: usize) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap();
        let server = Server::new("blocked", "1.0.0").disable_signals();
        let server = server.tools(tools![hold, hold_async, hold_later, nested, quick]);
        let site = runtime.spawn(Site::of(server)).await.unwrap();
        Host { runtime: Some(runtime), site }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn answer(wire: &mut Wire, ask: &Ask) -> Duration {
    let begun = Instant::now();
    wire.send(&ask.bytes()).await;
    let response = soon(wire.response()).await;
    assert_eq!(response.status, 200, "{}", response.text());
    begun.elapsed()
}

/// Has a tool block, and measures how long calls on other connections take. They have been opened and used before.
async fn others_are_served(host: &Host, tool: &str, others: usize) {
    let site = &host.site;
    let mut wires = Vec::new();
    for _ in 0..others {
        let mut wire = site.open().await;
        let elapsed = answer(&mut wire, &call("quick", &json!({}))).await;
        assert!(elapsed < SOON, "{tool}: {elapsed:?}");
        wires.push(wire);
    }
    let mut blocked = site.open().await;
    blocked.send(&call(tool, &json!({"ms": LONG})).bytes()).await;
    tokio::time::sleep(Duration::from_millis(30)).await;
    wires.push(site.open().await);
    for wire in &mut wires {
        for _ in 0..3 {
            let elapsed = answer(wire, &call("quick", &json!({}))).await;
            assert!(elapsed < SOON, "{tool}: {elapsed:?}");
        }
    }
}

/// By a handler that blocks in its very first call, and by one that was quick before.
#[tokio::test]
async fn blocking_handler_delays_no_other_connection() {
    for workers in [2, 8] {
        for (tool, known) in [("hold", false), ("hold", true), ("hold_async", true), ("hold_later", true)] {
            for _ in 0..3 {
                let host = Host::start(workers).await;
                if known {
                    let mut wire = host.site.open().await;
                    for _ in 0..3 {
                        answer(&mut wire, &call(tool, &json!({"ms": 0}))).await;
                    }
                }
                others_are_served(&host, tool, 6).await;
            }
        }
    }
}

/// More of them than the runtime has workers.
#[tokio::test]
async fn handler_that_blocks_is_remembered() {
    for tool in ["hold", "hold_async", "hold_later"] {
        let host = Host::start(2).await;
        let mut wire = host.site.open().await;
        answer(&mut wire, &call(tool, &json!({"ms": 600}))).await;
        let mut blocked = Vec::new();
        for _ in 0..6 {
            let mut wire = host.site.open().await;
            wire.send(&call(tool, &json!({"ms": LONG})).bytes()).await;
            blocked.push(wire);
        }
        others_are_served(&host, tool, 3).await;
    }
}

/// They are the first calls of their handler: nothing is known about it.
#[tokio::test]
async fn new_handler_that_blocks_holds_no_worker() {
    for tool in ["hold", "hold_async", "hold_later"] {
        let host = Host::start(2).await;
        let mut blocked = Vec::new();
        for _ in 0..6 {
            let mut wire = host.site.open().await;
            wire.send(&call(tool, &json!({"ms": LONG})).bytes()).await;
            blocked.push(wire);
        }
        others_are_served(&host, "quick", 3).await;
    }
}

/// The first calls of a handler run with the worker's tasks handed over, the others do not. A mistake shows in all.
#[tokio::test]
async fn function_that_waits_for_its_runtime_fails_in_every_call() {
    let host = Host::start(2).await;
    let mut wire = host.site.open().await;
    for _ in 0..10 {
        wire.send(&call("nested", &json!({})).bytes()).await;
        let response = soon(wire.response()).await;
        assert!(response.text().contains("failed unexpectedly"), "{}", response.text());
    }
}

/// A session does not hold its lock while a handler runs.
#[tokio::test]
async fn blocking_handler_does_not_delay_its_session() {
    for known in [false, true] {
        let host = Host::start(2).await;
        let session = host.site.session(Revision::V2025_11_25).await;
        let mut wire = host.site.open().await;
        if known {
            answer(&mut wire, &call_in(&session, 1, "hold", &json!({"ms": 0}))).await;
        }
        let mut blocked = host.site.open().await;
        blocked.send(&call_in(&session, 2, "hold", &json!({"ms": LONG})).bytes()).await;
        tokio::time::sleep(Duration::from_millis(30)).await;
        for id in 3..10 {
            let elapsed = answer(&mut wire, &call_in(&session, id, "quick", &json!({}))).await;
            assert!(elapsed < SOON, "{elapsed:?}");
        }
        others_are_served(&host, "quick", 3).await;
    }
}

/// The messages of all events.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0.lock().unwrap(), "{field}={value:?} ");
    }
}

impl<S: tracing::Subscriber> Layer<S> for Log {
    fn on_event(&self, event: &tracing::Event<'_>, _: LayerContext<'_, S>) {
        event.record(&mut self.clone());
    }
}

#[test]
fn blocking_handler_is_named_in_the_log() {
    in_own_process("blocking::blocking_handler_is_named_in_the_log", || {
        let log = Log::default();
        tracing_subscriber::registry().with(log.clone()).init();
        Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let host = Host::start(2).await;
            let mut wire = host.site.open().await;
            for ms in [0, 700, 0, 700] {
                answer(&mut wire, &call("hold", &json!({"ms": ms}))).await;
            }
            let log = log.0.lock().unwrap().clone();
            assert!(log.contains("`hold`") && log.contains("blocking"), "{log}");
            assert!(!log.contains("`quick`"), "{log}");
            assert_eq!(log.matches("`hold`").count(), 1, "once: {log}");
        });
    });
}
