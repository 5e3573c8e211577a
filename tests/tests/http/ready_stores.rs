//! Readiness asks every store that the service was given, whoever else answers.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use mcp_runtime::Server;
use mcp_runtime::http::HttpService;
use mcp_runtime::store::{
    EventStore, EventTail, MemoryBackend, MemorySessions, TaskLimit, TaskQuota, TaskRecord, TaskStore,
};
use mcp_tests::http::Site;

use crate::health::{status, until_status};

/// A store with nothing in it, which may be away.
#[derive(Debug, Default)]
struct Empty {
    away: AtomicBool,
}

impl Empty {
    fn nothing<T>(&self) -> io::Result<Option<T>> {
        if self.away.load(SeqCst) { Err(io::Error::other("away")) } else { Ok(None) }
    }
}

/// What readiness must not do.
fn unasked<T>() -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}

impl EventStore for Empty {
    async fn open(&self, _: &str, _: &str, _: Duration) -> io::Result<()> {
        unasked()
    }

    async fn touch(&self, _: &str, _: Duration) -> io::Result<()> {
        unasked()
    }

    async fn append(&self, _: &str, _: u64, _: &[u8], _: u64) -> io::Result<()> {
        unasked()
    }

    async fn close(&self, _: &str) -> io::Result<()> {
        unasked()
    }

    async fn read_after(&self, _: &str, _: u64) -> io::Result<Option<EventTail>> {
        self.nothing()
    }

    async fn remove(&self, _: &str) -> io::Result<()> {
        unasked()
    }
}

impl TaskStore for Empty {
    async fn create(&self, _: &TaskRecord, _: Duration, _: TaskQuota) -> io::Result<Result<(), TaskLimit>> {
        unasked()
    }

    async fn load(&self, _: &str) -> io::Result<Option<TaskRecord>> {
        self.nothing()
    }

    async fn update(&self, _: &TaskRecord) -> io::Result<bool> {
        unasked()
    }

    async fn list(&self, _: Option<&str>) -> io::Result<Vec<TaskRecord>> {
        unasked()
    }

    async fn holders(&self) -> io::Result<Vec<String>> {
        unasked()
    }

    async fn held_by(&self, _: &str, _: usize) -> io::Result<Vec<TaskRecord>> {
        unasked()
    }
}

fn server() -> Server {
    Server::new("ready", "1.0.0")
}

/// The service is ready if the store is there, and only then.
async fn is_asked(service: HttpService, store: &Empty) {
    let site = Site::serving(service.health("/healthz", "/readyz")).await;
    assert_eq!(status(&site, "/readyz").await, 200);
    store.away.store(true, SeqCst);
    until_status(&site, "/readyz", 503).await;
    store.away.store(false, SeqCst);
    until_status(&site, "/readyz", 200).await;
}

#[tokio::test]
async fn task_store_is_asked() {
    let store = Arc::new(Empty::default());
    is_asked(server().task_store(Arc::clone(&store)).into_service(), &store).await;
    let sessions = Arc::new(MemorySessions::default());
    is_asked(server().task_store(Arc::clone(&store)).into_service().session_store(sessions), &store).await;
}

#[tokio::test]
async fn event_store_is_asked() {
    let store = Arc::new(Empty::default());
    let sessions = Arc::new(MemorySessions::default());
    is_asked(server().into_service().session_store(sessions).event_store(Arc::clone(&store)), &store).await;
}

#[tokio::test]
async fn stores_beside_a_backend_are_asked() {
    let store = Arc::new(Empty::default());
    let with_backend = || server().backend(MemoryBackend::new());
    is_asked(with_backend().task_store(Arc::clone(&store)).into_service(), &store).await;
    is_asked(with_backend().into_service().event_store(Arc::clone(&store)), &store).await;
}
