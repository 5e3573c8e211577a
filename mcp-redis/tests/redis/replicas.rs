//! Two handles as two replicas: what one publishes, and what the other hears of it.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use mcp_redis::{Redis, RedisBuilder};
use mcp_runtime::store::{Change, ChangeBus as _, ChangeListener, EventStore as _, EventWatch, LeaseStore as _};

use crate::server::{SOON, Server, eventually, patient};

/// Records what it is told.
#[derive(Default)]
struct Recorder(Mutex<Vec<Change>>);

impl ChangeListener for Recorder {
    fn changed(&self, change: &Change) {
        self.0.lock().unwrap().push(change.clone());
    }
}

impl Recorder {
    fn at(redis: &Redis) -> Arc<Self> {
        let recorder = Arc::new(Recorder::default());
        let weak: Weak<Self> = Arc::downgrade(&recorder);
        redis.bus().subscribe(weak);
        recorder
    }

    fn heard(&self) -> Vec<Change> {
        self.0.lock().unwrap().clone()
    }

    async fn hears(&self, change: &Change) {
        eventually(&format!("hearing of {change:?}"), async || self.heard().contains(change)).await;
    }
}

fn updated(name: impl std::fmt::Display) -> Change {
    Change::ResourceUpdated(format!("note://{name}"))
}

async fn pair(server: &Server) -> (Redis, Redis) {
    (server.connect().await, server.connect().await)
}

#[tokio::test]
async fn change_reaches_every_replica_once() {
    let server = Server::start().await;
    for key in [None, Some([7; 32])] {
        let connect = async || {
            let builder = server.builder();
            key.iter().fold(builder, RedisBuilder::seal_key).connect().await.unwrap()
        };
        let (one, other) = (connect().await, connect().await);
        let (near, far) = (Recorder::at(&one), Recorder::at(&other));
        let all = [
            Change::ToolList,
            Change::PromptList,
            Change::ResourceList,
            updated("ü \"?"),
            Change::Task("a task".into()),
            Change::SessionEnded("a digest".into()),
            Change::SessionMessage("a digest".into(), u64::MAX),
            Change::All,
        ];
        for change in &all {
            one.bus().publish(change);
        }
        assert_eq!(near.heard(), all, "the publisher's own listeners, at once");
        far.hears(&Change::All).await;
        assert_eq!(far.heard(), all);
        // An echo would arrive before the answer of the other replica.
        other.bus().publish(&updated("answer"));
        near.hears(&updated("answer")).await;
        assert_eq!(near.heard().len(), all.len() + 1, "an echo: {:?}", near.heard());
        assert_eq!(far.heard().len(), all.len() + 1);
    }
}

#[tokio::test]
async fn applications_do_not_hear_each_other() {
    let server = Server::start().await;
    let connect = async |url: &str, prefix: &str| patient(url).prefix(prefix).connect().await.unwrap();
    let (one, same) = (connect(&server.url(), "one").await, connect(&server.url(), "one").await);
    let (other, database) =
        (connect(&server.url(), "other").await, connect(&format!("{}1", server.url()), "one").await);
    let [heard, deaf, distant] = [&same, &other, &database].map(Recorder::at);
    one.bus().publish(&Change::ToolList);
    heard.hears(&Change::ToolList).await;
    for redis in [&other, &database] {
        // The order of messages on one server: this one comes after.
        redis.bus().publish(&Change::PromptList);
        redis.ping().await.unwrap();
    }
    assert_eq!((deaf.heard(), distant.heard()), (vec![Change::PromptList], vec![Change::PromptList]));
}

/// Lets changes be missed, and returns when the other replica listens again.
async fn misses(server: &Server, one: &Redis, other: &Redis, lose: impl AsyncFnOnce()) {
    let (near, far) = (Recorder::at(one), Recorder::at(other));
    lose().await;
    for listener in [&near, &far] {
        listener.hears(&Change::All).await;
    }
    one.bus().publish(&updated("later"));
    far.hears(&updated("later")).await;
    let clients: String = server.command(&["CLIENT", "LIST"]).await;
    assert!(clients.lines().count() <= 3, "connections pile up: {clients}");
}

#[tokio::test]
async fn listeners_look_again_after_a_killed_connection() {
    let server = Server::start().await;
    let (one, other) = pair(&server).await;
    misses(&server, &one, &other, async || {
        server.command::<i64>(&["CLIENT", "KILL", "TYPE", "pubsub"]).await;
    })
    .await;
}

