//! Memory under load over HTTP, measured in this process: hence a binary of its own.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use mcp_runtime::Revision;
use mcp_tests::http::server::{site, site_within};
use mcp_tests::http::{call_in, initialize, modern, stream_of, until};
use serde_json::json;
use tokio::sync::Mutex;

/// Held while a test measures, so that one runs at a time.
static ALONE: Mutex<()> = Mutex::const_new(());

/// The memory of this process, in KiB, where that can be known.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn initialize_flood_is_bounded_by_sessions() {
    let _alone = ALONE.lock().await;
    let (site, _) = site().await;
    let before = memory();
    let mut wire = site.open().await;
    for _ in 0..5000 {
        wire.send(&initialize("2025-11-25").bytes()).await;
        // One that was never used makes room.
        assert_eq!(wire.response().await.status, 200);
    }
    assert!(memory().saturating_sub(before) < 48 * 1024, "{} KiB before, {} after", before, memory());
    site.serves().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_streams_take_bounded_memory() {
    let _alone = ALONE.lock().await;
    let (site, state) = site_within(|limits| limits.log_rate = u32::MAX).await;
    let before = memory();
    let babble = json!({"name": "babble", "_meta": {"io.modelcontextprotocol/logLevel": "debug"}});
    let mut stalled = Vec::new();
    for _ in 0..4 {
        let mut wire = site.open().await;
        wire.send(&modern("tools/call", babble.clone()).bytes()).await;
        stalled.push(wire);
    }
    let session = site.session(Revision::V2025_11_25).await;
    let mut wire = site.open().await;
    wire.send(&call_in(&session, 1, "babble", &json!({})).bytes()).await;
    stalled.push(wire);
    until(|| state.begun.load(SeqCst) == 5).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(state.dropped.load(SeqCst) <= 1, "they wait for their readers; the one in a session need not");
    // 32 MiB were to be said five times.
    assert!(memory().saturating_sub(before) < 64 * 1024, "{} KiB before, {} after", before, memory());
    site.serves().await;
    assert_eq!(site.ask(&call_in(&session, 2, "add", &json!({"a": 1, "b": 2}))).await.outcome(), (200, 0));
    drop(stalled);
    until(|| state.dropped.load(SeqCst) == 5).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_change_notifications_take_bounded_memory() {
    let _alone = ALONE.lock().await;
    let (site, _) = site().await;
    let session = site.session(Revision::V2025_11_25).await;
    let (_, _legacy) = site.begin(&stream_of(&session)).await;
    let all = json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["weather://now"]}});
    let (_, _modern) = site.begin(&modern("subscriptions/listen", all)).await;
    let before = memory();
    for _ in 0..20_000 {
        site.handle.tools().disable("add");
        site.handle.resource_updated("weather://now");
        site.handle.tools().enable("add");
    }
    assert!(memory().saturating_sub(before) < 32 * 1024, "{} KiB before, {} after", before, memory());
    site.serves().await;
}
