//! `max_concurrent`: how many calls of a handler run at once, and what becomes of the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use mcp_runtime::Revision;
use mcp_runtime::layers::{Call, Next, Outcome};
use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use mcp_tests::http::{soon, until};
use tokio::sync::Semaphore;

/// Handlers that run until they are let go.
struct Doors {
    open: Semaphore,
    unblocked: AtomicBool,
    begun: AtomicUsize,
    running: AtomicUsize,
    most: AtomicUsize,
}

impl Default for Doors {
    fn default() -> Self {
        let (open, unblocked) = (Semaphore::new(0), AtomicBool::new(false));
        Doors { open, unblocked, begun: AtomicUsize::new(0), running: AtomicUsize::new(0), most: AtomicUsize::new(0) }
    }
}

struct Running<'a>(&'a Doors);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}

impl Doors {
    fn begin(&self) -> Running<'_> {
        self.begun.fetch_add(1, SeqCst);
        self.most.fetch_max(self.running.fetch_add(1, SeqCst) + 1, SeqCst);
        Running(self)
    }

    fn begun(&self) -> usize {
        self.begun.load(SeqCst)
    }
}

#[handlers]
impl Doors {
    /// Wait until somebody opens.
    #[tool(max_concurrent = 2)]
    async fn wait(&self) {
        let _running = self.begin();
        self.open.acquire().await.unwrap().forget();
    }

