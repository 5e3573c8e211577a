//! Redis Cluster: the contracts hold, and requests follow slots that move and primaries that fail over.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use mcp_redis::Redis;
use mcp_runtime::protocol::Revision;
use mcp_runtime::store::{
    Change, ChangeBus as _, ChangeListener, SessionRecord, SessionStore as _, TaskQuota, TaskRecord, TaskStatus,
    TaskStore as _,
};
use mcp_runtime::testing::contract;

use crate::acl::documented;
use crate::keys::fill;
use crate::nodes::{Moving, Nodes};
use crate::server::{Server, eventually, free_port};

const LONG: Duration = Duration::from_secs(10 * 60);
/// Nodes that are busy are not taken for dead.
const CALM: &[&str] = &["--cluster-node-timeout", "15000"];
/// The others go on without one, and its replica takes over soon.
const NERVOUS: &[&str] =
    &["--cluster-node-timeout", "1500", "--cluster-require-full-coverage", "no", "--repl-diskless-sync-delay", "0"];

fn record() -> SessionRecord {
    let mut record = SessionRecord::new(Revision::V2025_06_18);
    // The same each time.
    record.opened_ms = 0;
    record
}

fn next(record: &SessionRecord) -> SessionRecord {
    let mut next = record.clone();
    next.version += 1;
    next
}

/// The id of a new session that this node has, and its key.
async fn session_on(redis: &Redis, node: &Server) -> (String, String) {
    for number in 0..1000 {
        let (id, before) = (format!("{}-{number}", node.port), node.keys().await);
        redis.sessions().create(&id, &record(), LONG).await.unwrap();
        if let Some(key) = node.keys().await.into_iter().find(|key| !before.contains(key)) {
            return (id, key);
        }
    }
    panic!("no session is there");
}

/// The requests that a node has sent elsewhere.
async fn redirects(node: &Server) -> u64 {
    let info: String = node.command(&["INFO", "errorstats"]).await;
    let counts = info.lines().filter(|line| line.starts_with("errorstat_MOVED") || line.starts_with("errorstat_ASK"));
    counts.filter_map(|line| line.rsplit_once('=')?.1.trim().parse::<u64>().ok()).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_keeps_the_contracts() {
    let nodes = Nodes::start(CALM).await;
    let redis = nodes.builder().prefix("notes:1").seal_key(&[7; 32]).connect().await.unwrap();
    // At the same time, because they wait much.
    tokio::join!(
        contract::sessions(|| (*redis.sessions()).clone()),
        contract::events(|| (*redis.events()).clone()),
        contract::inbox(|| (*redis.inbox()).clone()),
        contract::leases(|| (*redis.leases()).clone()),
        contract::tasks(|| (*redis.tasks()).clone()),
        contract::bus(|| (*redis.bus()).clone()),
    );
    for node in &nodes.primaries {
        assert!(!node.keys().await.is_empty(), "each node has some of the keys");
        assert_eq!(redirects(node).await, 0, "requests go to the right node at once");
    }
}

#[tokio::test]
async fn cluster_serves_a_restricted_user() {
    let nodes = Nodes::start(CALM).await;
    for node in &nodes.primaries {
        node.command::<()>(&[&documented()[..], &["+cluster|slots", "+cluster|info"]].concat()).await;
    }
    let url = nodes.url().replace("://", "://mcp:PASSWORD@");
    let redis = crate::server::patient(&url).connect().await.unwrap();
    redis.ping().await.unwrap();
    fill(&redis).await;
    // Scripts that a node has forgotten are loaded on that node.
    for node in &nodes.primaries {
        node.command::<()>(&["SCRIPT", "FLUSH"]).await;
    }
    fill(&redis).await;
}

#[tokio::test]
async fn cluster_url_and_server_have_to_match() {
    let (nodes, server) = (Nodes::start(CALM).await, Server::start().await);
    // A server alone would have answered all of them.
    let alone = crate::server::patient(&nodes.primaries[0].url()).connect().await.unwrap();
    let mut refused = Vec::new();
    for number in 0..50 {
        refused.extend(alone.sessions().create(&number.to_string(), &record(), LONG).await.err());
    }
    let error = refused.first().expect("a node has a third of the slots");
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("redis+cluster://host:port,host:port/"), "{error}");

    let url = server.url().replace("redis://", "redis+cluster://");
    let error = crate::server::patient(&url).connect().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("connect to it alone"), "{error}");

    let nowhere = format!("redis+cluster://:hunter2@127.0.0.1:{},127.0.0.1:{}", free_port(), free_port());
    let error = Redis::connect(&nowhere).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{error}");
    assert!(error.to_string().contains("is it running?") && !error.to_string().contains("hunter2"), "{error}");
    let sentinels = nodes.builder().sentinels(["redis://127.0.0.1/"]).connect_lazy().unwrap_err();
    assert_eq!(sentinels.kind(), ErrorKind::InvalidInput, "{sentinels}");
}

