//! Health probes: alive, ready, and what they cost the stores.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use mcp_runtime::Server;
use mcp_runtime::auth::Auth;
use mcp_runtime::http::HttpService;
use mcp_runtime::store::{
    Backend, ChangeBus, EventStore, Inbox, LeaseStore, MemoryBackend, SessionRecord, SessionStore, TaskStore,
};
use mcp_tests::http::server::server;
use mcp_tests::http::{Ask, Response, Site, call, soon, until};
use serde_json::json;
use tracing_subscriber::prelude::*;

use crate::log::Log;
use crate::tower::respond;

fn service() -> HttpService {
    server(&Arc::default()).into_service().health("/healthz", "/readyz")
}

fn probe(path: &str) -> Ask {
    // An orchestrator names the address of the container.
    Ask::new("GET").at(path).but("Host", "10.1.2.3:8080")
}

pub(crate) async fn status(site: &Site, path: &str) -> u16 {
    site.ask(&probe(path)).await.status
}

#[track_caller]
fn assert_probe(response: &Response, status: u16, text: &str) {
    assert_eq!((response.status, response.text()), (status, text));
    assert_eq!(response.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn probes_are_answered_to_everybody() {
    let site = Site::serving(service()).await;
    assert_probe(&site.ask(&probe("/healthz")).await, 200, "alive\n");
    assert_probe(&site.ask(&probe("/readyz")).await, 200, "ready\n");
    assert_probe(&site.ask(&probe("/readyz").with("Origin", "https://evil.example")).await, 200, "ready\n");
    let mut wire = site.open().await;
    wire.send(&Ask { method: "HEAD".into(), ..probe("/readyz") }.bytes()).await;
    let head = wire.head().await;
    assert_eq!((head.status, head.header("content-length")), (200, Some("6")));
    wire.send(&probe("/healthz").bytes()).await;
    assert_probe(&wire.response().await, 200, "alive\n");
    for method in ["POST", "DELETE", "OPTIONS"] {
        let response = site.ask(&Ask { method: method.into(), ..probe("/readyz") }).await;
        assert_eq!((response.status, response.header("allow")), (405, Some("GET, HEAD")), "{method}");
    }
    assert_eq!(site.ask(&Ask::new("GET").at("/healthz/more")).await.status, 404);
    site.serves().await;
    let without = Site::of(server(&Arc::default())).await;
    assert_eq!(without.ask(&Ask::new("GET").at("/healthz")).await.status, 404);
}

/// A server that drains is asked every second whether it is ready. It is not, and that is no refusal.
#[tokio::test]
async fn probes_are_not_logged_as_refusals() {
    let log = Log::default();
    let _guard = tracing_subscriber::registry().with(log.clone()).set_default();
    let mut service = service();
    service.handle().start_shutdown();
    assert_eq!(respond(&mut service, &probe("/readyz")).await.status(), 503);
    assert_eq!(log.find("request refused"), None);
}

#[tokio::test]
async fn probes_need_no_token() {
    let auth = Auth::verify_with(|_| async { Err(mcp_runtime::auth::Rejection::invalid("nobody")) })
        .resource("https://mcp.example.com/mcp")
        .authorization_servers(["https://auth.example.com"]);
    let site = Site::serving(service().authorize(auth)).await;
    assert_eq!(site.ask(&call("add", &json!({"a": 1, "b": 2}))).await.status, 401);
    assert_eq!((status(&site, "/healthz").await, status(&site, "/readyz").await), (200, 200));
}

#[test]
#[should_panic(expected = "begins with `/`: \"readyz\"")]
fn path_of_a_probe_is_absolute() {
    let _ = server(&Arc::default()).into_service().health("/healthz", "readyz");
}

#[test]
#[should_panic(expected = "`/mcp/v1` is the path of a health probe and of the endpoint")]
fn probe_does_not_hide_the_endpoint() {
    let _ = server(&Arc::default()).into_service().endpoint("/mcp/v1").health("/healthz", "/mcp/v1");
}

#[test]
#[should_panic(expected = "`/mcp/v1` is the path of a health probe and of the endpoint")]
fn endpoint_does_not_move_below_a_probe() {
    let _ = server(&Arc::default()).into_service().health("/mcp/v1", "/readyz").endpoint("/mcp/v1");
}

/// A nested service serves every path: only a listener has a path without `endpoint`.
#[tokio::test]
async fn probe_does_not_hide_the_default_endpoint() {
    let hiding = || server(&Arc::default()).into_service().health("/mcp", "/readyz");
    let error = soon(hiding().serve("127.0.0.1:0")).await.unwrap_err().to_string();
    assert!(error.contains("`/mcp` is the path of a health probe and of the endpoint"), "{error}");
    let site = Site::serving(hiding().endpoint("/tools")).await;
    assert_eq!(status(&site, "/mcp").await, 200);
}

#[test]
#[should_panic(expected = "health probes have two paths")]
fn probes_have_two_paths() {
    let _ = server(&Arc::default()).into_service().health("/health", "/health");
}

#[tokio::test]
async fn nested_service_is_not_ready_once_it_shuts_down() {
    let mut service = service();
    let handle = service.handle();
    let at = |path: &str| http::Request::get(path).body(http_body_util::Empty::<bytes::Bytes>::new()).unwrap();
    for (path, before, after) in [("/healthz", 200, 200), ("/readyz", 200, 503)] {
        let mut service = service.clone();
        let response = tower_service::Service::call(&mut service, at(path)).await.unwrap();
        assert_eq!(response.status(), before, "{path}");
        if path == "/readyz" {
            handle.start_shutdown();
        }
        let response = tower_service::Service::call(&mut service, at(path)).await.unwrap();
        assert_eq!(response.status(), after, "{path}");
    }
    assert_eq!(respond(&mut service, &call("add", &json!({"a": 1, "b": 2}))).await.status(), 503);
}

/// The listener is closed by then, but a connection in use learns it.
#[tokio::test]
async fn listening_service_is_not_ready_once_it_shuts_down() {
    let state = Arc::default();
    let site = Site::serving(server(&state).into_service().health("/healthz", "/readyz")).await;
    let mut wire = site.open().await;
    wire.send(&call("sleep", &json!({"ms": 300})).bytes()).await;
    until(|| state.begun.load(SeqCst) == 1).await;
    // Two that have connected, and not yet sent anything.
    let (mut alive, mut ready) = (site.open().await, site.open().await);
    site.handle.start_shutdown();
    alive.send(&probe("/healthz").bytes()).await;
    ready.send(&probe("/readyz").bytes()).await;
    assert_probe(&alive.response().await, 200, "alive\n");
    assert_probe(&ready.response().await, 503, "shutting down\n");
    assert!(wire.response().await.text().contains("slept 300"));
    soon(site.serving).await.unwrap().unwrap();
}

/// A backend that can be away, or silent, and counts how often it is asked.
#[derive(Debug, Clone, Default)]
struct Unsteady {
    memory: MemoryBackend,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    away: AtomicBool,
    silent: AtomicBool,
    asked: AtomicUsize,
}

impl State {
    async fn answer(&self) -> io::Result<()> {
        self.asked.fetch_add(1, SeqCst);
        if self.silent.load(SeqCst) {
            std::future::pending::<()>().await;
        }
        // Long enough that others come meanwhile.
        tokio::time::sleep(Duration::from_millis(20)).await;
        if self.away.load(SeqCst) { Err(io::Error::other("away")) } else { Ok(()) }
    }
}

impl Backend for Unsteady {
    fn sessions(&self) -> Arc<impl SessionStore> {
        self.memory.sessions()
    }

    fn events(&self) -> Arc<impl EventStore> {
        self.memory.events()
    }

    fn inbox(&self) -> Arc<impl Inbox> {
        self.memory.inbox()
    }

    fn leases(&self) -> Arc<impl LeaseStore> {
        self.memory.leases()
    }

    fn tasks(&self) -> Arc<impl TaskStore> {
        self.memory.tasks()
    }

    fn changes(&self) -> Arc<dyn ChangeBus> {
        self.memory.changes()
    }

    async fn secret(&self) -> io::Result<Vec<u8>> {
        self.memory.secret().await
    }

    async fn ping(&self) -> io::Result<()> {
        self.state.answer().await
    }
}

pub(crate) async fn until_status(site: &Site, path: &str, expected: u16) {
    soon(async {
        while status(site, path).await != expected {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn service_is_ready_while_its_backend_answers() {
    let backend = Unsteady::default();
    let site = Site::serving(
        Server::new("ready", "1.0.0").backend(backend.clone()).into_service().health("/healthz", "/readyz"),
    )
    .await;
    assert_eq!(status(&site, "/readyz").await, 200);
    backend.state.away.store(true, SeqCst);
    until_status(&site, "/readyz", 503).await;
    let response = site.ask(&probe("/readyz")).await;
    assert_probe(&response, 503, "a store does not answer; the log says more\n");
    assert_eq!(status(&site, "/healthz").await, 200, "a restart would not help");
    backend.state.away.store(false, SeqCst);
    until_status(&site, "/readyz", 200).await;
    backend.state.silent.store(true, SeqCst);
    until_status(&site, "/readyz", 503).await;
    backend.state.silent.store(false, SeqCst);
    until_status(&site, "/readyz", 200).await;
}

#[tokio::test]
async fn many_probes_ask_the_backend_once_a_second() {
    let backend = Unsteady::default();
    let service = Server::new("ready", "1.0.0").backend(backend.clone()).into_service().health("/healthz", "/readyz");
    let site = Arc::new(Site::serving(service).await);
    let begun = Instant::now();
    let probes: Vec<_> = (0..100)
        .map(|_| {
            let site = Arc::clone(&site);
            tokio::spawn(async move { status(&site, "/readyz").await })
        })
        .collect();
    for probed in probes {
        assert_eq!(probed.await.unwrap(), 200);
    }
    let most = 1 + usize::try_from(begun.elapsed().as_secs()).unwrap();
    assert!(backend.state.asked.load(SeqCst) <= most, "{:?}", backend.state);
    assert_eq!(status(&site, "/healthz").await, 200);
}

/// Nobody waits for the answer any more, and yet it counts.
#[tokio::test]
async fn probes_that_give_up_ask_the_backend_once_a_second() {
    let backend = Unsteady::default();
    backend.state.silent.store(true, SeqCst);
    let service = Server::new("ready", "1.0.0").backend(backend.clone()).into_service().health("/healthz", "/readyz");
    let site = Site::serving(service).await;
    let begun = Instant::now();
    for _ in 0..20 {
        let mut wire = site.open().await;
        wire.send(&probe("/readyz").bytes()).await;
        until(|| backend.state.asked.load(SeqCst) > 0).await;
        drop(wire);
        // The server has noticed by the time it answers another.
        assert_eq!(status(&site, "/healthz").await, 200);
    }
    let most = 1 + usize::try_from(begun.elapsed().as_secs()).unwrap();
    assert!(backend.state.asked.load(SeqCst) <= most, "{:?}", backend.state);
}

#[tokio::test]
async fn probes_have_request_ids() {
    let site = Site::serving(service().request_ids()).await;
    let probed = site.ask(&probe("/readyz").with("X-Request-Id", "probe-7")).await;
    assert_eq!((probed.status, probed.header("x-request-id")), (200, Some("probe-7")));
}

/// A store of sessions without a backend.
#[derive(Debug, Default)]
struct Sessions {
    memory: mcp_runtime::store::MemorySessions,
    state: State,
}

impl SessionStore for Sessions {
    async fn create(&self, id: &str, record: &SessionRecord, ttl: Duration) -> io::Result<()> {
        self.memory.create(id, record, ttl).await
    }

    async fn load(&self, id: &str) -> io::Result<Option<SessionRecord>> {
        self.state.answer().await?;
        self.memory.load(id).await
    }

    async fn update(&self, id: &str, record: &SessionRecord, ttl: Duration) -> io::Result<bool> {
        self.memory.update(id, record, ttl).await
    }

    async fn touch(&self, id: &str, ttl: Duration) -> io::Result<bool> {
        self.memory.touch(id, ttl).await
    }

    async fn remove(&self, id: &str) -> io::Result<()> {
        self.memory.remove(id).await
    }
}

#[tokio::test]
async fn session_store_without_a_backend_is_asked() {
    let store = Arc::new(Sessions::default());
    let site = Site::serving(service().session_store(Arc::clone(&store))).await;
    assert_eq!(status(&site, "/readyz").await, 200);
    store.state.away.store(true, SeqCst);
    until_status(&site, "/readyz", 503).await;
}
