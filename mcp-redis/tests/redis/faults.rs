//! Faults: a server that is slow, away or forgetful, connections that break, records that are not what they were.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mcp_redis::Redis;
use mcp_runtime::protocol::Revision;
use mcp_runtime::store::{SessionRecord, SessionStore as _, TaskQuota, TaskRecord, TaskStore as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::server::{Server, eventually, patient};

const LONG: Duration = Duration::from_secs(10 * 60);

fn record() -> SessionRecord {
    SessionRecord::new(Revision::V2025_06_18)
}

fn next(record: &SessionRecord) -> SessionRecord {
    let mut next = record.clone();
    next.version += 1;
    next
}

#[tokio::test]
async fn slow_server_times_out_and_recovers() {
    let server = Server::start().await;
    let redis = Redis::connect(&server.url()).await.unwrap();
    let sessions = redis.sessions();
    sessions.create("id", &record(), LONG).await.unwrap();
    server.signal("STOP");
    for _ in 0..20 {
        let begun = Instant::now();
        let error = sessions.load("id").await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::NotConnected), "{error}");
        // 500 ms, and what a busy machine adds.
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    }
    server.signal("CONT");
    eventually("recovery", async || sessions.load("id").await.is_ok()).await;
    assert!(sessions.load("id").await.unwrap().is_some());
}

#[tokio::test]
async fn server_that_is_away_fails_fast_and_comes_back() {
    let mut server = Server::start().await;
    let redis = server.connect().await;
    let sessions = redis.sessions();
    server.kill();
    eventually("the loss is noticed", async || redis.ping().await.is_err()).await;
    let begun = Instant::now();
    for _ in 0..1000 {
        let error = sessions.load("id").await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotConnected | ErrorKind::ConnectionRefused), "{error}");
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "a thousand failures took {:?}", begun.elapsed());
    server.revive().await;
    eventually("recovery", async || redis.ping().await.is_ok()).await;
    assert!(sessions.load("id").await.unwrap().is_none(), "an empty server has no sessions");
}

#[tokio::test]
async fn killed_connection_costs_no_read() {
    let server = Server::start().await;
    let redis = server.connect().await;
    redis.sessions().create("id", &record(), LONG).await.unwrap();
    for _ in 0..2 {
        server.command::<i64>(&["CLIENT", "KILL", "TYPE", "pubsub"]).await;
        assert!(redis.sessions().load("id").await.unwrap().is_some());
    }
}

/// A proxy to a port, and its URL. It hangs up instead of forwarding the next command when it is armed.
async fn proxy(port: u16) -> (Arc<AtomicBool>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://{}/", listener.local_addr().unwrap());
    let armed = Arc::new(AtomicBool::new(false));
    let cut = Arc::clone(&armed);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            let cut = Arc::clone(&cut);
            tokio::spawn(async move {
                let (mut question, mut answer) = (vec![0; 1 << 16], vec![0; 1 << 16]);
                loop {
                    tokio::select! {
                        read = client.read(&mut question) => match read {
                            Ok(length @ 1..) if !cut.swap(false, Ordering::SeqCst) => {
                                server.write_all(&question[..length]).await.unwrap();
                            }
                            _ => return,
                        },
                        read = server.read(&mut answer) => match read {
                            Ok(length @ 1..) => client.write_all(&answer[..length]).await.unwrap(),
                            _ => return,
                        },
                    }
                }
            });
        }
    });
    (armed, url)
}

#[tokio::test]
async fn only_what_may_be_repeated_is_repeated() {
    let server = Server::start().await;
    let (armed, url) = proxy(server.port).await;
    let redis = patient(&url).connect().await.unwrap();
    let (sessions, first) = (redis.sessions(), record());
    sessions.create("id", &first, LONG).await.unwrap();
    armed.store(true, Ordering::SeqCst);
    assert!(sessions.load("id").await.unwrap().is_some(), "a read is sent again on the next connection");
    assert!(!armed.load(Ordering::SeqCst), "the connection was cut");
    // It may have been made: a second time would be a conflict with itself.
    armed.store(true, Ordering::SeqCst);
    let error = sessions.update("id", &next(&first), LONG).await.unwrap_err();
    assert!(!matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::Other), "{:?}: {error}", error.kind());
    assert!(sessions.update("id", &next(&first), LONG).await.unwrap());
}

