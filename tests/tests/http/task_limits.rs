//! Limits of tasks over HTTP: what one caller takes, others still have.

use std::time::Duration;

use mcp_runtime::{Limits, Revision, prelude::*};
use mcp_tests::http::{Ask, Response, Site, in_session, modern, soon};
use serde_json::Value;

/// Wait for a while.
#[tool(task = "required")]
async fn wait(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

/// A site behind a proxy that names the callers' addresses, and knows some users.
async fn site() -> Site {
    let mut limits = Limits::default();
    (limits.tasks, limits.tasks_per_principal) = (6, 4);
    let service = Server::new("site", "1.0.0").tools(tools![wait]).limits(limits).into_service();
    let service = service.principal(|parts| Some(parts.headers.get("x-user")?.to_str().ok()?.to_owned()));
    Site::serving(service.trust_proxies(["127.0.0.0/8"])).await
}

fn from(address: &str, ask: Ask) -> Ask {
    ask.with("X-Forwarded-For", address)
}

/// Starts a task in 2026-07-28.
fn start() -> Ask {
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let meta = json!({"io.modelcontextprotocol/clientCapabilities": capabilities});
    modern("tools/call", json!({"name": "wait", "arguments": {"millis": 60_000}, "_meta": meta}))
}

#[track_caller]
fn is_task(response: &Response) {
    assert_eq!(response.json()["result"]["resultType"], "task", "{response:?}");
}

#[track_caller]
fn is_refused(response: &Response, text: &str) {
    assert_eq!(response.json()["error"]["message"], text, "{response:?}");
}

const OWN: &str = "Too many running tasks of yours: wait until one ends, or cancel one";

#[tokio::test]
async fn tasks_are_limited_per_address_of_anonymous_callers() {
    let site = site().await;
    for _ in 0..4 {
        is_task(&site.ask(&from("192.0.2.1", start())).await);
    }
    is_refused(&site.ask(&from("192.0.2.1", start())).await, OWN);
    is_task(&site.ask(&from("192.0.2.2", start())).await);
    is_task(&site.ask(&from("2001:db8::1", start())).await);
    is_refused(&site.ask(&from("192.0.2.2", start())).await, "Too many running tasks: retry later");
}

#[tokio::test]
async fn tasks_are_limited_per_principal_wherever_it_calls_from() {
    let site = site().await;
    for number in 0..4 {
        is_task(&site.ask(&from(&format!("192.0.2.{number}"), start()).with("X-User", "ann")).await);
    }
    is_refused(&site.ask(&from("192.0.2.9", start()).with("X-User", "ann")).await, OWN);
    is_task(&site.ask(&from("192.0.2.1", start()).with("X-User", "bob")).await);
    // A caller cannot pose as another by its name.
    is_task(&site.ask(&from("192.0.2.1", start()).with("X-User", "peer:192.0.2.1")).await);
}

#[tokio::test]
async fn addresses_of_one_network_share_a_limit() {
    let site = site().await;
    for number in 0..4 {
        is_task(&site.ask(&from(&format!("2001:db8:1:2::{number}"), start())).await);
    }
    is_refused(&site.ask(&from("2001:db8:1:2:ffff::1", start())).await, OWN);
    is_task(&site.ask(&from("2001:db8:1:3::1", start())).await);
}

/// A client of 2025-11-25 at an address, where looking at a task does not fetch its result.
struct Client<'a> {
    site: &'a Site,
    address: &'a str,
    session: String,
}

impl<'a> Client<'a> {
    async fn connect(site: &'a Site, address: &'a str) -> Self {
        Client { site, address, session: site.session(Revision::V2025_11_25).await }
    }

    async fn request(&self, method: &str, params: Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.site.ask(&from(self.address, in_session(&self.session, &message))).await.json()
    }

    async fn start(&self, millis: u64) -> Value {
        let params = json!({"name": "wait", "arguments": {"millis": millis}, "task": {}});
        let created = self.request("tools/call", params).await;
        assert!(created["result"]["task"].is_object(), "{created}");
        created["result"]["task"]["taskId"].clone()
    }

    async fn finished(&self) -> Value {
        let id = self.start(1).await;
        soon(async {
            while self.request("tasks/get", json!({"taskId": id})).await["result"]["status"] != "completed" {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await;
        id
    }

    async fn has(&self, id: &Value) -> bool {
        self.request("tasks/get", json!({"taskId": id})).await["result"].is_object()
    }
}

#[tokio::test]
async fn greediest_caller_loses_its_finished_tasks_first() {
    let site = site().await;
    let (greedy, modest) = (Client::connect(&site, "192.0.2.1").await, Client::connect(&site, "192.0.2.2").await);
    let kept = modest.finished().await;
    let mut tasks = Vec::new();
    for _ in 0..4 {
        tasks.push(greedy.finished().await);
    }
    let new = Client::connect(&site, "192.0.2.3").await;
    for evicted in 0..3 {
        new.start(60_000).await;
        for (number, task) in tasks.iter().enumerate() {
            assert_eq!(greedy.has(task).await, number >= evicted, "{number} of {evicted}");
        }
        assert!(modest.has(&kept).await);
    }
}
