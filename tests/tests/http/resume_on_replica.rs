//! Streams that were interrupted at one replica and are resumed at another.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery>

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http_body_util::BodyExt as _;
use mcp_runtime::http::HttpService;
use mcp_runtime::prelude::*;
use mcp_runtime::protocol::LogLevel;
use mcp_runtime::store::{ChangeBus, LocalBus};
use mcp_runtime::store::{EventStore, EventTail, EventWatch, MemoryEvents, MemorySessions, SessionStore};
use mcp_runtime::{Limits, Revision};
use mcp_tests::file_stores::FileStores;
use mcp_tests::http::server::server;
use mcp_tests::http::{Ask, Response, Site, Wire, call_in, in_session, initialize, soon, stream_of};
use tokio::time::sleep;

use crate::resuming::{again, raw_event};
use crate::tower::respond;

const NEWEST: Revision = Revision::V2025_11_25;

/// Let the client go, and work.
#[tool]
async fn away(ctx: &Context) -> &'static str {
    ctx.close_stream().await;
    sleep(Duration::from_millis(50)).await;
    "back"
}

/// Tell of a step every few seconds.
#[tool]
async fn dawdle(ctx: &Context) {
    for step in 0..20 {
        ctx.log(LogLevel::Warning, step).await;
        sleep(Duration::from_secs(15)).await;
    }
}

/// Replicas with the same stores and the same bus.
struct Fleet<S, E> {
    sessions: Arc<S>,
    events: Arc<E>,
    bus: Arc<dyn ChangeBus>,
    limits: Limits,
}

impl<S: SessionStore, E: EventStore> Fleet<S, E> {
    fn new(sessions: Arc<S>, events: Arc<E>) -> Self {
        Fleet { sessions, events, bus: Arc::new(LocalBus::new()), limits: Limits::default() }
    }

    async fn replica(&self) -> Site {
        Site::serving(self.service()).await
    }

    fn service(&self) -> HttpService {
        let server = server(&Arc::default()).tools(tools![away, dawdle, hold]).change_bus(Arc::clone(&self.bus));
        let service = server.limits(self.limits.clone()).into_service();
        let service = service.session_store(Arc::clone(&self.sessions)).event_store(Arc::clone(&self.events));
        service.principal(|parts| Some(parts.headers.get("x-user")?.to_str().ok()?.to_owned()))
    }
}

fn in_memory() -> Fleet<MemorySessions, MemoryEvents> {
    Fleet::new(Arc::default(), Arc::default())
}

/// The numbers of the events, each behind the number of its stream.
fn numbers(response: &Response) -> Vec<u64> {
    let ids = response.text().lines().filter_map(|line| line.strip_prefix("id: "));
    ids.map(|id| id.split_once('_').unwrap().1.parse().unwrap()).collect()
}

fn number(id: &str) -> u64 {
    id.split_once('_').unwrap().1.parse().unwrap()
}

/// Begins a call that reports many steps, reads some, and disconnects. Returns the last event id it saw.
async fn cut_off(site: &Site, session: &str, steps: u32) -> String {
    let (head, mut wire) = site.begin(&call_in(session, 7, "steps", &json!({"n": steps}))).await;
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    let mut last = String::new();
    for _ in 0..4 {
        last = soon(raw_event(&mut wire)).await.unwrap().0;
    }
    last
}

async fn goes_on_at_another<S: SessionStore, E: EventStore>(fleet: Fleet<S, E>) {
    let (a, b) = (fleet.replica().await, fleet.replica().await);
    let session = a.session(NEWEST).await;
    let last = cut_off(&a, &session, 40).await;
    // The call still runs, and says something, where it began.
    let rest = soon(b.ask(&again(&session, &last))).await;
    assert_eq!(rest.status, 200, "{rest:?}");
    let events = rest.events();
    assert_eq!(events.last().unwrap()["result"]["content"][0]["text"], "40 steps");
    let expected: Vec<u64> = (number(&last) + 1..=81).collect();
    assert_eq!(numbers(&rest), expected, "40 times progress and a log message, and the answer");
    // The same again, anywhere.
    for site in [&b, &a] {
        assert_eq!(soon(site.ask(&again(&session, &last))).await.body, rest.body);
    }
    for unknown in [last.replace('_', "0_"), last.replace('r', "s"), "r1_1".into(), "x".into(), String::new()] {
        assert_eq!(b.ask(&again(&session, &unknown)).await.status, 400, "{unknown:?}");
    }
    let other = b.session(NEWEST).await;
    assert_eq!(b.ask(&again(&other, &last)).await.status, 400, "of another session");
}