#[tokio::test]
async fn moved_slot_is_followed() {
    let nodes = Nodes::start(CALM).await;
    // Connects on first use.
    let redis = nodes.builder().connect_lazy().unwrap();
    let (sessions, from, to) = (redis.sessions(), &nodes.primaries[0], &nodes.primaries[1]);
    let (id, key) = session_on(&redis, from).await;
    let moving = Moving::begin(&nodes, &key, from, to).await;
    assert!(sessions.load(&id).await.unwrap().is_some(), "it is where it was");
    moving.carry(&key).await;
    // A command, a script and a transaction are asked for where the key is now.
    assert_eq!(sessions.load(&id).await.unwrap(), Some(record()));
    to.command::<()>(&["SCRIPT", "FLUSH"]).await;
    assert!(sessions.update(&id, &next(&record()), LONG).await.unwrap());
    assert!(!sessions.update(&id, &next(&record()), LONG).await.unwrap(), "it was run once");
    sessions.create(&id, &record(), LONG).await.unwrap();
    assert_eq!(sessions.load(&id).await.unwrap(), Some(record()));
    assert!(redirects(from).await >= 4);
    moving.end().await;
    assert!(sessions.update(&id, &next(&record()), LONG).await.unwrap());
    eventually("the new layout is known", async || {
        let before = redirects(from).await;
        sessions.load(&id).await.unwrap().is_some() && redirects(from).await == before
    })
    .await;
}

#[tokio::test]
async fn tasks_are_whole_or_busy_while_their_slot_moves() {
    let nodes = Nodes::start(CALM).await;
    let redis = nodes.builder().connect().await.unwrap();
    let (tasks, quota) = (redis.tasks(), TaskQuota::new(2, 2));
    let task = |id: &str| TaskRecord::new(id, Revision::V2026_07_28, LONG);
    for id in ["one", "two"] {
        tasks.create(&task(id), LONG, quota).await.unwrap().unwrap();
    }
    let mut place = None;
    for node in &nodes.primaries {
        let keys = node.keys().await;
        place = place.or(keys.into_iter().find(|key| key.ends_with(":expiry")).map(|key| (node, key)));
    }
    let (from, expiry) = place.expect("the tasks are somewhere");
    let to = nodes.primaries.iter().find(|node| node.port != from.port).unwrap();
    let moving = Moving::begin(&nodes, &expiry, from, to).await;
    moving.carry(&expiry).await;
    // It would be created without the quota where the rest of the tasks is not.
    let begun = Instant::now();
    let error = tasks.create(&task("three"), LONG, quota).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ResourceBusy, "{error}");
    assert!(begun.elapsed() < Duration::from_secs(10));
    let mut done = task("one");
    (done.version, done.status) = (1, TaskStatus::Completed);
    let error = tasks.update(&done).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ResourceBusy, "{error}");
    assert_eq!(tasks.load("one").await.unwrap().unwrap().version, 0, "nothing was done");
    moving.end().await;
    assert!(tasks.create(&task("three"), LONG, quota).await.unwrap().is_err(), "the quota holds");
    assert!(tasks.update(&done).await.unwrap());
    let mut ids: Vec<_> = tasks.list(None).await.unwrap().into_iter().map(|task| task.id).collect();
    ids.sort();
    assert_eq!(ids, ["one", "two"]);
}

/// Counts what it is told.
#[derive(Default)]
struct Heard {
    tools: AtomicUsize,
    all: AtomicUsize,
}

impl ChangeListener for Heard {
    fn changed(&self, change: &Change) {
        match change {
            Change::ToolList => self.tools.fetch_add(1, Ordering::SeqCst),
            Change::All => self.all.fetch_add(1, Ordering::SeqCst),
            _ => 0,
        };
    }
}

