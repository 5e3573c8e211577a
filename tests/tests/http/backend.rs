//! `Server::backend`: replicas that share everything, with one line each.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_runtime::prelude::*;
use mcp_runtime::store::{Backend, ChangeBus, EventStore, Inbox, LeaseStore, MemoryBackend, SessionStore, TaskStore};
use mcp_runtime::{Revision, ServerHandle};
use mcp_tests::http::{Ask, Response, Site, call, call_in, modern};
use serde_json::Value;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

/// Greet the user.
#[tool]
async fn greet(ctx: &Context) -> Result<String> {
    let Name { name } = ctx.elicit("Who?").await?;
    Ok(format!("hello {name}"))
}

/// Answer at once.
#[tool]
fn plain() -> &'static str {
    "plain"
}

/// Work in the background.
#[tool(task)]
async fn work() -> &'static str {
    tokio::task::yield_now().await;
    "worked"
}

async fn replica(backend: impl Backend) -> (Site, ServerHandle) {
    let server = Server::new("fleet", "1.0.0").backend(backend).tools(tools![greet, plain, work]);
    let handle = server.handle();
    (Site::of(server).await, handle)
}

fn ask_to_greet(more: &Value) -> Ask {
    let capabilities = json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
    let mut params = json!({"name": "greet", "arguments": {}, "_meta": capabilities});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    modern("tools/call", params)
}

/// The next round, with an answer.
fn answered(round: &Response) -> Value {
    let asked = &round.json()["result"];
    let keys = asked["inputRequests"].as_object().unwrap_or_else(|| panic!("{asked}")).keys();
    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    let responses: serde_json::Map<_, _> = keys.map(|key| (key.clone(), answer.clone())).collect();
    json!({"inputResponses": responses, "requestState": asked["requestState"]})
}

#[tokio::test]
async fn any_replica_serves_sessions_rounds_and_tasks() {
    let backend = MemoryBackend::new();
    let ((one, _), (other, _)) = (replica(backend.clone()).await, replica(backend).await);
    let session = one.session(Revision::V2025_11_25).await;
    assert_eq!(other.ask(&call_in(&session, 1, "plain", &json!({}))).await.status, 200);
    let first = one.ask(&ask_to_greet(&json!({}))).await;
    let second = other.ask(&ask_to_greet(&answered(&first))).await;
    assert!(second.text().contains("hello Ada"), "{}", second.text());
    let capabilities =
        json!({"io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
    let created = one.ask(&modern("tools/call", json!({"name": "work", "arguments": {}, "_meta": capabilities}))).await;
    let id = created.json()["result"]["taskId"].clone();
    let got = other.ask(&modern("tasks/get", json!({"taskId": id, "_meta": capabilities}))).await;
    assert_eq!((got.status, &got.json()["result"]["taskId"]), (200, &id), "{}", got.text());
}

/// A backend whose secret is away at first.
#[derive(Debug, Clone)]
struct Late(MemoryBackend, Arc<AtomicBool>);

impl Backend for Late {
    fn sessions(&self) -> Arc<impl SessionStore> {
        self.0.sessions()
    }

    fn events(&self) -> Arc<impl EventStore> {
        self.0.events()
    }

    fn inbox(&self) -> Arc<impl Inbox> {
        self.0.inbox()
    }

    fn tasks(&self) -> Arc<impl TaskStore> {
        self.0.tasks()
    }

    fn leases(&self) -> Arc<impl LeaseStore> {
        self.0.leases()
    }

    fn changes(&self) -> Arc<dyn ChangeBus> {
        self.0.changes()
    }

    async fn secret(&self) -> io::Result<Vec<u8>> {
        self.ping().await?;
        self.0.secret().await
    }

    async fn ping(&self) -> io::Result<()> {
        if self.1.load(Ordering::Relaxed) { Ok(()) } else { Err(io::ErrorKind::NotConnected.into()) }
    }
}

/// No secret of its own, which other replicas would not open.
#[tokio::test]
async fn rounds_are_unavailable_until_the_secret_is_agreed_on() {
    let there = Arc::new(AtomicBool::new(false));
    let (site, _) = replica(Late(MemoryBackend::new(), Arc::clone(&there))).await;
    let refused = site.ask(&ask_to_greet(&json!({}))).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{}", refused.text());
    assert!(refused.text().contains("retry later"), "{}", refused.text());
    assert_eq!(site.ask(&call("plain", &json!({}))).await.status, 200, "a call that does not ask goes on");
    there.store(true, Ordering::Relaxed);
    let first = mcp_tests::http::soon(async {
        loop {
            let response = site.ask(&ask_to_greet(&json!({}))).await;
            if response.status == 200 {
                return response;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    })
    .await;
    assert!(site.ask(&ask_to_greet(&answered(&first))).await.text().contains("hello Ada"));
}