#[tokio::test]
async fn resume_at_another_replica_with_memory_stores() {
    goes_on_at_another(in_memory()).await;
}

#[tokio::test]
async fn resume_at_another_replica_with_file_stores() {
    let stores = Arc::new(FileStores::new());
    goes_on_at_another(Fleet::new(Arc::clone(&stores), stores)).await;
}

#[tokio::test]
async fn detached_client_resumes_at_another_replica() {
    let fleet = in_memory();
    let (a, b) = (fleet.replica().await, fleet.replica().await);
    let session = a.session(NEWEST).await;
    let response = soon(a.ask(&call_in(&session, 7, "away", &json!({})))).await;
    let id = response.text().lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    let rest = soon(b.ask(&again(&session, &id))).await;
    assert_eq!(rest.events()[0]["result"]["content"][0]["text"], "back");
}

#[tokio::test]
async fn events_are_written_before_a_replica_closes() {
    let fleet = troubled();
    let (a, b) = (fleet.replica().await, fleet.replica().await);
    let session = a.session(NEWEST).await;
    fleet.events.trouble.store(10, Ordering::SeqCst);
    let last = cut_off(&a, &session, 20).await;
    a.handle.shutdown().await;
    soon(a.serving).await.unwrap().unwrap();
    // Nothing is left to be written when the process may end.
    let stream = format!("{session}.{}", last.split_once('_').unwrap().0);
    let written = fleet.events.store.read_after(&stream, number(&last)).await.unwrap().unwrap();
    assert!(written.closed && written.events.last().unwrap().0 == 41, "{}", written.events.len());
    let rest = soon(b.ask(&again(&session, &last))).await;
    assert_eq!(rest.events().last().unwrap()["result"]["content"][0]["text"], "20 steps");
}

/// A session that is told of the weather, and its stream.
async fn watching(site: &Site) -> (String, Wire) {
    let session = site.session(NEWEST).await;
    let uri = json!({"uri": "weather://now"});
    let subscribe = json!({"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": uri});
    assert_eq!(site.ask(&in_session(&session, &subscribe)).await.outcome(), (200, 0));
    let (_, wire) = site.begin(&stream_of(&session)).await;
    (session, wire)
}

async fn hears_of_the_weather(wire: &mut Wire) -> String {
    loop {
        let (id, data) = soon(raw_event(wire)).await.expect("the stream is over");
        if data.contains("weather://now") {
            return id;
        }
    }
}

#[tokio::test]
async fn session_stream_resumes_across_replicas() {
    let fleet = in_memory();
    let (a, b) = (fleet.replica().await, fleet.replica().await);
    let (session, mut wire) = watching(&a).await;
    let (mut last, _) = soon(raw_event(&mut wire)).await.unwrap();
    for (round, site) in [&a, &b, &b, &a, &b].into_iter().enumerate() {
        if round > 0 {
            drop(wire);
            let head;
            (head, wire) = site.begin(&again(&session, &last)).await;
            assert_eq!(head.status, 200, "{round}: {head:?}");
        }
        a.handle.resource_updated("weather://now");
        let next = hears_of_the_weather(&mut wire).await;
        assert!(number(&next) > number(&last), "{round}: {last} and then {next}");
        assert_eq!(next.split_once('_').unwrap().0, last.split_once('_').unwrap().0, "one stream");
        last = next;
    }
}

/// A replica that shuts down ends its connections, not the streams of sessions.
#[tokio::test]
async fn session_stream_goes_on_after_a_shutdown() {
    let fleet = in_memory();
    let (a, b) = (fleet.replica().await, fleet.replica().await);
    let (session, mut wire) = watching(&a).await;
    a.handle.resource_updated("weather://now");
    let last = hears_of_the_weather(&mut wire).await;
    a.handle.shutdown().await;
    while soon(raw_event(&mut wire)).await.is_some() {}
    let (head, mut wire) = b.begin(&again(&session, &last)).await;
    assert_eq!(head.status, 200, "{head:?}");
    b.handle.resource_updated("weather://now");
    let next = hears_of_the_weather(&mut wire).await;
    assert!(number(&next) > number(&last), "{last} and then {next}");
}

