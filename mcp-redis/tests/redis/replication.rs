//! Writes that wait for replicas of Redis: against a primary with one, and with none that answers.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use mcp_redis::Redis;
use mcp_runtime::protocol::Revision;
use mcp_runtime::store::{SessionRecord, SessionStore as _, TaskQuota, TaskRecord, TaskStore as _};
use mcp_runtime::testing::contract;

use crate::server::{SOON, Server, eventually};

const TTL: Duration = Duration::from_secs(10 * 60);

fn record() -> SessionRecord {
    SessionRecord::new(Revision::V2025_06_18)
}

/// A primary and a replica that follows it.
pub(crate) async fn pair() -> (Server, Server) {
    let primary = Server::start().await;
    let replica = Server::with(&["--replicaof", "127.0.0.1", &primary.port.to_string()]).await;
    let follows = async || replica.command::<String>(&["INFO", "replication"]).await.contains("master_link_status:up");
    eventually("replication", follows).await;
    (primary, replica)
}

async fn waiting(server: &Server, replicas: u32, timeout: Duration) -> Redis {
    server.builder().wait_for_replicas(replicas, timeout).connect().await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_that_wait_keep_the_contracts() {
    let (primary, _replica) = pair().await;
    let redis = waiting(&primary, 1, SOON / 4).await;
    contract::sessions(|| (*redis.sessions()).clone()).await;
    contract::tasks(|| (*redis.tasks()).clone()).await;
}

/// The number of keys of the replica, which it has even if the primary dies now.
async fn keys(replica: &Server) -> i64 {
    replica.command(&["DBSIZE"]).await
}

#[tokio::test]
async fn writes_are_at_the_replica_when_they_are_done() {
    let (primary, replica) = pair().await;
    let redis = waiting(&primary, 1, SOON / 4).await;
    for number in 1..=20 {
        redis.sessions().create(&format!("id {number}"), &record(), TTL).await.unwrap();
        assert_eq!(keys(&replica).await, number);
    }
    let before = keys(&replica).await;
    let task = TaskRecord::new("task", Revision::V2026_07_28, TTL);
    redis.tasks().create(&task, TTL, TaskQuota::UNLIMITED).await.unwrap().unwrap();
    assert!(keys(&replica).await > before);
}

#[tokio::test]
async fn too_few_replicas_are_an_error_and_reads_go_on() {
    let (primary, replica) = pair().await;
    let redis = waiting(&primary, 2, Duration::from_millis(50)).await;
    let error = redis.sessions().create("id", &record(), TTL).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    assert!(error.to_string().contains("of 2 replicas have a write after 50ms"), "{error}");
    assert!(redis.sessions().load("id").await.unwrap().is_some(), "the primary has it");
    // One replica is enough for another handle, until it stands still.
    let redis = waiting(&primary, 1, SOON / 10).await;
    redis.sessions().create("id", &record(), TTL).await.unwrap();
    replica.signal("STOP");
    let error = redis.sessions().create("other", &record(), TTL).await.unwrap_err();
    assert!(error.to_string().contains("0 of 1 replicas"), "{error}");
    replica.signal("CONT");
    eventually("recovery", async || redis.sessions().create("other", &record(), TTL).await.is_ok()).await;
}

#[tokio::test]
async fn writes_share_a_wait_and_reads_do_not_stand_behind_them() {
    let (primary, replica) = pair().await;
    let timeout = SOON / 8;
    let redis = waiting(&primary, 1, timeout).await;
    redis.sessions().create("id", &record(), TTL).await.unwrap();
    replica.signal("STOP");
    let begun = Instant::now();
    let writes: Vec<_> = (0..50)
        .map(|number| {
            let sessions = redis.sessions();
            tokio::spawn(async move { sessions.create(&number.to_string(), &record(), TTL).await })
        })
        .collect();
    tokio::task::yield_now().await;
    assert!(redis.sessions().load("id").await.unwrap().is_some());
    assert!(begun.elapsed() < timeout, "a read waits for a write: {:?}", begun.elapsed());
    for write in writes {
        assert_eq!(write.await.unwrap().unwrap_err().kind(), ErrorKind::TimedOut);
    }
    assert!(begun.elapsed() < timeout * 4, "fifty writes wait one after the other: {:?}", begun.elapsed());
    replica.signal("CONT");
}

#[tokio::test]
async fn forgotten_scripts_and_lost_connections_are_mended() {
    let (primary, _replica) = pair().await;
    let redis = waiting(&primary, 1, SOON / 4).await;
    let (sessions, mut next) = (redis.sessions(), record());
    sessions.create("id", &next, TTL).await.unwrap();
    primary.command::<()>(&["SCRIPT", "FLUSH"]).await;
    next.version = 1;
    assert!(sessions.update("id", &next, TTL).await.unwrap());
    primary.command::<i64>(&["CLIENT", "KILL", "TYPE", "normal"]).await;
    sessions.create("id", &record(), TTL).await.unwrap();
    let error = {
        primary.command::<()>(&["CONFIG", "SET", "maxmemory", "1"]).await;
        sessions.create("other", &record(), TTL).await.unwrap_err()
    };
    assert_eq!(error.kind(), ErrorKind::StorageFull, "a transaction says why it fails: {error}");
}
