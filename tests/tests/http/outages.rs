//! A store that is away for a while: what replicas owe each other is done when it is back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::protocol::LogLevel;
use mcp_runtime::store::{Backend as _, TaskStore as _};
use mcp_runtime::{Limits, Revision};
use mcp_tests::http::{Ask, Site, call_in, in_session, modern, soon, stream_of, until};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::sleep;

use crate::faulty_backend::Shared;
use crate::resuming::{again, raw_event};

const NEWEST: Revision = Revision::V2025_11_25;

#[derive(Debug, Default)]
struct Works {
    begun: AtomicUsize,
    /// What is begun may end.
    may_end: AtomicBool,
}

struct Desk(Arc<Works>);

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

impl Desk {
    async fn works(&self) {
        self.0.begun.fetch_add(1, Ordering::SeqCst);
        until(|| self.0.may_end.load(Ordering::SeqCst)).await;
    }
}

#[handlers]
impl Desk {
    /// Say something, and answer when the test says so.
    #[tool]
    async fn hold(&self, ctx: &Context) -> &'static str {
        ctx.log(LogLevel::Warning, "waiting").await;
        self.works().await;
        "done"
    }

    /// Fail at what is done once.
    #[tool]
    async fn fail(&self, ctx: &Context) -> Result<String> {
        let Name { name } = ctx.elicit("Who is there?").await?;
        let work = async {
            self.works().await;
            Err::<(), _>(Error::msg("The till is broken."))
        };
        ctx.once("work", work).await?;
        Ok(name)
    }

    /// Run until the end of time.
    #[tool(task = "required", durable)]
    async fn stay(&self) -> &'static str {
        self.works().await;
        "gone"
    }
}

/// What can be watched.
#[resource("clock://now", subscribe)]
fn clock() -> &'static str {
    "now"
}

async fn fleet() -> (Shared, Arc<Works>, Site, Site) {
    let (backend, works) = (Shared::default(), Arc::<Works>::default());
    let replica = || {
        let mut limits = Limits::default();
        limits.store_timeout = Duration::from_millis(200);
        let server = Server::new("desk", "1.0.0").backend(backend.clone()).limits(limits);
        Site::serving(server.resources(resources![clock]).mount(Desk(Arc::clone(&works))).into_service())
    };
    let (a, b) = (replica().await, replica().await);
    (backend, works, a, b)
}

fn is_away(backend: &Shared, away: bool) {
    backend.state.set(|state| &state.away, away);
}

fn request(method: &str, mut params: serde_json::Value) -> Ask {
    let capabilities = json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": capabilities});
    modern(method, params)
}

#[tokio::test]
async fn answer_reaches_a_follower_when_the_store_is_back() {
    let (backend, works, a, b) = fleet().await;
    let session = a.session(NEWEST).await;
    let (_, mut wire) = a.begin(&call_in(&session, 7, "hold", &json!({}))).await;
    let (last, _) = soon(raw_event(&mut wire)).await.unwrap();
    drop(wire);
    let (head, mut wire) = soon(b.begin(&again(&session, &last))).await;
    assert_eq!(head.status, 200, "{head:?}");
    is_away(&backend, true);
    works.may_end.store(true, Ordering::SeqCst);
    // The answer and the end of the stream are tried in the meantime.
    sleep(Duration::from_millis(500)).await;
    is_away(&backend, false);
    let mut rest = String::new();
    while let Some((_, data)) = soon(raw_event(&mut wire)).await {
        rest.push_str(&data);
    }
    assert!(rest.contains(r#""id":7"#) && rest.contains("done"), "{rest}");
}

#[tokio::test]
async fn stream_that_was_left_during_an_outage_is_free_afterwards() {
    let (backend, _, a, b) = fleet().await;
    let session = a.session(NEWEST).await;
    let (head, wire) = a.begin(&stream_of(&session)).await;
    assert_eq!(head.status, 200);
    assert_eq!(b.begin(&stream_of(&session)).await.0.status, 409);
    is_away(&backend, true);
    drop(wire);
    // The replica finds that its client has left, and cannot say so.
    sleep(Duration::from_millis(500)).await;
    is_away(&backend, false);
    soon(async {
        while b.begin(&stream_of(&session)).await.0.status != 200 {
            sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn block_that_failed_during_an_outage_can_be_tried_elsewhere() {
    let (backend, works, a, b) = fleet().await;
    let call = json!({"name": "fail", "arguments": {}});
    let asked = a.ask(&request("tools/call", call.clone())).await.json();
    let mut round = call;
    round["requestState"] = asked["result"]["requestState"].clone();
    round["inputResponses"] = json!({"ask-1": {"action": "accept", "content": {"name": "Ada"}}});
    let round = request("tools/call", round);
    let mut wire = a.open().await;
    wire.send(&round.bytes()).await;
    until(|| works.begun.load(Ordering::SeqCst) == 1).await;
    is_away(&backend, true);
    works.may_end.store(true, Ordering::SeqCst);
    assert!(soon(wire.response()).await.text().contains("The till is broken."));
    sleep(Duration::from_millis(300)).await;
    is_away(&backend, false);
    assert!(soon(b.ask(&round)).await.text().contains("The till is broken."));
    assert_eq!(works.begun.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn task_that_its_client_was_refused_is_not_left_to_others() {
    let (backend, works, a, _b) = fleet().await;
    backend.state.set(|state| &state.create_is_lost, true);
    let refused = a.ask(&request("tools/call", json!({"name": "stay", "arguments": {}}))).await;
    assert_eq!(refused.status, 503, "{refused:?}");
    let tasks = backend.memory.tasks();
    soon(async {
        while !tasks.holders().await.unwrap().is_empty() {
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert_eq!(works.begun.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn call_is_answered_although_an_earlier_change_is_not_saved() {
    let (backend, works, a, _b) = fleet().await;
    works.may_end.store(true, Ordering::SeqCst);
    let session = a.session(NEWEST).await;
    is_away(&backend, true);
    let subscribe =
        json!({"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": {"uri": "clock://now"}});
    assert_eq!(a.ask(&in_session(&session, &subscribe)).await.status, 503);
    let read = json!({"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": {"uri": "clock://now"}});
    let answer = a.ask(&in_session(&session, &read)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["result"]["contents"][0]["text"], "now");
}
