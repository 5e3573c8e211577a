//! What an operation costs: the times that something is sent and answered, counted by a proxy.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::protocol::Revision;
use mcp_runtime::store::{
    EventStore as _, Inbox as _, LeaseStore as _, SessionRecord, SessionStore as _, TaskQuota, TaskRecord, TaskStatus,
    TaskStore as _,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::server::{Server, patient};

const TTL: Duration = Duration::from_secs(10 * 60);

/// Counts the times that a client sends something after it got an answer.
#[derive(Default)]
struct Counter {
    trips: AtomicUsize,
    answered: AtomicBool,
}

impl Counter {
    /// A proxy to a port that counts, and its URL.
    async fn before(port: u16) -> (Arc<Self>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("redis://{}/", listener.local_addr().unwrap());
        let counter = Arc::new(Counter { trips: AtomicUsize::new(0), answered: AtomicBool::new(true) });
        let counting = Arc::clone(&counter);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                let counting = Arc::clone(&counting);
                tokio::spawn(async move { counting.forward(client, server).await });
            }
        });
        (counter, url)
    }

    async fn forward(&self, mut client: TcpStream, mut server: TcpStream) {
        let (mut question, mut answer) = (vec![0; 1 << 16], vec![0; 1 << 16]);
        loop {
            tokio::select! {
                read = client.read(&mut question) => match read {
                    Ok(length @ 1..) => {
                        if self.answered.swap(false, Ordering::SeqCst) {
                            self.trips.fetch_add(1, Ordering::SeqCst);
                        }
                        server.write_all(&question[..length]).await.unwrap();
                    }
                    _ => return,
                },
                read = server.read(&mut answer) => match read {
                    Ok(length @ 1..) => {
                        self.answered.store(true, Ordering::SeqCst);
                        client.write_all(&answer[..length]).await.unwrap();
                    }
                    _ => return,
                },
            }
        }
    }

    /// Asserts that each of three runs is this many round trips; the fewest count, because the connection is also asked
    /// every few seconds whether it is there.
    async fn costs<T: std::fmt::Debug>(
        &self,
        trips: usize,
        what: &str,
        run: impl AsyncFn(usize) -> std::io::Result<T>,
    ) {
        let mut fewest = usize::MAX;
        for number in 0..3 {
            let before = self.trips.load(Ordering::SeqCst);
            run(number).await.unwrap();
            fewest = fewest.min(self.trips.load(Ordering::SeqCst) - before);
        }
        assert_eq!(fewest, trips, "{what}");
    }
}

#[tokio::test]
async fn operations_of_sessions_events_and_inboxes_are_one_round_trip() {
    let server = Server::start().await;
    let (counter, url) = Counter::before(server.port).await;
    let redis = patient(&url).seal_key(&[7; 32]).connect().await.unwrap();
    let (sessions, events) = (redis.sessions(), redis.events());
    let version = |number: usize| {
        let mut record = SessionRecord::new(Revision::V2025_06_18);
        record.version = number as u64;
        record
    };
    counter.costs(1, "create session", async |_| sessions.create("id", &version(0), TTL).await).await;
    counter.costs(1, "load session", async |_| sessions.load("id").await).await;
    counter.costs(1, "touch session", async |_| sessions.touch("id", TTL).await).await;
    let update = async |number| sessions.update("id", &version(number + 1), TTL).await.map(|made| assert!(made));
    counter.costs(1, "update session", update).await;
    counter.costs(1, "remove session", async |_| sessions.remove("id").await).await;
    counter.costs(0, "impossible update", async |_| sessions.update("id", &version(0), TTL).await).await;

    counter.costs(1, "open stream", async |_| events.open("s", "head", TTL).await).await;
    counter.costs(1, "touch stream", async |_| events.touch("s", TTL).await).await;
    let append = async |number: usize| events.append("s", number as u64 + 1, b"event", 1).await;
    counter.costs(1, "append", append).await;
    counter
        .costs(1, "read", async |_| {
            events.read_after("s", 1).await.map(|tail| assert_eq!(tail.unwrap().events.len(), 2))
        })
        .await;
    counter.costs(1, "close", async |_| events.close("s").await).await;
    counter.costs(1, "wake", async |_| events.wake("s").await).await;
    let leases = redis.leases();
    counter.costs(1, "acquire lease", async |_| leases.acquire("l", "me", None, TTL).await).await;
    counter.costs(1, "holder of lease", async |_| leases.holder("l").await).await;
    counter.costs(1, "release lease", async |_| leases.release("l", "me").await).await;
    counter.costs(1, "remove stream", async |_| events.remove("s").await).await;

    let inbox = redis.inbox();
    counter.costs(1, "push", async |_| inbox.push("id", b"message", TTL).await).await;
    let long = vec![b'x'; 700_000];
    counter.costs(1, "push that drops", async |_| inbox.push("id", &long, TTL).await).await;
    let read = async |_| inbox.read_after("id", 0).await.map(|messages| assert_eq!(messages.len(), 1));
    counter.costs(1, "read inbox", read).await;
}

#[tokio::test]
async fn operations_of_tasks_are_one_round_trip() {
    let server = Server::start().await;
    let (counter, url) = Counter::before(server.port).await;
    let redis = patient(&url).connect().await.unwrap();
    let tasks = redis.tasks();
    let task = |number: usize| TaskRecord::new(number.to_string(), Revision::V2026_07_28, TTL);
    let create = async |number| tasks.create(&task(number), TTL, TaskQuota::new(9, 9)).await.map(Result::unwrap);
    counter.costs(1, "create task", create).await;
    counter
        .costs(1, "load task", async |number: usize| tasks.load(&number.to_string()).await.map(Option::unwrap))
        .await;
    let finish = async |number| {
        let mut done = task(number);
        (done.version, done.status) = (1, TaskStatus::Completed);
        tasks.update(&done).await.map(|made| assert!(made))
    };
    counter.costs(1, "update task", finish).await;
    counter.costs(1, "list tasks", async |_| tasks.list(None).await).await;
    let evict =
        async |number: usize| tasks.create(&task(number + 3), TTL, TaskQuota::new(3, 9)).await.map(Result::unwrap);
    counter.costs(1, "create task that evicts another", evict).await;
    counter.costs(0, "sweep", async |_| tasks.sweep().await).await;
    counter.costs(1, "secret", async |_| redis.secret("state").await).await;
    counter.costs(1, "ping", async |_| redis.ping().await).await;
}

#[tokio::test]
async fn writes_that_wait_for_a_replica_are_one_round_trip() {
    let (primary, _replica) = crate::replication::pair().await;
    let (counter, url) = Counter::before(primary.port).await;
    let redis = patient(&url).wait_for_replicas(1, Duration::from_secs(5)).connect().await.unwrap();
    let (sessions, tasks, record) = (redis.sessions(), redis.tasks(), SessionRecord::new(Revision::V2025_06_18));
    counter.costs(1, "create session", async |_| sessions.create("id", &record, TTL).await).await;
    counter.costs(1, "load session", async |_| sessions.load("id").await).await;
    counter.costs(1, "remove session", async |_| sessions.remove("id").await).await;
    let task = |number: usize| TaskRecord::new(number.to_string(), Revision::V2026_07_28, TTL);
    let create = async |number| tasks.create(&task(number), TTL, TaskQuota::UNLIMITED).await.map(Result::unwrap);
    counter.costs(1, "create task", create).await;
}
