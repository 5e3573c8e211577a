//! Several replicas with one session store: any replica serves a session, and it ends at all of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_runtime::http::HttpService;
use mcp_runtime::prelude::*;
use mcp_runtime::store::{ChangeBus, LocalBus};
use mcp_runtime::store::{MemorySessions, SessionStore};
use mcp_runtime::{Limits, Revision, Server};
use mcp_tests::http::server::{SESSIONS, server};
use mcp_tests::http::{Ask, Response, Site, Wire, call_in, in_session, initialize, soon, stream_of};
use serde_json::Value;
use tokio::time::sleep;

pub(crate) const NEWEST: Revision = Revision::V2025_11_25;

fn with_users(service: HttpService) -> HttpService {
    service.principal(|parts| Some(parts.headers.get("x-user")?.to_str().ok()?.to_owned()))
}

/// One replica.
pub(crate) async fn replica(store: &Arc<impl SessionStore>, bus: &Arc<dyn ChangeBus>, limits: Limits) -> Site {
    let server = server(&Arc::default()).change_bus(Arc::clone(bus)).limits(limits);
    Site::serving(with_users(server.into_service().session_store(Arc::clone(store)))).await
}

/// Two replicas with the same store and the same bus.
pub(crate) async fn two(store: &Arc<impl SessionStore>) -> (Site, Site) {
    let bus: Arc<dyn ChangeBus> = Arc::new(LocalBus::new());
    (replica(store, &bus, Limits::default()).await, replica(store, &bus, Limits::default()).await)
}

pub(crate) fn request(session: &str, method: &str, params: &Value) -> Ask {
    in_session(session, &json!({"jsonrpc": "2.0", "id": 9, "method": method, "params": params}))
}

pub(crate) fn ping(session: &str) -> Ask {
    request(session, "ping", &json!({}))
}

pub(crate) fn delete(session: &str) -> Ask {
    Ask::new("DELETE").with("Mcp-Session-Id", session)
}

pub(crate) fn subscribe(session: &str) -> Ask {
    request(session, "resources/subscribe", &json!({"uri": "weather://now"}))
}

async fn is_told_of_the_weather(stream: &mut Wire) {
    let event = soon(stream.event()).await.expect("the stream is over");
    assert_eq!(event["method"], "notifications/resources/updated");
    assert_eq!(event["params"]["uri"], "weather://now");
}

#[tokio::test]
async fn session_is_served_by_any_replica() {
    for revision in SESSIONS {
        let (a, b) = two(&Arc::new(MemorySessions::new())).await;
        let session = a.session(revision).await;
        for site in [&b, &a, &b] {
            let response = site.ask(&call_in(&session, 1, "add", &json!({"a": 1, "b": 2}))).await;
            assert_eq!(response.json()["result"]["content"][0]["text"], "3", "{revision}");
        }
        let again = in_session(&session, &serde_json::from_slice(&initialize("2025-11-25").body.unwrap()).unwrap());
        assert_eq!(b.ask(&again).await.outcome(), (400, -32600), "it is initialized already");
        assert_eq!(b.ask(&ping("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")).await.status, 404);
    }
}

/// Say who asks.
#[tool]
fn who(ctx: &Context) -> String {
    let roots = ctx.client_capability("roots");
    format!("{:?} {:?} {} {roots:?}", ctx.client_name(), ctx.client_version(), ctx.revision())
}

