//! Replicas that die, with one backend: what their clients get at the others.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_runtime::http::HttpService;
use mcp_runtime::prelude::*;
use mcp_runtime::protocol::LogLevel;
use mcp_runtime::store::MemoryBackend;
use mcp_runtime::{Limits, Revision};
use mcp_tests::http::mortal::Mortal;
use mcp_tests::http::server::{SESSIONS, server};
use mcp_tests::http::{Ask, Site, Wire, call_in, in_session, modern, soon, stream_of};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::sleep;

use crate::replicas::{NEWEST, ping, subscribe};
use crate::resuming::{again, raw_event};

/// Long enough for a machine that is busy: a replica that lives must not look dead.
const LEASE: Duration = Duration::from_secs(3);

/// Say something, and then nothing for a minute.
#[tool]
async fn hang(ctx: &Context) -> &'static str {
    ctx.log(LogLevel::Warning, "waiting").await;
    sleep(Duration::from_secs(60)).await;
    "done"
}

/// Work in the background for a minute.
#[tool(task)]
async fn toil() -> &'static str {
    sleep(Duration::from_secs(60)).await;
    "done"
}

/// Say something, and finish after some seconds.
#[tool]
async fn linger(ctx: &Context) -> &'static str {
    ctx.log(LogLevel::Warning, "waiting").await;
    sleep(LEASE * 2).await;
    "done"
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// Ask for a name, and do nothing with it for a minute.
#[tool]
async fn greet(ctx: &Context) -> Result<String> {
    let Name { name } = ctx.elicit("Who is there?").await?;
    sleep(Duration::from_secs(60)).await;
    Ok(name)
}

fn service(backend: &MemoryBackend) -> HttpService {
    let mut limits = Limits::default();
    limits.replica_lease = LEASE;
    limits.drain_timeout = Duration::from_secs(20);
    server(&Arc::default())
        .backend(backend.clone())
        .tools(tools![greet, hang, linger, toil])
        .limits(limits)
        .into_service()
}

async fn replica(backend: &MemoryBackend) -> Site {
    Site::serving(service(backend)).await
}

async fn mortal(backend: &MemoryBackend) -> Mortal {
    Mortal::serving(service(backend)).await
}

/// Begins a call, and returns the id of its first event with the connection.
async fn begin(site: &Site, session: &str, id: u64, tool: &str) -> (String, Wire) {
    let (_, mut wire) = site.begin(&call_in(session, id, tool, &json!({}))).await;
    let (last, _) = soon(raw_event(&mut wire)).await.unwrap();
    (last, wire)
}

/// The messages that are left of a stream, to its end.
async fn rest(wire: &mut Wire) -> Vec<Value> {
    let mut all = Vec::new();
    while let Some((_, data)) = soon(raw_event(wire)).await {
        all.extend(serde_json::from_str::<Value>(&data));
    }
    all
}

fn is_death(message: &Value, id: u64) {
    assert_eq!(message["id"], id, "{message}");
    assert_eq!(message["error"]["code"], -32603);
    assert_eq!(message["error"]["data"], json!({"retryable": true}));
    assert_eq!(message["error"]["message"], "the replica that ran this call has died; call again");
}

#[tokio::test]
async fn call_of_a_dead_replica_is_answered_at_the_others() {
    let backend = MemoryBackend::new();
    let (b, c) = (replica(&backend).await, replica(&backend).await);
    for revision in [Revision::V2025_06_18, NEWEST] {
        let a = mortal(&backend).await;
        let session = a.site.session(revision).await;
        let (last, _wire) = begin(&a.site, &session, 7, "hang").await;
        // One client follows when it happens, another comes later.
        let (_, mut following) = b.begin(&again(&session, &last)).await;
        sleep(Duration::from_millis(200)).await;
        a.dies();
        let answered = rest(&mut following).await;
        is_death(answered.last().unwrap(), 7);
        assert_eq!(answered.iter().filter(|message| message.get("id").is_some()).count(), 1);
        let (_, mut later) = c.begin(&again(&session, &last)).await;
        is_death(rest(&mut later).await.last().unwrap(), 7);
        // The session goes on.
        assert_eq!(c.ask(&ping(&session)).await.status, 200);
        let sum = c.ask(&call_in(&session, 8, "add", &json!({"a": 1, "b": 2}))).await;
        assert_eq!(sum.json()["result"]["content"][0]["text"], "3");
    }
}