    /// Block until somebody opens.
    #[tool(blocking, max_concurrent = 2)]
    fn block(&self) {
        let _running = self.begin();
        while !self.unblocked.load(SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Block for longer than anybody waits.
    #[tool(blocking, max_concurrent = 1, timeout = "30ms")]
    fn overdue(&self) {
        self.block();
    }

    /// The same, inside of a layer.
    #[tool(blocking, max_concurrent = 1, timeout = "30ms", layer = through)]
    fn layered(&self) {
        self.block();
    }

    /// Wait, not often.
    #[tool(max_concurrent = 1, rate = "20/h")]
    async fn seldom(&self) {
        self.wait().await;
    }

    /// Wait, and panic.
    #[tool(max_concurrent = 1)]
    async fn panics(&self) {
        self.wait().await;
        panic!("on purpose");
    }

    /// Wait, as a task.
    #[tool(task = "required", max_concurrent = 1)]
    async fn job(&self) {
        self.wait().await;
    }
}

async fn through(call: Call, next: Next) -> Outcome {
    next.run(call).await
}

async fn connect(revision: Revision) -> (TestClient, Arc<Doors>) {
    let doors = Arc::new(Doors::default());
    let server = Server::new("doors", "1.0.0").mount(Arc::clone(&doors));
    (TestClient::builder(server).revision(revision).tasks().connect().await.unwrap(), doors)
}

#[tokio::test]
async fn only_so_many_run_at_once_and_the_others_wait() {
    for revision in Revision::ALL {
        let (client, doors) = connect(*revision).await;
        let calls: Vec<_> = (0..6).map(|_| client.start("wait", json!({})).unwrap()).collect();
        for begun in 2..=6 {
            until(|| doors.begun() == begun).await;
            doors.open.add_permits(1);
        }
        doors.open.add_permits(1);
        for call in calls {
            assert!(!call.result().await.unwrap().is_error());
        }
        assert_eq!((doors.most.load(SeqCst), doors.running.load(SeqCst)), (2, 0), "{revision}");
    }
}

#[tokio::test]
async fn blocking_handlers_wait_for_their_turn() {
    let (client, doors) = connect(Revision::LATEST).await;
    let calls: Vec<_> = (0..6).map(|_| client.start("block", json!({})).unwrap()).collect();
    until(|| doors.begun() == 2).await;
    doors.unblocked.store(true, SeqCst);
    for call in calls {
        assert!(!call.result().await.unwrap().is_error());
    }
    assert_eq!((doors.begun(), doors.most.load(SeqCst)), (6, 2));
}

#[tokio::test]
async fn cancelled_call_leaves_the_queue() {
    let (client, doors) = connect(Revision::LATEST).await;
    let first = [client.start("wait", json!({})).unwrap(), client.start("wait", json!({})).unwrap()];
    let cancelled: Vec<_> = (0..20).map(|_| client.start("wait", json!({})).unwrap()).collect();
    until(|| doors.begun() == 2).await;
    for call in cancelled {
        call.cancel().unwrap();
    }
    // An answer, so that the server has read all that came before.
    client.list_tools().await.unwrap();
    let last = client.start("wait", json!({})).unwrap();
    doors.open.add_permits(3);
    for call in first.into_iter().chain([last]) {
        assert!(!call.result().await.unwrap().is_error());
    }
    assert_eq!(doors.begun(), 3, "what was cancelled never ran");
}

#[tokio::test]
async fn call_beyond_the_queue_is_refused() {
    let (client, doors) = connect(Revision::LATEST).await;
    let calls: Vec<_> = (0..34).map(|_| client.start("wait", json!({})).unwrap()).collect();
    let error = client.call("wait", json!({})).await.unwrap_err();
    assert_eq!((error.code(), error.data()), (Some(-32000), Some(&json!({"retryAfterMs": 1000}))));
    assert!(error.to_string().contains("this tool runs 2 of them"), "{error}");
    doors.open.add_permits(34);
    for call in calls {
        assert!(!call.result().await.unwrap().is_error());
    }
}

/// The timeout of a call includes its wait; a thread that goes on after its call has timed out keeps its place.
#[tokio::test]
async fn waiting_counts_for_the_timeout() {
    for tool in ["overdue", "layered"] {
        let (client, doors) = connect(Revision::LATEST).await;
        for _ in 0..3 {
            let answer = client.call(tool, json!({})).await.unwrap();
            assert!(answer.is_error() && answer.text().contains("timed out"), "{answer:?}");
        }
        until(|| doors.begun() == 1).await;
        assert_eq!(doors.begun(), 1, "the others waited: {tool}");
        doors.unblocked.store(true, SeqCst);
        until(|| doors.running.load(SeqCst) == 0).await;
        // On a busy machine, even a thread that returns at once may take too long.
        soon(async { while client.call(tool, json!({})).await.unwrap().is_error() {} }).await;
    }
}

#[tokio::test]
async fn call_that_finds_the_queue_full_does_not_count() {
    let (client, doors) = connect(Revision::LATEST).await;
    let calls: Vec<_> = (0..17).map(|_| client.start("seldom", json!({})).unwrap()).collect();
    for _ in 0..10 {
        let error = client.call("seldom", json!({})).await.unwrap_err();
        assert!(error.to_string().contains("this tool runs 1 of them"), "{error}");
    }
    doors.open.add_permits(20);
    for call in calls {
        assert!(!call.result().await.unwrap().is_error());
    }
    for _ in 0..3 {
        assert!(!client.call("seldom", json!({})).await.unwrap().is_error());
    }
    let error = client.call("seldom", json!({})).await.unwrap_err();
    assert!(error.to_string().contains("this tool allows 20 per hour"), "{error}");
}

#[tokio::test]
async fn panic_frees_its_place() {
    let (client, doors) = connect(Revision::LATEST).await;
    doors.open.add_permits(3);
    for _ in 0..3 {
        assert!(soon(client.call("panics", json!({}))).await.unwrap().is_error());
    }
    assert_eq!(doors.begun(), 3);
}

#[tokio::test]
async fn cancelled_task_frees_its_place() {
    for revision in [Revision::V2025_11_25, Revision::LATEST] {
        let (client, doors) = connect(revision).await;
        let running = client.start_task("job", json!({})).await.unwrap();
        until(|| doors.begun() == 1).await;
        let queued = client.start_task("job", json!({})).await.unwrap();
        let last = client.start_task("job", json!({})).await.unwrap();
        queued.cancel().await.unwrap();
        assert_eq!(doors.begun(), 1);
        running.cancel().await.unwrap();
        until(|| doors.begun() == 2).await;
        doors.open.add_permits(1);
        assert!(!soon(last.result()).await.unwrap().is_error());
        assert_eq!((doors.begun(), doors.most.load(SeqCst)), (2, 1), "{revision}");
    }
}

#[tokio::test]
async fn task_keeps_its_place_until_it_is_over() {
    let (client, doors) = connect(Revision::LATEST).await;
    let (first, second) = tokio::join!(client.call("job", json!({})), async {
        let second = client.call("job", json!({}));
        let open = async {
            until(|| doors.begun() == 1).await;
            doors.open.add_permits(1);
            until(|| doors.begun() == 2).await;
            doors.open.add_permits(1);
        };
        tokio::join!(second, open).0
    });
    assert!(!first.unwrap().is_error() && !second.unwrap().is_error());
    assert_eq!(doors.most.load(SeqCst), 1);
}