#[tokio::test]
async fn events_of_another_principal_cannot_be_replayed() {
    let fleet = in_memory();
    let (a, b) = (fleet.replica().await, fleet.replica().await);
    let as_ann = |ask: Ask| ask.with("X-User", "ann");
    let opened = a.ask(&as_ann(initialize("2025-11-25"))).await;
    let session = opened.header("mcp-session-id").unwrap();
    let response = a.ask(&as_ann(call_in(session, 7, "steps", &json!({"n": 1})))).await;
    let first = response.text().lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
    for site in [&a, &b] {
        assert_eq!(site.ask(&again(session, first).with("X-User", "bob")).await.status, 404);
        assert_eq!(site.ask(&again(session, first)).await.status, 404);
        let own = soon(site.ask(&as_ann(again(session, first)))).await;
        assert_eq!(own.events().last().unwrap()["id"], 7);
    }
}

/// A store that fails, hangs or takes its time, and counts the streams it knows.
#[derive(Debug, Default)]
struct Troubled {
    store: MemoryEvents,
    trouble: AtomicU64,
    appended: AtomicU64,
    read: AtomicU64,
    kept: AtomicU64,
    forgotten: AtomicU64,
}

const FAILS: u64 = u64::MAX;
const HANGS: u64 = u64::MAX - 1;

impl Troubled {
    async fn works(&self) -> io::Result<()> {
        match self.trouble.load(Ordering::SeqCst) {
            FAILS => return Err(io::Error::other("secret: the disk is full")),
            HANGS => std::future::pending().await,
            0 => {}
            ms => sleep(Duration::from_millis(ms)).await,
        }
        Ok(())
    }
}

impl EventStore for Troubled {
    async fn open(&self, stream: &str, head: &str, keep: Duration) -> io::Result<()> {
        self.works().await?;
        self.kept.fetch_add(1, Ordering::SeqCst);
        self.store.open(stream, head, keep).await
    }

    async fn touch(&self, stream: &str, keep: Duration) -> io::Result<()> {
        self.works().await?;
        self.kept.fetch_add(1, Ordering::SeqCst);
        self.store.touch(stream, keep).await
    }

    async fn append(&self, stream: &str, number: u64, event: &[u8], oldest: u64) -> io::Result<()> {
        self.works().await?;
        self.store.append(stream, number, event, oldest).await?;
        self.appended.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    async fn close(&self, stream: &str) -> io::Result<()> {
        self.works().await?;
        self.store.close(stream).await
    }

    async fn read_after(&self, stream: &str, number: u64) -> io::Result<Option<EventTail>> {
        self.works().await?;
        self.read.fetch_add(1, Ordering::SeqCst);
        self.store.read_after(stream, number).await
    }

    async fn remove(&self, stream: &str) -> io::Result<()> {
        self.forgotten.fetch_add(1, Ordering::SeqCst);
        self.store.remove(stream).await
    }

    fn watch(&self, stream: &str) -> EventWatch {
        self.store.watch(stream)
    }
}

fn troubled() -> Fleet<MemorySessions, Troubled> {
    let mut fleet = Fleet::new(Arc::default(), Arc::new(Troubled::default()));
    fleet.limits.store_timeout = Duration::from_millis(100);
    fleet
}

#[tokio::test]
async fn failing_event_store_leaves_local_resumption_working() {
    for trouble in [FAILS, HANGS] {
        let fleet = troubled();
        let (a, b) = (fleet.replica().await, fleet.replica().await);
        let session = a.session(NEWEST).await;
        fleet.events.trouble.store(trouble, Ordering::SeqCst);
        let response = soon(a.ask(&call_in(&session, 7, "steps", &json!({"n": 3})))).await;
        assert_eq!(response.events().last().unwrap()["result"]["content"][0]["text"], "3 steps");
        let first = response.text().lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
        let here = soon(a.ask(&again(&session, first))).await;
        assert_eq!(numbers(&here), numbers(&response)[1..]);
        let there = soon(b.ask(&again(&session, first))).await;
        assert_eq!(there.outcome(), (503, -32603), "{there:?}");
        assert!(there.header("retry-after").is_some() && !there.text().contains("secret"), "{there:?}");
        fleet.events.trouble.store(0, Ordering::SeqCst);
        // It is written when the store is back.
        let there = soon(async {
            loop {
                let there = b.ask(&again(&session, first)).await;
                if there.status == 200 {
                    return there;
                }
                assert_eq!(there.status, 400, "{there:?}");
                sleep(Duration::from_millis(20)).await;
            }
        });
        assert_eq!(numbers(&there.await), numbers(&response)[1..]);
    }
}

/// Say something, wait to be told, and say something else.
#[tool]
async fn hold(ctx: &Context) -> &'static str {
    ctx.log(LogLevel::Warning, "waiting").await;
    sleep(Duration::from_secs(2)).await;
    ctx.log(LogLevel::Warning, "going on").await;
    "done"
}