impl Heard {
    fn at(redis: &Redis) -> Arc<Self> {
        let heard = Arc::new(Heard::default());
        let weak: Weak<Self> = Arc::downgrade(&heard);
        redis.bus().subscribe(weak);
        heard
    }
}

#[tokio::test]
async fn failover_in_a_cluster_is_followed() {
    let mut nodes = Nodes::start(NERVOUS).await;
    let _replica = nodes.replica_of(&nodes.primaries[0]).await;
    let connect = async || nodes.builder().connect().await.unwrap();
    let (redis, other) = (connect().await, connect().await);
    let safe = nodes.builder().wait_for_replicas(1, Duration::from_secs(1)).connect().await.unwrap();
    let (id, _) = session_on(&redis, &nodes.primaries[0]).await;
    let (elsewhere, _) = session_on(&redis, &nodes.primaries[1]).await;
    // One primary has a replica, the other has none.
    assert!(safe.sessions().update(&id, &next(&record()), LONG).await.unwrap());
    let error = safe.sessions().update(&elsewhere, &next(&record()), LONG).await.unwrap_err();
    assert!(error.to_string().contains("0 of 1 replicas"), "{error}");
    nodes.primaries[0].kill();
    eventually("failover", async || {
        assert!(redis.sessions().load(&elsewhere).await.unwrap().is_some(), "other nodes go on");
        redis.sessions().load(&id).await.is_ok()
    })
    .await;
    assert_eq!(redis.sessions().load(&id).await.unwrap(), Some(next(&record())), "the replica has it");
    let listener = Heard::at(&other);
    eventually("changes", async || {
        redis.bus().publish(&Change::ToolList);
        listener.tools.load(Ordering::SeqCst) > 0
    })
    .await;
}

#[tokio::test]
async fn stopped_node_fails_its_own_slots_only() {
    let nodes = Nodes::start(CALM).await;
    let redis = nodes.builder().response_timeout(Duration::from_secs(2)).connect().await.unwrap();
    let (stuck, _) = session_on(&redis, &nodes.primaries[0]).await;
    let (well, _) = session_on(&redis, &nodes.primaries[1]).await;
    nodes.primaries[0].signal("STOP");
    let error = redis.sessions().load(&stuck).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::NotConnected), "{error}");
    for _ in 0..100 {
        assert_eq!(redis.sessions().load(&well).await.unwrap(), Some(record()));
    }
    nodes.primaries[0].signal("CONT");
    eventually("recovery", async || redis.sessions().load(&stuck).await.is_ok()).await;
    assert_eq!(redis.sessions().load(&stuck).await.unwrap(), Some(record()));
}

#[tokio::test]
async fn cluster_that_is_away_fails_fast_and_comes_back() {
    let mut nodes = Nodes::start(&["--cluster-node-timeout", "3000"]).await;
    let redis = nodes.builder().connect().await.unwrap();
    let (sessions, listener) = (redis.sessions(), Heard::at(&redis));
    let secret = redis.secret("state").await.unwrap();
    nodes.primaries.iter_mut().for_each(Server::kill);
    eventually("the loss is noticed", async || redis.ping().await.is_err()).await;
    for number in 0..100 {
        // Each node is found to be away.
        let _ = sessions.load(&number.to_string()).await;
    }
    let begun = Instant::now();
    for number in 0..1000 {
        let error = sessions.load(&number.to_string()).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotConnected | ErrorKind::ConnectionRefused), "{error}");
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "a thousand failures took {:?}", begun.elapsed());
    let before = listener.all.load(Ordering::SeqCst);
    for node in &mut nodes.primaries {
        node.revive().await;
    }
    eventually("recovery", async || redis.ping().await.is_ok()).await;
    eventually("all nodes", async || {
        let mut loaded = Vec::new();
        for number in 0..20 {
            loaded.push(sessions.load(&number.to_string()).await.is_ok());
        }
        !loaded.contains(&false)
    })
    .await;
    assert!(listener.all.load(Ordering::SeqCst) > before, "changes may have been missed");
    let new = nodes.builder().connect().await.unwrap();
    assert_eq!(
        new.secret("state").await.unwrap(),
        secret,
        "a node that comes back empty is told of it before it is used"
    );
}
