//! Durable tasks: another replica goes on where the one that ran them has died, or has handed them over.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::http::HttpService;
use mcp_runtime::prelude::*;
use mcp_runtime::store::{Backend as _, MemoryBackend, TaskStore as _};
use mcp_runtime::{Limits, Revision};
use mcp_tests::http::mortal::Mortal;
use mcp_tests::http::{Ask, Site, in_session, modern, soon, until};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::sleep;

/// Short, so that the tests are. A replica that is taken for dead while it lives loses its tasks, and nothing else.
const LEASE: Duration = Duration::from_millis(600);

#[derive(Debug, Default)]
struct Works {
    /// What was done, in order.
    done: Mutex<Vec<String>>,
    runs: AtomicUsize,
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

struct Desk(Arc<Works>);

impl Desk {
    #[expect(clippy::unused_async, reason = "not before it is polled")]
    async fn does(&self, what: &str) -> Result<usize> {
        let mut done = self.0.done.lock().unwrap();
        done.push(what.to_owned());
        Ok(done.len())
    }

    fn begins(&self) {
        self.0.runs.fetch_add(1, Ordering::SeqCst);
    }
}

#[handlers]
impl Desk {
    /// Take some steps.
    #[tool(task, durable)]
    async fn steps(&self, ctx: &Context, steps: usize) -> Result<String> {
        self.begins();
        let mut keys = Vec::new();
        for step in 1..=steps {
            sleep(Duration::from_millis(100)).await;
            ctx.once(&format!("step {step}"), self.does(&format!("step {step}"))).await?;
            ctx.progress(step, steps).await;
            keys.push(ctx.idempotency_key(&format!("step {step}")));
        }
        assert!(keys.iter().all(|key| keys.iter().filter(|other| *other == key).count() == 1));
        let first = ctx.once("first key", async { Ok(keys[0].clone()) }).await?;
        Ok(format!("{steps} {}", first == keys[0]))
    }

    /// Ask for a name twice, the first time before it becomes a task.
    #[tool(task, durable, asks_first)]
    async fn greet(&self, ctx: &Context) -> Result<String> {
        self.begins();
        let one: Name = ctx.elicit("What is your name?").await?;
        ctx.once("greet", self.does(&format!("greet {}", one.name))).await?;
        ctx.start_task().await;
        let other: Name = ctx.elicit("And your other name?").await?;
        ctx.once("greet again", self.does(&format!("greet {}", other.name))).await?;
        sleep(Duration::from_secs(2)).await;
        Ok(format!("{} {}", one.name, other.name))
    }

    /// Wait for a name, but not for long.
    #[tool(task, durable)]
    async fn hurry(&self, ctx: &Context) -> Result<String> {
        self.begins();
        let name = ctx.elicit::<Name>("Quick!").timeout(Duration::from_millis(200)).await;
        let said = if name.is_ok() { "a name" } else { "no name" };
        ctx.once("say", self.does(said)).await?;
        sleep(Duration::from_secs(2)).await;
        Ok(said.to_owned())
    }

    /// Never return: the test kills whoever runs it.
    #[tool(task, durable)]
    async fn killer(&self) -> &'static str {
        self.begins();
        std::future::pending().await
    }

    /// Take steps without a pause between them.
    #[tool(task, durable)]
    async fn hike(&self, ctx: &Context) -> Result<String> {
        self.begins();
        for step in 1..=30 {
            let work = async {
                sleep(Duration::from_millis(50)).await;
                self.does(&format!("step {step}")).await
            };
            ctx.once(&format!("step {step}"), work).await?;
        }
        Ok("there".to_owned())
    }

    /// Take a while for what is done once.
    #[tool(task, durable)]
    async fn late(&self, ctx: &Context) -> Result<String> {
        self.begins();
        let work = async {
            sleep(Duration::from_millis(700)).await;
            self.does("late").await
        };
        ctx.once("late", work).await?;
        sleep(Duration::from_secs(1)).await;
        Ok("done".to_owned())
    }
}

fn service(backend: &MemoryBackend, works: &Arc<Works>) -> HttpService {
    let mut limits = Limits::default();
    limits.replica_lease = LEASE;
    limits.task_attempts = 3;
    let server = Server::new("desk", "1.0.0").backend(backend.clone()).limits(limits);
    server.mount(Desk(Arc::clone(works))).into_service()
}

async fn replica(backend: &MemoryBackend, works: &Arc<Works>) -> Mortal {
    Mortal::serving(service(backend, works)).await
}