#[tokio::test]
async fn follower_is_told_of_events_and_does_not_poll() {
    let fleet = troubled();
    let (a, b) = (fleet.replica().await, fleet.replica().await);
    let session = a.session(NEWEST).await;
    let (_, mut wire) = a.begin(&call_in(&session, 7, "hold", &json!({}))).await;
    let (last, _) = soon(raw_event(&mut wire)).await.unwrap();
    drop(wire);
    let (_, mut wire) = b.begin(&again(&session, &last)).await;
    let before = fleet.events.read.load(Ordering::SeqCst);
    let mut text = String::new();
    while let Some((_, data)) = soon(raw_event(&mut wire)).await {
        text.push_str(&data);
    }
    assert!(text.contains("going on") && text.contains("done"), "{text}");
    // Two seconds of polling would be eight.
    let reads = fleet.events.read.load(Ordering::SeqCst) - before;
    assert!(reads <= 5, "{reads} reads");
}

/// Events that could not be written in time are missing; a replica does not skip over them.
#[tokio::test]
async fn replay_with_a_gap_is_rejected() {
    let fleet = troubled();
    let (a, b) = (fleet.replica().await, fleet.replica().await);
    let session = a.session(NEWEST).await;
    // More events than a stream keeps until they are written.
    let last = cut_off(&a, &session, 200).await;
    fleet.events.trouble.store(FAILS, Ordering::SeqCst);
    let rest = soon(a.ask(&again(&session, &last))).await;
    assert_eq!(numbers(&rest), (number(&last) + 1..=401).collect::<Vec<_>>(), "here they are all");
    fleet.events.trouble.store(0, Ordering::SeqCst);
    let before = fleet.events.appended.load(Ordering::SeqCst);
    mcp_tests::http::until(|| fleet.events.appended.load(Ordering::SeqCst) > before).await;
    assert_eq!(b.ask(&again(&session, &last)).await.status, 400, "some after that are missing");
    let late = format!("{}_400", last.split_once('_').unwrap().0);
    assert_eq!(numbers(&soon(b.ask(&again(&session, &late))).await), [401], "and these are everywhere");
}

#[tokio::test]
async fn finished_streams_are_removed_from_the_store() {
    let fleet = troubled();
    let a = fleet.replica().await;
    let session = a.session(NEWEST).await;
    for id in 0..20 {
        a.ask(&call_in(&session, id, "steps", &json!({"n": 1}))).await;
    }
    let forgotten = || fleet.events.forgotten.load(Ordering::SeqCst);
    mcp_tests::http::until(|| forgotten() >= 2).await;
    assert!(forgotten() < 20);
    assert_eq!(a.ask(&Ask::new("DELETE").with("Mcp-Session-Id", session)).await.status, 204);
    mcp_tests::http::until(|| forgotten() == 20).await;
}

/// The writer of a long stream renews its TTL.
#[tokio::test(start_paused = true)]
async fn stream_ttl_is_extended_while_it_is_written() {
    let fleet = troubled();
    let mut service = fleet.service();
    let opened = respond(&mut service, &initialize("2025-11-25")).await;
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let response = respond(&mut service, &call_in(&session, 7, "dawdle", &json!({}))).await;
    let said = response.into_body().collect().await.unwrap().to_bytes();
    let said = std::str::from_utf8(&said).unwrap();
    assert_eq!(said.matches("notifications/message").count(), 20, "{said}");
    // When it is opened, every two of five minutes, and once for the time after the end.
    let kept = fleet.events.kept.load(Ordering::SeqCst);
    assert!((4..20).contains(&kept), "{kept}");
}