#[tokio::test]
async fn scripts_are_loaded_when_a_connection_is_made() {
    let mut server = Server::start().await;
    let redis = server.connect().await;
    let cached = async |server: &Server| {
        let info: String = server.command(&["INFO", "memory"]).await;
        info.lines().find_map(|line| line.strip_prefix("number_of_cached_scripts:")).unwrap().parse::<usize>().unwrap()
    };
    let loaded = cached(&server).await;
    assert!(loaded > 0);
    server.kill();
    server.revive().await;
    eventually("recovery", async || redis.ping().await.is_ok()).await;
    assert_eq!(cached(&server).await, loaded);
}

#[tokio::test]
async fn secret_survives_a_server_that_comes_back_empty() {
    let mut server = Server::start().await;
    let sealed = || server.builder().seal_key(&[7; 32]);
    let (redis, other) = (sealed().connect().await.unwrap(), sealed().connect().await.unwrap());
    let secret = redis.secret("state").await.unwrap();
    assert_eq!(other.secret("state").await.unwrap(), secret);
    server.kill();
    server.revive().await;
    eventually("recovery", async || redis.ping().await.is_ok() && other.ping().await.is_ok()).await;
    let new = server.builder().seal_key(&[7; 32]).connect().await.unwrap();
    assert_eq!(new.secret("state").await.unwrap(), secret, "a replica that starts agrees with those that run");
}

#[tokio::test]
async fn forgotten_scripts_are_loaded_again() {
    let server = Server::start().await;
    let redis = server.connect().await;
    let (sessions, first) = (redis.sessions(), record());
    sessions.create("id", &first, LONG).await.unwrap();
    server.command::<()>(&["SCRIPT", "FLUSH"]).await;
    assert!(sessions.update("id", &next(&first), LONG).await.unwrap());
    server.command::<()>(&["SCRIPT", "FLUSH"]).await;
    let task = TaskRecord::new("task", Revision::V2026_07_28, LONG);
    assert_eq!(redis.tasks().create(&task, LONG, TaskQuota::UNLIMITED).await.unwrap(), Ok(()));
}

#[tokio::test]
async fn corrupt_records_are_told_from_a_server_that_is_away() {
    let server = Server::start().await;
    let connect = async |key: u8| server.builder().seal_key(&[key; 32]).connect().await.unwrap();
    let (redis, stranger, plain) = (connect(1).await, connect(2).await, server.connect().await);
    for id in ["one", "two"] {
        redis.sessions().create(id, &record(), LONG).await.unwrap();
    }
    let kind = async |redis: &Redis, id| redis.sessions().load(id).await.unwrap_err().kind();
    assert_eq!(kind(&stranger, "one").await, ErrorKind::InvalidData);
    assert_eq!(kind(&plain, "one").await, ErrorKind::InvalidData);
    // The record of one session at the place of another.
    let keys = server.keys().await;
    let stored: Vec<u8> = server.command(&["HGET", &keys[0], "r"]).await;
    let mut copy = redis::cmd("HSET");
    let client = redis::Client::open(server.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    copy.arg(&keys[1]).arg("r").arg(stored).exec_async(&mut connection).await.unwrap();
    let loaded = [redis.sessions().load("one").await, redis.sessions().load("two").await];
    let failed: Vec<_> = loaded.iter().filter_map(|loaded| loaded.as_ref().err()).collect();
    assert!(failed.len() == 1 && failed[0].kind() == ErrorKind::InvalidData, "{loaded:?}");
    plain.sessions().create("three", &record(), LONG).await.unwrap();
    assert_eq!(kind(&redis, "three").await, ErrorKind::InvalidData, "a record without a seal is not trusted");
}

#[tokio::test]
async fn full_server_says_so() {
    let server = Server::with(&["--maxmemory", "1", "--maxmemory-policy", "noeviction"]).await;
    let redis = server.connect().await;
    let error = redis.sessions().create("id", &record(), LONG).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
}
