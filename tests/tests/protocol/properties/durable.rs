//! A durable task whose replicas die or are replaced at random comes to what an undisturbed one comes to, and does each
//! thing once.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::store::MemoryBackend;
use mcp_runtime::{Error, Limits};
use mcp_tests::http::mortal::Mortal;
use mcp_tests::http::{Ask, modern};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::TestCaseError;
use serde_json::{Map, Value};
use tokio::runtime::Builder;
use tokio::time::{Instant, sleep, timeout};

use super::asking::dice;
use super::program::{Step, program};
use super::property;
use super::stage::{Journal, Stage, effects};

/// Short, so that many replicas can die. On a busy machine some are taken for dead that live, which is just as well.
const LEASE: Duration = Duration::from_millis(300);

/// How many replicas have died or shut down before the task was over.
static ENDED: AtomicUsize = AtomicUsize::new(0);

/// What happens to the replica that lives: after so many milliseconds it dies, or shuts down.
type End = (u64, bool);

#[derive(Debug, PartialEq)]
struct Played {
    result: Value,
    effects: Vec<String>,
}

async fn replica(backend: &MemoryBackend, journal: &Arc<Journal>) -> Mortal {
    let mut limits = Limits::default();
    limits.replica_lease = LEASE;
    limits.task_attempts = 100;
    let server = Server::new("stage", "1.0.0").backend(backend.clone()).limits(limits);
    Mortal::serving(server.mount(Stage(Arc::clone(journal))).into_service()).await
}

fn request(method: &str, mut params: Value) -> Ask {
    let extensions = json!({"io.modelcontextprotocol/tasks": {}});
    let capabilities = json!({"elicitation": {}, "sampling": {}, "roots": {}, "extensions": extensions});
    params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": capabilities});
    modern(method, params)
}

/// An answer that depends on the question alone.
fn answer(seed: u64, question: &Value) -> Value {
    let params = &question["params"];
    match question["method"].as_str() {
        Some("elicitation/create") => {
            let dice = dice(seed, params["message"].as_str().unwrap());
            match dice % 12 {
                0 => json!({"action": "decline"}),
                1 => json!({"action": "accept", "content": {"yes": true, "number": 100}}),
                _ => json!({"action": "accept", "content": {"yes": dice & 64 == 0, "number": dice / 128 % 20}}),
            }
        }
        Some("sampling/createMessage") => {
            let text = params["messages"][0]["content"]["text"].as_str().unwrap();
            let said = "x".repeat(usize::try_from(dice(seed, text) % 20).unwrap());
            json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": said}})
        }
        _ => json!({"roots": [{"uri": "file:///a"}, {"uri": "file:///b"}]}),
    }
}

/// Plays a program to its end, while replicas come and go. One lives at any time.
async fn play(program: &[Step], seed: u64, ends: &[End]) -> Result<Played> {
    let (backend, journal) = (MemoryBackend::new(), Arc::default());
    let mut living = replica(&backend, &journal).await;
    let call = json!({"name": "play_durably", "arguments": {"program": program}});
    let created = living.site.ask(&request("tools/call", call)).await.json();
    let id = created["result"]["taskId"].as_str().ok_or_else(|| Error::msg(created.to_string()))?;
    let (mut ends, mut since) = (ends.iter(), Instant::now());
    let (mut next, mut answered) = (ends.next(), HashSet::new());
    loop {
        let task = living.site.ask(&request("tasks/get", json!({"taskId": id}))).await.json()["result"].take();
        if let Some("completed" | "failed" | "cancelled") = task["status"].as_str() {
            let journal = journal.read();
            let effects = effects(&journal).into_iter().map(|(effect, times)| format!("{effect}: {times}")).collect();
            let result = if task["result"].is_null() { task } else { task["result"]["content"].clone() };
            return Ok(Played { result, effects });
        }
        let asked = task["inputRequests"].as_object().into_iter().flatten();
        let answers: Map<String, Value> = asked.map(|(key, question)| (key.clone(), answer(seed, question))).collect();
        if !answers.is_empty() {
            if let Some(again) = answers.keys().find(|key| !answered.insert((*key).clone())) {
                return Err(Error::msg(format!("{again} is asked again")));
            }
            let update = json!({"taskId": id, "inputResponses": answers});
            assert_eq!(living.site.ask(&request("tasks/update", update)).await.status, 200);
        }
        if let Some((_, dies)) = next.filter(|(after, _)| since.elapsed() >= Duration::from_millis(*after)) {
            let last = std::mem::replace(&mut living, replica(&backend, &journal).await);
            if !dies {
                last.site.handle.shutdown().await;
            }
            last.dies();
            ENDED.fetch_add(1, Ordering::Relaxed);
            (next, since) = (ends.next(), Instant::now());
        }
        sleep(Duration::from_millis(2)).await;
    }
}

async fn undisturbed_and_disturbed(program: &[Step], seed: u64, ends: &[End]) -> Result<[Played; 2]> {
    let limit = Duration::from_secs(60);
    Ok([timeout(limit, play(program, seed, &[])).await??, timeout(limit, play(program, seed, ends)).await??])
}

#[test]
fn durable_task_comes_to_the_same_whoever_dies() {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    property(16, &(program(), any::<u64>(), vec((0..20_u64, any::<bool>()), 1..4)), |(program, seed, ends)| {
        let played = runtime.block_on(undisturbed_and_disturbed(&program, seed, &ends));
        let [one, other] = played.map_err(|error| TestCaseError::fail(error.to_string()))?;
        if one != other {
            return Err(TestCaseError::fail(format!("undisturbed {one:#?}\ndisturbed {other:#?}")));
        }
        Ok(())
    });
    assert!(ENDED.load(Ordering::Relaxed) > 0, "nobody has died");
}
