//! Sentinel: after a failover, the promoted replica is used.

use std::io::ErrorKind;
use std::time::Duration;

use mcp_runtime::protocol::Revision;
use mcp_runtime::store::{SessionRecord, SessionStore as _};

use crate::server::{Server, eventually, free_port, patient};

const LONG: Duration = Duration::from_secs(10 * 60);

#[tokio::test]
async fn failover_is_followed() {
    let mut primary = Server::start().await;
    let _replica = Server::with(&["--replicaof", "127.0.0.1", &primary.port.to_string()]).await;
    let sentinel = Server::sentinel(&primary).await;
    // One of the Sentinels is away.
    let url = format!("redis+sentinel://127.0.0.1:{},127.0.0.1:{}/notes", free_port(), sentinel.port);
    let redis = patient(&url).connect().await.unwrap();
    let (sessions, mut record) = (redis.sessions(), SessionRecord::new(Revision::V2025_06_18));
    eventually("replication", async || {
        sessions.create("id", &record, LONG).await.unwrap();
        primary.command::<i64>(&["WAIT", "1", "100"]).await == 1
    })
    .await;
    // A Sentinel finds replicas by asking the primary.
    let knows = async || sentinel.command::<Vec<redis::Value>>(&["SENTINEL", "REPLICAS", "notes"]).await.len() == 1;
    eventually("the Sentinel knows the replica", knows).await;
    primary.kill();
    record.version = 1;
    eventually("failover", async || sessions.update("id", &record, LONG).await.is_ok_and(|made| made)).await;
    assert_eq!(sessions.load("id").await.unwrap(), Some(record));
}

#[tokio::test]
async fn unknown_primary_is_told() {
    let primary = Server::start().await;
    let sentinel = Server::sentinel(&primary).await;
    let error = patient("redis://other/").sentinels([sentinel.url()]).connect().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotConnected, "{error}");
    assert!(error.to_string().contains("correct the name"), "{error}");
}

#[tokio::test]
async fn replica_is_not_taken_for_the_primary() {
    let primary = Server::start().await;
    let replica = Server::with(&["--replicaof", "127.0.0.1", &primary.port.to_string()]).await;
    // The link between them is up, so that it would serve reads.
    eventually("replication", async || {
        replica.command::<String>(&["INFO", "replication"]).await.contains("master_link_status:up")
    })
    .await;
    let error = patient(&replica.url()).connect().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotConnected, "{error}");
    assert!(error.to_string().contains("connect to the primary"), "{error}");
}