#[tokio::test]
async fn listeners_look_again_after_a_restart() {
    let mut server = Server::start().await;
    let (one, other) = pair(&server).await;
    let (near, far) = (Recorder::at(&one), Recorder::at(&other));
    server.kill();
    // Published while there is no server: kept, and told when there is one.
    one.bus().publish(&updated("meanwhile"));
    tokio::time::sleep(Duration::from_millis(100)).await;
    server.revive().await;
    for listener in [&near, &far] {
        listener.hears(&Change::All).await;
    }
    misses(&server, &one, &other, async || {
        server.command::<i64>(&["CLIENT", "KILL", "TYPE", "pubsub"]).await;
    })
    .await;
}

#[tokio::test]
async fn equal_changes_are_coalesced_and_too_many_are_all() {
    let server = Server::start().await;
    let (one, other) = pair(&server).await;
    let far = Recorder::at(&other);
    // Nothing is sent before this task waits.
    for _ in 0..100 {
        one.bus().publish(&Change::ToolList);
    }
    one.bus().publish(&updated("end"));
    far.hears(&updated("end")).await;
    assert_eq!(far.heard(), [Change::ToolList, updated("end")]);

    for number in 0..5000 {
        one.bus().publish(&updated(number));
    }
    far.hears(&Change::All).await;
    assert_eq!(far.heard().len(), 3, "{:?}", far.heard());
    one.bus().publish(&updated("after"));
    far.hears(&updated("after")).await;
}

#[tokio::test]
async fn replicas_agree_on_a_secret() {
    let server = Server::start().await;
    let sealed = async || server.builder().prefix("sealed").seal_key(&[7; 32]).connect().await.unwrap();
    for (one, other) in [pair(&server).await, (sealed().await, sealed().await)] {
        let (first, second) = tokio::join!(one.secret("state"), other.secret("state"));
        let first = first.unwrap();
        assert_eq!(first, second.unwrap());
        assert_eq!(first, one.secret("state").await.unwrap());
        assert_ne!(first, one.secret("another").await.unwrap());
    }
    let stranger = server.builder().prefix("sealed").seal_key(&[8; 32]).connect().await.unwrap();
    assert_eq!(stranger.secret("state").await.unwrap_err().kind(), std::io::ErrorKind::InvalidData);
}

/// Waits for a hint, and then until no more come.
async fn is_told(watch: &EventWatch) {
    tokio::time::timeout(SOON, watch.changed()).await.expect("no hint");
    settles(watch).await;
}

async fn settles(watch: &EventWatch) {
    while tokio::time::timeout(Duration::from_millis(300), watch.changed()).await.is_ok() {}
}

/// The channels somebody is subscribed to, but that of changes.
async fn channels(server: &Server) -> Vec<String> {
    let all: Vec<String> = server.command(&["PUBSUB", "CHANNELS"]).await;
    all.into_iter().filter(|channel| !channel.contains(":changes:")).collect()
}

#[tokio::test]
async fn readers_at_other_replicas_are_told_of_events() {
    let server = Server::start().await;
    let (one, other) = pair(&server).await;
    let (writer, reader, ttl) = (one.events(), other.events(), Duration::from_secs(60));
    for stream in ["read", "unread"] {
        writer.touch(stream, ttl).await.unwrap();
    }
    assert!(channels(&server).await.is_empty());
    let watch = reader.watch("read");
    is_told(&watch).await;
    let subscribed = channels(&server).await;
    assert!(subscribed.len() == 1 && !subscribed[0].ends_with("read"), "{subscribed:?}");
    writer.append("read", 1, b"event", 1).await.unwrap();
    is_told(&watch).await;
    writer.append("unread", 1, b"event", 1).await.unwrap();
    let hint = tokio::time::timeout(Duration::from_millis(300), watch.changed()).await;
    assert!(hint.is_err(), "told of another stream");
    // After a lost connection, hints may have been missed, and come again.
    server.command::<i64>(&["CLIENT", "KILL", "TYPE", "pubsub"]).await;
    is_told(&watch).await;
    writer.close("read").await.unwrap();
    is_told(&watch).await;
    drop(watch);
    eventually("unsubscribing", async || channels(&server).await.is_empty()).await;
}

#[tokio::test]
async fn lease_of_a_replica_that_died_is_free_at_another() {
    let server = Server::start().await;
    let (one, other) = pair(&server).await;
    let (ttl, long) = (Duration::from_secs(2), Duration::from_secs(60));
    assert_eq!(one.leases().acquire("stream", "one", None, ttl).await.unwrap(), "one");
    assert_eq!(other.leases().acquire("stream", "other", None, long).await.unwrap(), "one");
    drop(one);
    let leases = other.leases();
    eventually("the lease is free", async || leases.acquire("stream", "other", None, long).await.unwrap() == "other")
        .await;
}

#[tokio::test]
async fn wake_reaches_a_watch_at_another_replica() {
    let server = Server::start().await;
    let (one, other) = pair(&server).await;
    let watch = other.events().watch("a name");
    is_told(&watch).await;
    one.events().wake("a name").await.unwrap();
    is_told(&watch).await;
}