/// An answer that was accepted is not lost in silence: the call ends with an error if its replica dies, whether it had the
/// answer or not.
#[tokio::test]
async fn call_whose_question_was_answered_is_answered_after_a_death() {
    for is_read in [true, false] {
        let backend = MemoryBackend::new();
        let (a, b) = (mortal(&backend).await, replica(&backend).await);
        let client = json!({"name": "c", "version": "1"});
        let params = json!({"protocolVersion": NEWEST, "capabilities": {"elicitation": {}}, "clientInfo": client});
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let opened = a.site.ask(&Ask::post(hello.to_string())).await;
        let session = opened.header("mcp-session-id").unwrap().to_owned();
        let (_, mut wire) = a.site.begin(&call_in(&session, 7, "greet", &json!({}))).await;
        let (last, question) = loop {
            let (id, data) = soon(raw_event(&mut wire)).await.unwrap();
            if let Ok(question) = serde_json::from_str::<Value>(&data) {
                break (id, question);
            }
        };
        drop(wire);
        let accepted = json!({"action": "accept", "content": {"name": "Ada"}});
        let answer = in_session(&session, &json!({"jsonrpc": "2.0", "id": question["id"], "result": accepted}));
        if is_read {
            assert_eq!(b.ask(&answer).await.status, 202);
            sleep(Duration::from_millis(200)).await;
            a.dies();
        } else {
            a.dies();
            assert_eq!(b.ask(&answer).await.status, 202);
        }
        let (_, mut following) = b.begin(&again(&session, &last)).await;
        is_death(rest(&mut following).await.last().unwrap(), 7);
        assert_eq!(b.ask(&ping(&session)).await.status, 200, "the session goes on");
    }
}

#[tokio::test]
async fn every_call_of_a_batch_is_answered_after_a_death() {
    let backend = MemoryBackend::new();
    let (a, b) = (mortal(&backend).await, replica(&backend).await);
    let session = a.site.session(Revision::V2025_03_26).await;
    let call = |id: u64, name: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": {"a": 1, "b": 2}}});
    let batch = in_session(&session, &json!([call(1, "hang"), call(2, "add"), call(3, "hang")]));
    let (_, mut wire) = a.site.begin(&batch).await;
    let (last, _) = soon(raw_event(&mut wire)).await.unwrap();
    let (_, mut following) = b.begin(&again(&session, &last)).await;
    sleep(Duration::from_millis(200)).await;
    a.dies();
    let messages = rest(&mut following).await;
    let dead: Vec<_> = messages.iter().filter(|message| message.get("error").is_some()).collect();
    // The answers of a batch are sent together, so that the one that was done is lost, too.
    assert_eq!(dead.len(), 3, "{messages:?}");
    for (message, id) in dead.into_iter().zip(1..) {
        is_death(message, id);
    }
}

/// A call may be silent for longer than the lease, and a replica that shuts down finishes its calls.
#[tokio::test]
async fn silence_and_shutdown_are_no_death() {
    let backend = MemoryBackend::new();
    let (a, b) = (replica(&backend).await, replica(&backend).await);
    let session = a.session(NEWEST).await;
    let (last, wire) = begin(&a, &session, 7, "linger").await;
    drop(wire);
    let (_, mut following) = b.begin(&again(&session, &last)).await;
    a.handle.shutdown().await;
    let messages = rest(&mut following).await;
    assert_eq!(messages.last().unwrap()["result"]["content"][0]["text"], "done", "{messages:?}");
}

/// A request about tasks, of a client that declares them.
fn about_tasks(method: &str, mut params: Value) -> Ask {
    let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": tasks});
    modern(method, params)
}

