//! What observers are told of the end of sessions: once, when it is the end, and never under a lock.

use std::sync::{Arc, OnceLock};

use mcp_runtime::http::HttpService;
use mcp_runtime::observe::{Finished, Observer, Outcome, SessionEnded, Transport};
use mcp_runtime::store::MemoryBackend;
use mcp_runtime::testing::TestClient;
use mcp_runtime::{Limits, Revision};
use mcp_tests::http::{Ask, Site, call_in, initialize, until};
use serde_json::json;
use std::sync::atomic::Ordering::SeqCst;

use crate::recorder::watched;

fn one_session() -> Limits {
    let mut limits = Limits::default();
    limits.sessions = 1;
    limits
}

/// Opens a session that is not used, and makes room for others.
async fn open(site: &Site) -> String {
    let opened = site.ask(&initialize("2025-11-25")).await;
    opened.header("mcp-session-id").unwrap_or_else(|| panic!("{opened:?}")).to_owned()
}

#[tokio::test]
async fn session_that_a_handle_ends_is_told() {
    let (server, recorder, _) = watched();
    let handle = server.handle();
    let client = TestClient::with_revision(server, Revision::V2025_11_25).await.unwrap();
    assert!(recorder.ended().is_empty());
    handle.shutdown().await;
    until(|| recorder.ended() == [Transport::Stdio]).await;
    drop(client);
}

/// The client waits for its answers; it is the server that does not.
#[tokio::test]
async fn call_that_a_shutdown_gives_up_is_an_error_of_the_server() {
    let (server, recorder, state) = watched();
    let mut limits = Limits::default();
    limits.drain_timeout = std::time::Duration::ZERO;
    let server = server.limits(limits);
    let handle = server.handle();
    let client = TestClient::with_revision(server, Revision::V2025_11_25).await.unwrap();
    client.start("sleep", json!({"ms": 600_000})).map(std::mem::forget).unwrap();
    until(|| state.begun.load(SeqCst) == 1).await;
    handle.shutdown().await;
    let row = recorder.call().await;
    assert_eq!((row.outcome, row.code), (Outcome::Shutdown, Some(-32603)));
    drop(client);
}

/// A copy can be restored, here or at another replica.
#[tokio::test]
async fn copy_that_is_evicted_is_not_the_end_of_its_session() {
    let backend = MemoryBackend::new();
    let (server, recorder, _) = watched();
    let site = Site::of(server.limits(one_session()).backend(backend)).await;
    let (first, second) = (open(&site).await, open(&site).await);
    assert_eq!(site.ask(&call_in(&first, 1, "add", &json!({"a": 1, "b": 2}))).await.status, 200, "it goes on");
    assert_eq!(site.ask(&call_in(&second, 1, "add", &json!({"a": 1, "b": 2}))).await.status, 200);
    assert!(recorder.ended().is_empty(), "{:?}", recorder.ended());
    let (server, recorder, _) = watched();
    let site = Site::of(server.backend(MemoryBackend::new())).await;
    let ended = open(&site).await;
    assert_eq!(site.ask(&Ask::new("DELETE").with("Mcp-Session-Id", &ended)).await.status, 204);
    until(|| recorder.ended() == [Transport::HttpSession]).await;
}

/// Looks at the service when a session ends, which takes the lock of the sessions.
#[derive(Debug, Clone, Default)]
struct Looking(Arc<(OnceLock<HttpService>, OnceLock<String>)>);

impl Observer for Looking {
    fn finished(&self, _: &Finished<'_>) {}

    fn session_ended(&self, _: &SessionEnded) {
        if let Some(service) = self.0.0.get() {
            let _ = self.0.1.set(format!("{service:?}"));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_lock_is_held_when_the_end_of_a_session_is_told() {
    let looking = Looking::default();
    let (server, _, _) = watched();
    let service = server.limits(one_session()).observe(looking.clone()).into_service();
    looking.0.0.set(service.clone()).unwrap();
    let site = Site::serving(service).await;
    open(&site).await;
    // It makes room for another.
    open(&site).await;
    until(|| looking.0.1.get().is_some()).await;
    assert!(looking.0.1.get().unwrap().contains("HttpService"));
}
