//! The keys in the database: no id is in a name, and all but secrets expire.

use std::time::Duration;

use mcp_redis::Redis;
use mcp_runtime::protocol::Revision;
use mcp_runtime::store::{
    EventStore as _, Inbox as _, LeaseStore as _, SessionRecord, SessionStore as _, TaskQuota, TaskRecord, TaskStatus,
    TaskStore as _,
};

use crate::server::Server;

const TTL: Duration = Duration::from_secs(10 * 60);

fn task(id: &str) -> TaskRecord {
    let mut task = TaskRecord::new(id, Revision::V2026_07_28, TTL);
    (task.owner, task.account) = (Some("owner-id".into()), Some("account-id".into()));
    task
}

/// Uses every store.
pub(crate) async fn fill(redis: &Redis) {
    redis.sessions().create("session-id", &SessionRecord::new(Revision::V2025_06_18), TTL).await.unwrap();
    let events = redis.events();
    events.open("stream-id", "head-id", TTL).await.unwrap();
    events.append("stream-id", 1, b"data-id", 1).await.unwrap();
    redis.inbox().push("inbox-id", b"message-id", TTL).await.unwrap();
    redis.leases().acquire("lease-id", "holder", None, TTL).await.unwrap();
    let (tasks, mut running) = (redis.tasks(), task("task-id"));
    tasks.create(&running, TTL, TaskQuota::new(9, 9)).await.unwrap().unwrap();
    tasks.create(&task("another-id"), TTL / 2, TaskQuota::new(9, 9)).await.unwrap().unwrap();
    (running.version, running.status) = (1, TaskStatus::Completed);
    assert!(tasks.update(&running).await.unwrap());
    redis.secret("secret-id").await.unwrap();
}

#[tokio::test]
async fn names_of_keys_have_no_ids() {
    let server = Server::start().await;
    fill(&server.builder().prefix("notes").connect().await.unwrap()).await;
    let keys = server.keys().await;
    assert!(keys.len() >= 12, "{keys:?}");
    for key in &keys {
        assert!(!key.contains("-id") && key.starts_with("notes:"), "{key}");
    }
}

#[tokio::test]
async fn all_keys_but_secrets_expire() {
    let server = Server::start().await;
    fill(&server.connect().await).await;
    for key in server.keys().await {
        let left: i64 = server.command(&["PTTL", &key]).await;
        let longest = i64::try_from(TTL.as_millis()).unwrap();
        let is_secret = key.starts_with("mcp:secret:");
        assert!(if is_secret { left == -1 } else { (1..=longest).contains(&left) }, "{key}: {left}");
    }
}

#[tokio::test]
async fn sealed_database_tells_nothing() {
    let server = Server::start().await;
    fill(&server.builder().seal_key(&[7; 32]).connect().await.unwrap()).await;
    for key in server.keys().await {
        let dump: Vec<u8> = server.command(&["DUMP", &key]).await;
        let text = String::from_utf8_lossy(&dump);
        for word in ["-id", "version", "working", "2025-06-18"] {
            assert!(!text.contains(word), "{key} tells {word}");
        }
    }
}

/// One that is sealed with a key that this replica does not have is left out, and keeps no other one from being taken.
#[tokio::test]
async fn tasks_that_cannot_be_read_are_left_out() {
    let server = Server::start().await;
    for (key, id) in [([7; 32], "theirs"), ([8; 32], "ours")] {
        let redis = server.builder().seal_key(&key).connect().await.unwrap();
        let mut task = task(id);
        task.replica = Some("dead".into());
        redis.tasks().create(&task, TTL, TaskQuota::new(9, 9)).await.unwrap().unwrap();
    }
    let redis = server.builder().seal_key(&[8; 32]).connect().await.unwrap();
    let ids = |tasks: Vec<TaskRecord>| tasks.into_iter().map(|task| task.id).collect::<Vec<_>>();
    assert_eq!(ids(redis.tasks().held_by("dead", 9).await.unwrap()), ["ours"]);
    assert_eq!(ids(redis.tasks().list(Some("owner-id")).await.unwrap()), ["ours"]);
    assert!(redis.tasks().load("theirs").await.is_err());
}

#[tokio::test]
async fn expired_tasks_leave_nothing_behind() {
    let server = Server::start().await;
    let (redis, short) = (server.connect().await, Duration::from_millis(300));
    for number in 0..20 {
        let mut task = task(&number.to_string());
        task.account = Some(format!("account {}", number % 3));
        redis.tasks().create(&task, short, TaskQuota::UNLIMITED).await.unwrap().unwrap();
    }
    tokio::time::sleep(short * 2).await;
    assert_eq!(server.keys().await, Vec::<String>::new());
    // And not before all of them: indexes live as long as the longest.
    redis.tasks().create(&task("long"), TTL, TaskQuota::UNLIMITED).await.unwrap().unwrap();
    redis.tasks().create(&task("short"), short, TaskQuota::UNLIMITED).await.unwrap().unwrap();
    tokio::time::sleep(short * 2).await;
    let listed = redis.tasks().list(Some("owner-id")).await.unwrap();
    assert!(listed.len() == 1 && listed[0].id == "long", "{listed:?}");
    let refused = redis.tasks().create(&task("third"), TTL, TaskQuota::new(9, 1)).await.unwrap();
    assert!(refused.is_err(), "the long one counts still");
}

#[tokio::test]
async fn tasks_survive_lost_indexes() {
    let server = Server::start().await;
    let redis = server.connect().await;
    let tasks = redis.tasks();
    fill(&redis).await;
    let is_index = |key: &String| key.starts_with("mcp:tasks:") && !key.contains(":task:");
    for lost in server.keys().await.into_iter().filter(is_index) {
        fill(&redis).await;
        server.command::<i64>(&["DEL", &lost]).await;
        let mut running = tasks.load("another-id").await.unwrap().unwrap();
        (running.version, running.status) = (running.version + 1, TaskStatus::Completed);
        assert!(tasks.update(&running).await.unwrap(), "update without {lost}");
        for number in 0..12 {
            // It may be refused, but it does not fail.
            let _ = tasks.create(&task(&number.to_string()), TTL, TaskQuota::new(3, 2)).await.unwrap();
        }
        tasks.list(Some("owner-id")).await.unwrap();
        for key in server.keys().await {
            assert!(key.contains(":secret:") || server.command::<i64>(&["PTTL", &key]).await > 0, "{key} stays");
        }
        server.command::<()>(&["FLUSHALL"]).await;
    }
}