#[tokio::test]
async fn client_info_is_shared_between_replicas() {
    let store = Arc::new(MemorySessions::new());
    let site = async || {
        let server = Server::new("who", "1.0.0").tools(tools![who]);
        Site::serving(server.into_service().session_store(Arc::clone(&store))).await
    };
    let (a, b) = (site().await, site().await);
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {"roots": {"listChanged": true}}, "clientInfo": {"name": "ann", "version": "7"}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let opened = a.ask(&Ask::post(hello.to_string())).await;
    let session = opened.header("mcp-session-id").unwrap();
    let ask = call_in(session, 1, "who", &json!({}));
    let (here, there) = (a.ask(&ask).await, b.ask(&ask).await);
    let text = &there.json()["result"]["content"][0]["text"];
    assert!(text.as_str().unwrap().starts_with(r#"Some("ann") Some("7") 2025-06-18 "#), "{text}");
    assert!(text.as_str().unwrap().contains("listChanged"), "{text}");
    assert_eq!(here.body, there.body);
}

#[tokio::test]
async fn subscription_reaches_a_stream_opened_at_another_replica() {
    let (a, b) = two(&Arc::new(MemorySessions::new())).await;
    let session = a.session(NEWEST).await;
    // It is known there already, and without the subscription.
    assert_eq!(b.ask(&ping(&session)).await.status, 200);
    assert_eq!(a.ask(&subscribe(&session)).await.outcome(), (200, 0));
    let (head, mut stream) = b.begin(&stream_of(&session)).await;
    assert_eq!(head.status, 200);
    assert_eq!(a.ask(&call_in(&session, 3, "change", &json!({}))).await.outcome(), (200, 0));
    is_told_of_the_weather(&mut stream).await;
}

#[tokio::test]
async fn subscription_reaches_a_stream_already_open_at_another_replica() {
    let (a, b) = two(&Arc::new(MemorySessions::new())).await;
    let session = a.session(NEWEST).await;
    let (_, mut stream) = b.begin(&stream_of(&session)).await;
    assert_eq!(a.ask(&subscribe(&session)).await.outcome(), (200, 0));
    let changing = async {
        loop {
            a.handle.resource_updated("weather://now");
            sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        () = is_told_of_the_weather(&mut stream) => {}
        () = changing => {}
    }
}

#[tokio::test]
async fn deleted_session_is_unknown_to_every_replica() {
    let (a, b) = two(&Arc::new(MemorySessions::new())).await;
    let session = a.session(NEWEST).await;
    let (_, mut stream) = a.begin(&stream_of(&session)).await;
    assert_eq!(b.ask(&delete(&session)).await.status, 204);
    for site in [&a, &b] {
        for ask in [ping(&session), delete(&session), stream_of(&session)] {
            assert_eq!(site.ask(&ask).await.status, 404, "{ask:?}");
        }
    }
    assert_eq!(soon(stream.event()).await, None, "its stream is over, too");
}

#[tokio::test]
async fn stream_ends_when_another_replica_deletes_the_session() {
    let (a, b) = two(&Arc::new(MemorySessions::new())).await;
    let session = a.session(NEWEST).await;
    let (_, mut stream) = a.begin(&stream_of(&session)).await;
    assert_eq!(b.ask(&delete(&session)).await.status, 204);
    // Without another request at the first.
    assert_eq!(soon(stream.event()).await, None);
}

#[tokio::test]
async fn session_survives_a_restart() {
    let (store, bus): (_, Arc<dyn ChangeBus>) = (Arc::new(MemorySessions::new()), Arc::new(LocalBus::new()));
    let before = replica(&store, &bus, Limits::default()).await;
    let session = before.session(NEWEST).await;
    assert_eq!(before.ask(&subscribe(&session)).await.outcome(), (200, 0));
    before.handle.shutdown().await;
    soon(before.serving).await.unwrap().unwrap();
    let after = replica(&store, &bus, Limits::default()).await;
    let (head, mut stream) = after.begin(&stream_of(&session)).await;
    assert_eq!(head.status, 200);
    after.handle.resource_updated("weather://now");
    is_told_of_the_weather(&mut stream).await;
}

#[tokio::test]
async fn session_of_another_principal_is_unknown_to_every_replica() {
    let (a, b) = two(&Arc::new(MemorySessions::new())).await;
    let opened = a.ask(&initialize("2025-11-25").with("X-User", "ann")).await;
    let session = opened.header("mcp-session-id").unwrap();
    let unknown = a.ask(&ping("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")).await;
    for site in [&b, &a] {
        for ask in [ping(session), stream_of(session), delete(session)] {
            for stranger in [ask.clone(), ask.with("X-User", "bob")] {
                let response = site.ask(&stranger).await;
                assert_eq!((response.status, &response.body), (404, &unknown.body), "{stranger:?}");
            }
        }
        assert_eq!(site.ask(&ping(session).with("X-User", "ann")).await.status, 200);
    }
}

#[tokio::test]
async fn session_idle_timeout_counts_use_at_every_replica() {
    let (store, bus): (_, Arc<dyn ChangeBus>) = (Arc::new(MemorySessions::new()), Arc::new(LocalBus::new()));
    let mut limits = Limits::default();
    limits.session_idle_timeout = Duration::from_millis(400);
    let (a, b) = (replica(&store, &bus, limits.clone()).await, replica(&store, &bus, limits).await);
    let session = a.session(NEWEST).await;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(900) {
        assert_eq!(b.ask(&ping(&session)).await.status, 200, "this is use");
        sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(a.ask(&ping(&session)).await.status, 200, "used elsewhere is used");
    sleep(Duration::from_millis(600)).await;
    for site in [&a, &b] {
        assert_eq!(site.ask(&ping(&session)).await.status, 404);
    }
}

#[tokio::test]
async fn open_stream_keeps_the_session_alive_at_every_replica() {
    let (store, bus): (_, Arc<dyn ChangeBus>) = (Arc::new(MemorySessions::new()), Arc::new(LocalBus::new()));
    let mut limits = Limits::default();
    limits.session_idle_timeout = Duration::from_millis(1500);
    let (a, b) = (replica(&store, &bus, limits.clone()).await, replica(&store, &bus, limits).await);
    let session = a.session(NEWEST).await;
    let (_, _stream) = a.begin(&stream_of(&session)).await;
    sleep(Duration::from_millis(2500)).await;
    assert_eq!(b.ask(&ping(&session)).await.status, 200);
}

/// With more sessions in the store than a replica may hold, it caches some of them.
#[tokio::test]
async fn cached_sessions_are_evicted_at_the_limit() {
    let (store, bus): (_, Arc<dyn ChangeBus>) = (Arc::new(MemorySessions::new()), Arc::new(LocalBus::new()));
    let mut limits = Limits::default();
    limits.sessions = 2;
    let small = replica(&store, &bus, limits).await;
    let large = replica(&store, &bus, Limits::default()).await;
    let mut sessions = Vec::new();
    for _ in 0..5 {
        sessions.push(large.session(NEWEST).await);
    }
    for session in sessions.iter().chain(&sessions) {
        assert_eq!(small.ask(&ping(session)).await.status, 200);
    }
    let (_, _one) = small.begin(&stream_of(&sessions[0])).await;
    let (_, _two) = small.begin(&stream_of(&sessions[1])).await;
    is_later(&small.ask(&ping(&sessions[2])).await);
}

#[track_caller]
pub(crate) fn is_later(response: &Response) {
    assert_eq!(response.outcome(), (503, -32603), "{response:?}");
    let wait: u64 = response.header("retry-after").expect("when to try again").parse().unwrap();
    assert!(wait > 0);
    assert!(!response.text().contains("secret"), "{}", response.text());
}