#[tokio::test]
async fn task_of_a_dead_replica_fails() {
    let backend = MemoryBackend::new();
    let (a, b) = (mortal(&backend).await, replica(&backend).await);
    let created = a.site.ask(&about_tasks("tools/call", json!({"name": "toil", "arguments": {}}))).await.json();
    let get = about_tasks("tasks/get", json!({"taskId": created["result"]["taskId"]}));
    sleep(LEASE * 3 / 2).await;
    let task = b.ask(&get).await.json();
    assert_eq!(task["result"]["status"], "working", "its replica lives: {task}");
    a.dies();
    let task = soon(async {
        loop {
            let task = b.ask(&get).await.json();
            if task["result"]["status"] != "working" {
                return task;
            }
            sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
    assert_eq!(task["result"]["status"], "failed", "{task}");
    assert!(task["result"]["statusMessage"].as_str().unwrap().contains("has died; call the tool again"), "{task}");
    assert_eq!(task["result"]["error"]["data"], json!({"retryable": true}), "{task}");
}

/// In 2025-11-25 a client waits for the result.
#[tokio::test]
async fn result_of_a_dead_replicas_task_is_an_error() {
    let backend = MemoryBackend::new();
    let (a, b) = (mortal(&backend).await, replica(&backend).await);
    let session = a.site.session(NEWEST).await;
    let params = json!({"name": "toil", "arguments": {}, "task": {}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let created = a.site.ask(&in_session(&session, &call)).await.json();
    let id = &created["result"]["task"]["taskId"];
    assert!(id.is_string(), "{created}");
    let result = json!({"jsonrpc": "2.0", "id": 2, "method": "tasks/result", "params": {"taskId": id}});
    let mut waiting = b.open().await;
    waiting.send(&in_session(&session, &result).bytes()).await;
    sleep(Duration::from_millis(200)).await;
    a.dies();
    let answer = soon(waiting.response()).await;
    assert!(answer.text().contains("The replica that ran this task has died"), "{}", answer.text());
}

async fn status(site: &Site, ask: &Ask) -> u16 {
    site.begin(ask).await.0.status
}

/// Opens the session's stream as soon as it is free.
async fn opens(site: &Site, session: &str) -> Wire {
    soon(async {
        loop {
            let (head, wire) = site.begin(&stream_of(session)).await;
            match head.status {
                200 => return wire,
                status => assert_eq!(status, 409),
            }
            sleep(Duration::from_millis(50)).await;
        }
    })
    .await
}

#[tokio::test]
async fn session_has_one_stream_in_the_fleet() {
    let backend = MemoryBackend::new();
    let sites = [replica(&backend).await, replica(&backend).await, replica(&backend).await];
    for revision in SESSIONS {
        let session = sites[0].session(revision).await;
        for holder in &sites {
            let wire = opens(holder, &session).await;
            sleep(LEASE / 3).await;
            for site in &sites {
                assert_eq!(status(site, &stream_of(&session)).await, 409, "{revision}");
            }
            // Another session is not concerned.
            let other = holder.session(revision).await;
            assert_eq!(status(&sites[1], &stream_of(&other)).await, 200);
            drop(wire);
        }
    }
}

#[tokio::test]
async fn stream_of_a_dead_replica_is_free_after_its_lease() {
    let backend = MemoryBackend::new();
    let (a, b) = (mortal(&backend).await, replica(&backend).await);
    let session = a.site.session(NEWEST).await;
    let _wire = opens(&a.site, &session).await;
    a.dies();
    let begun = Instant::now();
    assert_eq!(status(&b, &stream_of(&session)).await, 409, "its replica may be silent for a moment");
    let mut wire = opens(&b, &session).await;
    assert!(begun.elapsed() < LEASE * 3, "{:?}", begun.elapsed());
    assert_eq!(b.ask(&subscribe(&session)).await.outcome(), (200, 0));
    b.handle.resource_updated("weather://now");
    while !soon(raw_event(&mut wire)).await.expect("the stream is over").1.contains("weather://now") {}
}

#[tokio::test]
async fn resumed_stream_ends_at_the_replica_that_had_it() {
    let backend = MemoryBackend::new();
    let (a, b) = (replica(&backend).await, replica(&backend).await);
    let session = a.session(NEWEST).await;
    assert_eq!(a.ask(&subscribe(&session)).await.outcome(), (200, 0));
    let (_, mut wire) = a.begin(&stream_of(&session)).await;
    let (mut last, _) = soon(raw_event(&mut wire)).await.unwrap();
    let mut known = HashMap::from([(last.clone(), String::new())]);
    // An event may be replayed, but no other has its id.
    let mut sees = |id: &str, data: &str| {
        let before = known.insert(id.to_owned(), data.to_owned());
        assert!(before.is_none_or(|before| before == data), "two events {id}");
    };
    for site in [&b, &a, &a, &b] {
        // The former connection is not closed by the client.
        let (head, mut next) = site.begin(&again(&session, &last)).await;
        assert_eq!(head.status, 200);
        // It ends before anything else happens, so that one message goes to one stream. It may have had news since.
        while let Some((id, data)) = soon(raw_event(&mut wire)).await {
            sees(&id, &data);
        }
        for site in [&a, &b] {
            assert_eq!(status(site, &stream_of(&session)).await, 409);
        }
        a.handle.resource_updated("weather://now");
        loop {
            let (id, data) = soon(raw_event(&mut next)).await.expect("the stream is over");
            sees(&id, &data);
            last = id;
            if data.contains("weather://now") {
                break;
            }
        }
        wire = next;
    }
    // And what was sent can be replayed, at both.
    for site in [&b, &a] {
        assert_eq!(status(site, &again(&session, &last)).await, 200);
    }
}