/// A request of a client that can be asked, and declares tasks.
fn request(method: &str, mut params: Value) -> Ask {
    let capabilities = json!({"elicitation": {"form": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": capabilities});
    modern(method, params)
}

async fn started(site: &Site, tool: &str, arguments: Value) -> String {
    let created = site.ask(&request("tools/call", json!({"name": tool, "arguments": arguments}))).await.json();
    created["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{created}")).to_owned()
}

/// The task, when it has this status.
async fn reaches(site: &Site, id: &str, status: &str) -> Value {
    soon(async {
        loop {
            let task = site.ask(&request("tasks/get", json!({"taskId": id}))).await.json()["result"].take();
            if task["status"] == status {
                return task;
            }
            assert!(!matches!(task["status"].as_str(), Some("failed" | "cancelled" | "completed")), "{task}");
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}

fn text(task: &Value) -> &str {
    task["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{task}"))
}

async fn did(works: &Works, what: &str) {
    soon(async {
        while !works.done.lock().unwrap().iter().any(|done| done == what) {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

fn done(works: &Works) -> Vec<String> {
    works.done.lock().unwrap().clone()
}

#[tokio::test]
async fn another_replica_goes_on_and_repeats_nothing() {
    let (backend, works) = (MemoryBackend::new(), Arc::default());
    let a = replica(&backend, &works).await;
    let id = started(&a.site, "steps", json!({"steps": 6})).await;
    did(&works, "step 2").await;
    let b = replica(&backend, &works).await;
    a.dies();
    did(&works, "step 4").await;
    let c = replica(&backend, &works).await;
    b.dies();
    let task = reaches(&c.site, &id, "completed").await;
    assert_eq!(text(&task), "6 true", "the same idempotency keys in all runs");
    assert_eq!(done(&works), (1..=6).map(|step| format!("step {step}")).collect::<Vec<_>>());
    assert_eq!(works.runs.load(Ordering::SeqCst), 3);
    // Nothing is left that somebody might run.
    assert!(backend.tasks().holders().await.unwrap().is_empty());
    assert!(backend.tasks().load(&id).await.unwrap().unwrap().durable.is_none());
}

#[tokio::test]
async fn deploy_hands_tasks_over() {
    let (backend, works) = (MemoryBackend::new(), Arc::default());
    let a = replica(&backend, &works).await;
    let id = started(&a.site, "steps", json!({"steps": 8})).await;
    did(&works, "step 1").await;
    let mut last = a;
    // More often than replicas may die: a deploy is no death.
    for step in ["step 2", "step 3", "step 4", "step 5"] {
        let next = replica(&backend, &works).await;
        last.site.handle.shutdown().await;
        let task = backend.tasks().load(&id).await.unwrap().unwrap();
        assert_eq!(task.durable.map(|call| call.deaths), Some(0));
        last.dies();
        did(&works, step).await;
        last = next;
    }
    assert_eq!(text(&reaches(&last.site, &id, "completed").await), "8 true");
    assert_eq!(done(&works).len(), 8);
}

/// What is done once is not cut off by a deploy.
#[tokio::test]
async fn handover_waits_for_a_once_block() {
    let (backend, works) = (MemoryBackend::new(), Arc::<Works>::default());
    let (a, b) = (replica(&backend, &works).await, replica(&backend, &works).await);
    let id = started(&a.site, "late", json!({})).await;
    soon(async {
        while works.runs.load(Ordering::SeqCst) == 0 {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    a.site.handle.shutdown().await;
    assert_eq!(text(&reaches(&b.site, &id, "completed").await), "done");
    assert_eq!(done(&works), ["late"]);
}

/// Between two blocks is time enough, even if the next one begins at once.
#[tokio::test]
async fn handover_does_not_wait_for_the_next_once_block() {
    let (backend, works) = (MemoryBackend::new(), Arc::<Works>::default());
    let (a, b) = (replica(&backend, &works).await, replica(&backend, &works).await);
    let id = started(&a.site, "hike", json!({})).await;
    did(&works, "step 2").await;
    a.site.handle.shutdown().await;
    assert!(done(&works).len() < 15, "{:?}", done(&works));
    assert_eq!(text(&reaches(&b.site, &id, "completed").await), "there");
    let steps: Vec<String> = (1..=30).map(|step| format!("step {step}")).collect();
    assert_eq!(done(&works), steps);
    assert_eq!(works.runs.load(Ordering::SeqCst), 2);
}

/// They are not taken a few at each look, of which there is one in four seconds here.
#[tokio::test]
async fn all_tasks_that_were_handed_over_are_taken_at_one_look() {
    let (backend, works) = (MemoryBackend::new(), Arc::<Works>::default());
    let replica = || {
        let mut limits = Limits::default();
        limits.replica_lease = Duration::from_secs(40);
        let server = Server::new("desk", "1.0.0").backend(backend.clone()).limits(limits);
        Mortal::serving(server.mount(Desk(Arc::clone(&works))).into_service())
    };
    let a = replica().await;
    for _ in 0..50 {
        started(&a.site, "killer", json!({})).await;
    }
    let _b = replica().await;
    a.site.handle.shutdown().await;
    let begun = std::time::Instant::now();
    until(|| works.runs.load(Ordering::SeqCst) == 100).await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn answers_are_given_to_every_run() {
    let (backend, works) = (MemoryBackend::new(), Arc::default());
    let a = replica(&backend, &works).await;
    let call = json!({"name": "greet", "arguments": {}});
    let asked = a.site.ask(&request("tools/call", call.clone())).await.json()["result"].take();
    let answer = |name: &str| json!({"action": "accept", "content": {"name": name}});
    let mut retry = call;
    retry["requestState"] = asked["requestState"].clone();
    retry["inputResponses"] = json!({"ask-1": answer("Ann")});
    let created = a.site.ask(&request("tools/call", retry)).await.json();
    let id = created["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{created}"));
    reaches(&a.site, id, "input_required").await;
    let b = replica(&backend, &works).await;
    a.dies();
    // The question is open while nobody runs the task, and can be answered.
    reaches(&b.site, id, "input_required").await;
    let update = json!({"taskId": id, "inputResponses": {"ask-2": answer("Bob")}});
    assert_eq!(b.site.ask(&request("tasks/update", update)).await.status, 200);
    did(&works, "greet Bob").await;
    let c = replica(&backend, &works).await;
    b.dies();
    assert_eq!(text(&reaches(&c.site, id, "completed").await), "Ann Bob");
    assert_eq!(done(&works), ["greet Ann", "greet Bob"]);
    // Once more for the round that asked.
    assert_eq!(works.runs.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn late_answer_stays_late() {
    let (backend, works) = (MemoryBackend::new(), Arc::default());
    let a = replica(&backend, &works).await;
    let id = started(&a.site, "hurry", json!({})).await;
    did(&works, "no name").await;
    let b = replica(&backend, &works).await;
    a.dies();
    assert_eq!(text(&reaches(&b.site, &id, "completed").await), "no name");
    assert_eq!(done(&works), ["no name"]);
}

#[tokio::test]
async fn task_whose_replicas_die_fails_at_last() {
    let (backend, works) = (MemoryBackend::new(), Arc::<Works>::default());
    let mut last = replica(&backend, &works).await;
    let id = started(&last.site, "killer", json!({})).await;
    for death in 1..=3 {
        soon(async {
            while works.runs.load(Ordering::SeqCst) < death {
                sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        let next = replica(&backend, &works).await;
        last.dies();
        last = next;
    }
    let task = reaches_failed(&last.site, &id).await;
    let message = task["statusMessage"].as_str().unwrap();
    assert!(message.starts_with("3 replicas have died while they ran this task"), "{task}");
    assert_eq!(works.runs.load(Ordering::SeqCst), 3);
}

async fn reaches_failed(site: &Site, id: &str) -> Value {
    soon(async {
        loop {
            let task = site.ask(&request("tasks/get", json!({"taskId": id}))).await.json()["result"].take();
            if task["status"] == "failed" {
                return task;
            }
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}

/// A replica that is back after a silence finds that its task is another's, and does no more of it.
#[tokio::test]
async fn replica_that_lost_a_task_stops() {
    let (backend, works) = (MemoryBackend::new(), Arc::default());
    let (a, b) = (replica(&backend, &works).await, replica(&backend, &works).await);
    let id = started(&a.site, "steps", json!({"steps": 12})).await;
    did(&works, "step 2").await;
    // Somebody takes it, although its replica lives.
    let mut task = backend.tasks().load(&id).await.unwrap().unwrap();
    loop {
        task.version += 1;
        task.replica = None;
        task.durable.as_mut().unwrap().run += 1;
        if backend.tasks().update(&task).await.unwrap() {
            break;
        }
        task = backend.tasks().load(&id).await.unwrap().unwrap();
    }
    let finished = reaches(&b.site, &id, "completed").await;
    assert_eq!(text(&finished), "12 true");
    let done = done(&works);
    let mut twice: Vec<&String> =
        done.iter().filter(|one| done.iter().filter(|other| other == one).count() > 1).collect();
    twice.dedup();
    assert!(twice.len() <= 1, "only the step at hand may be done twice: {done:?}");
}

#[tokio::test]
async fn cancelled_task_is_not_run_again() {
    let (backend, works) = (MemoryBackend::new(), Arc::<Works>::default());
    let a = replica(&backend, &works).await;
    let id = started(&a.site, "steps", json!({"steps": 50})).await;
    did(&works, "step 1").await;
    let b = replica(&backend, &works).await;
    a.dies();
    assert_eq!(b.site.ask(&request("tasks/cancel", json!({"taskId": id}))).await.status, 200);
    sleep(LEASE * 3).await;
    assert_eq!(works.runs.load(Ordering::SeqCst), 1);
}

/// In 2025-11-25 the client of a session asks for the result, and is asked on that stream.
#[tokio::test]
async fn session_gets_the_result_of_another_run() {
    let (backend, works) = (MemoryBackend::new(), Arc::default());
    let (a, b) = (replica(&backend, &works).await, replica(&backend, &works).await);
    let session = a.site.session(Revision::V2025_11_25).await;
    let params = json!({"name": "steps", "arguments": {"steps": 5}, "task": {}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let created = a.site.ask(&in_session(&session, &call)).await.json();
    let result = json!({"jsonrpc": "2.0", "id": 2, "method": "tasks/result", "params": {"taskId": created["result"]["task"]["taskId"]}});
    let mut waiting = b.site.open().await;
    waiting.send(&in_session(&session, &result).bytes()).await;
    did(&works, "step 2").await;
    a.dies();
    let answer = soon(waiting.response()).await;
    assert!(answer.text().contains("5 true"), "{}", answer.text());
    assert_eq!(done(&works).len(), 5);
}
