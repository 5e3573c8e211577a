//! A failing, panicking or slow session store: only the requests that need it fail.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::protocol::LogLevel;
use mcp_runtime::store::{ChangeBus, LocalBus};
use mcp_runtime::store::{MemorySessions, SessionRecord, SessionStore};
use mcp_tests::http::{Ask, Site, initialize, soon, stream_of};
use serde_json::json;
use tokio::time::sleep;

use crate::replicas::{NEWEST, delete, is_later, ping, replica, request, subscribe, two};

/// Repeats a request until its response has this status.
async fn until_status(site: &Site, ask: &Ask, status: u16) {
    soon(async {
        while site.ask(ask).await.status != status {
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

/// A store that can fail, hang, refuse writes or be slow.
#[derive(Debug, Default)]
struct Fragile {
    store: MemorySessions,
    fails: AtomicBool,
    hangs: AtomicBool,
    read_only: AtomicBool,
    slow: AtomicBool,
    panics: AtomicBool,
    /// How often it has panicked.
    panicked: AtomicUsize,
}

impl Fragile {
    fn panic_if_told(&self) {
        if self.panics.load(Ordering::SeqCst) {
            self.panicked.fetch_add(1, Ordering::SeqCst);
            panic!("secret: the pool is poisoned");
        }
    }

    async fn works(&self) -> io::Result<()> {
        if self.hangs.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        if self.fails.load(Ordering::SeqCst) {
            return Err(io::Error::other("secret: redis://user:password@db is down"));
        }
        self.panic_if_told();
        Ok(())
    }
}

impl SessionStore for Fragile {
    async fn create(&self, id: &str, record: &SessionRecord, keep: Duration) -> io::Result<()> {
        self.works().await?;
        self.store.create(id, record, keep).await
    }

    /// Panics before there is a future; the others panic when theirs are polled.
    fn load(&self, id: &str) -> impl Future<Output = io::Result<Option<SessionRecord>>> + Send {
        self.panic_if_told();
        async move {
            self.works().await?;
            self.store.load(id).await
        }
    }

    async fn update(&self, id: &str, record: &SessionRecord, keep: Duration) -> io::Result<bool> {
        self.works().await?;
        if self.slow.load(Ordering::SeqCst) {
            sleep(Duration::from_millis(5)).await;
        }
        if self.read_only.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::ReadOnlyFilesystem.into());
        }
        self.store.update(id, record, keep).await
    }

    async fn touch(&self, id: &str, keep: Duration) -> io::Result<bool> {
        self.works().await?;
        self.store.touch(id, keep).await
    }

    async fn remove(&self, id: &str) -> io::Result<()> {
        self.works().await?;
        self.store.remove(id).await
    }
}

async fn nothing_of_sessions_works(site: &Site, session: &str) {
    for ask in [initialize("2025-11-25"), ping(session), subscribe(session), stream_of(session), delete(session)] {
        let response = soon(site.ask(&ask)).await;
        is_later(&response);
        assert_eq!(response.header("mcp-session-id"), None);
    }
    // Requests without a session are served.
    site.serves().await;
}

#[tokio::test]
async fn failing_session_store_gets_503() {
    let (store, bus): (_, Arc<dyn ChangeBus>) = (Arc::new(Fragile::default()), Arc::new(LocalBus::new()));
    let site = replica(&store, &bus, Limits::default()).await;
    let session = site.session(NEWEST).await;
    store.fails.store(true, Ordering::SeqCst);
    nothing_of_sessions_works(&site, &session).await;
    store.fails.store(false, Ordering::SeqCst);
    assert_eq!(site.ask(&ping(&session)).await.status, 200, "it is there again");
}

#[tokio::test]
async fn hanging_session_store_times_out() {
    let (store, bus): (_, Arc<dyn ChangeBus>) = (Arc::new(Fragile::default()), Arc::new(LocalBus::new()));
    let mut limits = Limits::default();
    limits.store_timeout = Duration::from_millis(100);
    let site = replica(&store, &bus, limits).await;
    let session = site.session(NEWEST).await;
    store.hangs.store(true, Ordering::SeqCst);
    nothing_of_sessions_works(&site, &session).await;
    store.hangs.store(false, Ordering::SeqCst);
    until_status(&site, &ping(&session), 200).await;
}

#[tokio::test]
async fn panicking_session_store_gets_503() {
    let (store, bus): (_, Arc<dyn ChangeBus>) = (Arc::new(Fragile::default()), Arc::new(LocalBus::new()));
    let site = replica(&store, &bus, Limits::default()).await;
    let session = site.session(NEWEST).await;
    store.panics.store(true, Ordering::SeqCst);
    nothing_of_sessions_works(&site, &session).await;
    store.panics.store(false, Ordering::SeqCst);
    assert_eq!(site.ask(&ping(&session)).await.status, 200, "it is there again");
}

/// A replica looks after the sessions with open streams by itself. It goes on after the store has panicked.
#[tokio::test]
async fn sessions_are_refreshed_after_the_store_panicked() {
    let store = Arc::new(Fragile::default());
    // Each has a bus of its own: nobody tells the other.
    let alone = async || replica(&store, &(Arc::new(LocalBus::new()) as Arc<dyn ChangeBus>), Limits::default()).await;
    let (a, b) = (alone().await, alone().await);
    let session = a.session(NEWEST).await;
    let (head, mut stream) = b.begin(&stream_of(&session)).await;
    assert_eq!(head.status, 200);
    store.panics.store(true, Ordering::SeqCst);
    mcp_tests::http::until(|| store.panicked.load(Ordering::SeqCst) >= 2).await;
    store.panics.store(false, Ordering::SeqCst);
    assert_eq!(a.ask(&delete(&session)).await.status, 204);
    soon(async { while stream.chunk().await.is_some() {} }).await;
}

#[tokio::test]
async fn failed_write_can_be_retried() {
    let (store, bus): (_, Arc<dyn ChangeBus>) = (Arc::new(Fragile::default()), Arc::new(LocalBus::new()));
    let site = replica(&store, &bus, Limits::default()).await;
    let session = site.session(NEWEST).await;
    let written = async || store.load(&session).await.unwrap().unwrap().subscriptions.len();
    store.read_only.store(true, Ordering::SeqCst);
    is_later(&site.ask(&subscribe(&session)).await);
    assert_eq!(written().await, 0);
    store.read_only.store(false, Ordering::SeqCst);
    assert_eq!(site.ask(&subscribe(&session)).await.outcome(), (200, 0));
    assert_eq!(written().await, 1);
}

#[tokio::test]
async fn concurrent_changes_at_two_replicas_are_both_kept() {
    let store = Arc::new(Fragile::default());
    // So slow that each has looked before the other has written.
    store.slow.store(true, Ordering::SeqCst);
    let (a, b) = two(&store).await;
    let session = a.session(NEWEST).await;
    for round in 0..20 {
        let (level, subscription, count) = match round % 2 {
            0 => (LogLevel::Error, "resources/subscribe", 1),
            _ => (LogLevel::Debug, "resources/unsubscribe", 0),
        };
        let set = request(&session, "logging/setLevel", &json!({"level": level}));
        let subscribe = request(&session, subscription, &json!({"uri": "weather://now"}));
        let (first, second) = tokio::join!(a.ask(&set), b.ask(&subscribe));
        assert_eq!((first.outcome(), second.outcome()), ((200, 0), (200, 0)));
        let record = store.load(&session).await.unwrap().unwrap();
        assert_eq!((record.log_level, record.subscriptions.len()), (level, count), "{round}");
    }
}
