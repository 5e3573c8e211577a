//! What clients leave behind expires by itself, though none of them comes again.

use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::store::{MemoryEvents, MemorySessions};
use mcp_runtime::{Limits, Revision};
use mcp_tests::http::server::server;
use mcp_tests::http::{Site, call_in, initialize, stream_of, until};

use crate::tower::respond;

#[tokio::test]
async fn sessions_expire_though_no_client_comes() {
    let mut limits = Limits::default();
    limits.session_idle_timeout = Duration::from_millis(200);
    let service = server(&Arc::default()).limits(limits).into_service();
    let site = Site::serving(service.clone()).await;
    let read = site.session(Revision::V2025_11_25).await;
    let (_, stream) = site.begin(&stream_of(&read)).await;
    for _ in 0..3 {
        site.session(Revision::V2025_06_18).await;
    }
    let has = |count: &str| format!("{service:?}").contains(count);
    until(|| has("Sessions(1)")).await;
    drop(stream);
    until(|| has("Sessions(0)")).await;
    site.session(Revision::V2025_11_25).await;
    until(|| has("Sessions(0)")).await;
}

#[tokio::test(start_paused = true)]
async fn stored_sessions_and_events_expire_though_no_client_comes() {
    let (sessions, events) = (Arc::new(MemorySessions::new()), Arc::new(MemoryEvents::new()));
    let service = server(&Arc::default()).into_service();
    let mut service = service.session_store(Arc::clone(&sessions)).event_store(Arc::clone(&events));
    for _ in 0..3 {
        let opened = respond(&mut service, &initialize("2025-11-25")).await;
        let session = opened.headers()["mcp-session-id"].to_str().unwrap();
        let steps = call_in(session, 1, "steps", &json!({"n": 2}));
        drop(respond(&mut service, &steps).await);
    }
    let held = || (format!("{sessions:?}"), format!("{events:?}"));
    let has = |held: &(String, String), count: &str| held.0.contains(count) && held.1.contains(count);
    // The calls go on without their clients, and write their events for a replay.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(has(&held(), ": 3"), "{:?}", held());
    tokio::time::sleep(2 * Limits::default().session_idle_timeout).await;
    assert!(has(&held(), ": 0"), "{:?}", held());
}
