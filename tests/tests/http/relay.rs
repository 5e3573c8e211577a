//! Messages about a call that arrive at another replica than the one that runs it: no session affinity is needed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use mcp_runtime::Revision;
use mcp_runtime::prelude::*;
use mcp_runtime::store::{Change, ChangeBus as _};
use mcp_tests::http::server::{SESSIONS, TestServer, server};
use mcp_tests::http::{Ask, Site, Wire, call_in, in_session, soon, stream_of, until};
use serde_json::Value;

use crate::asking::{Name, greet};
use crate::faulty_backend::Shared;
use crate::replicas::{NEWEST, delete, is_later, ping};

/// Ask the client's model.
#[tool]
async fn think(ctx: &Context) -> Result<String> {
    Ok(format!("{:?}", ctx.sample("Think.").await?.content()))
}

/// Ask for the client's directories.
#[tool]
async fn roots(ctx: &Context) -> Result<usize> {
    Ok(ctx.list_roots().await?.len())
}

/// Ask twice at the same time.
#[tool]
async fn both(ctx: &Context) -> Result<String> {
    let (one, other) = tokio::join!(ctx.elicit::<Name>("One?"), ctx.elicit::<Name>("Another?"));
    Ok(format!("{} and {}", one?.name, other?.name))
}

/// Two replicas, what they share, and the state of the first one's handlers.
struct Fleet {
    a: Site,
    b: Site,
    shared: Shared,
    handlers: Arc<TestServer>,
}

async fn fleet() -> Fleet {
    let (shared, handlers) = (Shared::default(), Arc::<TestServer>::default());
    let site = async |handlers: &Arc<TestServer>| {
        let state = Arc::clone(&shared.state);
        let server = server(handlers).backend(shared.clone()).on_protocol_error(move |_| {
            state.hook.fetch_add(1, Ordering::SeqCst);
        });
        let service = server.tools(tools![greet, think, roots, both]).into_service();
        Site::serving(service.principal(|parts| Some(parts.headers.get("x-user")?.to_str().ok()?.to_owned()))).await
    };
    let (a, b) = (site(&handlers).await, site(&Arc::default()).await);
    Fleet { a, b, shared, handlers }
}

/// A session of a client that can be asked anything.
async fn session(site: &Site, revision: Revision) -> String {
    let capabilities = json!({"elicitation": {}, "sampling": {}, "roots": {}});
    let params =
        json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": {"name": "c", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let response = site.ask(&Ask::post(hello.to_string()).with("X-User", "ann")).await;
    response.header("mcp-session-id").expect("a session has an id").to_owned()
}

fn of_ann(ask: Ask) -> Ask {
    ask.with("X-User", "ann")
}

fn call(session: &str, id: u64, tool: &str, arguments: &Value) -> Ask {
    of_ann(call_in(session, id, tool, arguments))
}

fn cancel(session: &str, id: &Value) -> Ask {
    let message = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    of_ann(in_session(session, &message))
}

fn answer(session: &str, id: &Value, result: &Value) -> Ask {
    of_ann(in_session(session, &json!({"jsonrpc": "2.0", "id": id, "result": result})))
}

fn named(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

/// Begins a call that asks, and returns its question and stream.
async fn asked(site: &Site, session: &str, tool: &str) -> (Value, Wire) {
    let (head, mut wire) = site.begin(&call(session, 7, tool, &json!({}))).await;
    assert_eq!(head.status, 200);
    (soon(wire.event()).await.expect("a question"), wire)
}

async fn text_of(wire: &mut Wire) -> String {
    let result = soon(wire.event()).await.expect("a result");
    assert_eq!(result["id"], 7, "{result}");
    result["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
}

#[tokio::test]
async fn cancellation_reaches_the_replica_that_runs_the_call() {
    for revision in SESSIONS {
        let Fleet { a, b, shared, handlers } = fleet().await;
        let session = session(&b, revision).await;
        let (call, cancel) = (call(&session, 5, "sleep", &json!({"ms": 60_000})), cancel(&session, &json!(5)));
        let mut wire = a.open().await;
        wire.send(&call.bytes()).await;
        until(|| handlers.begun.load(Ordering::SeqCst) == 1).await;
        // It has to be told: it cannot find out by itself.
        shared.state.set(|state| &state.then_blind, true);
        assert_eq!(b.ask(&cancel).await.status, 202, "{revision}");
        until(|| handlers.dropped.load(Ordering::SeqCst) == 1).await;
        assert_eq!(handlers.finished.load(Ordering::SeqCst), 0);
        assert_eq!(soon(wire.response()).await.status, 202, "it is not answered");
    }
}

#[tokio::test]
async fn cancellation_in_a_batch_reaches_the_replica_that_runs_the_call() {
    let Fleet { a, b, handlers, .. } = fleet().await;
    let session = session(&b, Revision::V2025_03_26).await;
    let mut wire = a.open().await;
    wire.send(&call(&session, 5, "sleep", &json!({"ms": 60_000})).bytes()).await;
    until(|| handlers.begun.load(Ordering::SeqCst) == 1).await;
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}});
    let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}, cancelled]);
    assert_eq!(b.ask(&of_ann(in_session(&session, &batch))).await.status, 200);
    until(|| handlers.dropped.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn elicitation_is_answered_at_another_replica() {
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
        let Fleet { a, b, shared, .. } = fleet().await;
        let session = session(&a, revision).await;
        let (question, mut wire) = asked(&a, &session, "greet").await;
        shared.state.set(|state| &state.then_blind, true);
        assert_eq!(b.ask(&answer(&session, &question["id"], &named("Ada"))).await.status, 202);
        assert_eq!(text_of(&mut wire).await, "Hello, Ada!");
        assert_eq!(soon(wire.event()).await, None, "the stream ends with the result");
        assert_eq!(shared.state.hook.load(Ordering::SeqCst), 0, "there is nothing wrong with it");
    }
}

#[tokio::test]
async fn sampling_roots_and_errors_are_answered_at_another_replica() {
    let Fleet { a, b, .. } = fleet().await;
    let session = session(&b, NEWEST).await;
    let (question, mut wire) = asked(&a, &session, "think").await;
    let thought = json!({"role": "assistant", "content": {"type": "text", "text": "hm, hm"}, "model": "m"});
    assert_eq!(b.ask(&answer(&session, &question["id"], &thought)).await.status, 202);
    assert!(text_of(&mut wire).await.contains("hm, hm"));

    let (question, mut wire) = asked(&a, &session, "roots").await;
    let directories = json!({"roots": [{"uri": "file:///a"}, {"uri": "file:///b"}]});
    assert_eq!(b.ask(&answer(&session, &question["id"], &directories)).await.status, 202);
    assert_eq!(text_of(&mut wire).await, "2");

    let (question, mut wire) = asked(&a, &session, "roots").await;
    let error = json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -1, "message": "not today"}});
    assert_eq!(b.ask(&of_ann(in_session(&session, &error))).await.status, 202);
    assert!(text_of(&mut wire).await.contains("not today"));
}

#[tokio::test]
async fn answers_may_arrive_anywhere_and_in_any_order() {
    let Fleet { a, b, .. } = fleet().await;
    let session = session(&a, NEWEST).await;
    let (first, mut wire) = asked(&a, &session, "both").await;
    let second = soon(wire.event()).await.unwrap();
    // `join!` may begin with either.
    let (one, other) = if first["params"]["message"] == "One?" { (first, second) } else { (second, first) };
    assert_eq!(b.ask(&answer(&session, &other["id"], &named("Bea"))).await.status, 202);
    assert_eq!(a.ask(&answer(&session, &one["id"], &named("Ada"))).await.status, 202);
    assert_eq!(text_of(&mut wire).await, "Ada and Bea");
}

/// Both replicas have a question of the session, with ids that differ.
#[tokio::test]
async fn answers_go_to_the_replica_that_asked() {
    let Fleet { a, b, .. } = fleet().await;
    let session = session(&a, NEWEST).await;
    let (of_a, mut at_a) = asked(&a, &session, "greet").await;
    let (of_b, mut at_b) = asked(&b, &session, "greet").await;
    assert_ne!(of_a["id"], of_b["id"]);
    assert_eq!(a.ask(&answer(&session, &of_b["id"], &named("Bea"))).await.status, 202);
    assert_eq!(b.ask(&answer(&session, &of_a["id"], &named("Ada"))).await.status, 202);
    assert_eq!(text_of(&mut at_a).await, "Hello, Ada!");
    assert_eq!(text_of(&mut at_b).await, "Hello, Bea!");
}

#[tokio::test]
async fn message_is_found_without_the_bus() {
    let Fleet { a, b, shared, .. } = fleet().await;
    let session = session(&a, NEWEST).await;
    let (question, mut wire) = asked(&a, &session, "greet").await;
    shared.state.set(|state| &state.deaf, true);
    assert_eq!(b.ask(&answer(&session, &question["id"], &named("Ada"))).await.status, 202);
    assert_eq!(text_of(&mut wire).await, "Hello, Ada!");
}

#[tokio::test]
async fn unknown_ids_wake_nothing() {
    let Fleet { a, b, shared, .. } = fleet().await;
    let session = session(&a, NEWEST).await;
    let (question, mut wire) = asked(&a, &session, "greet").await;
    let (own, hook) = (question["id"].as_str().unwrap(), || shared.state.hook.load(Ordering::SeqCst));
    // Ids that no replica made up go nowhere, and are reported as before.
    let unheard_of = ["7", "ask-1", "ask--1", "ask-12345678-", "ask-12345678-01", "ask-12345678-x", "ask-ab-1"];
    for (count, id) in unheard_of.into_iter().enumerate() {
        assert_eq!(b.ask(&answer(&session, &json!(id), &named("Eve"))).await.status, 202, "{id}");
        assert_eq!((shared.state.pushed(), hook()), (0, count + 1), "{id}");
    }
    // These look like one, and nobody takes them.
    let similar = format!("{}-99", own.rsplit_once('-').unwrap().0);
    for id in ["ask-12345678-1", &similar] {
        assert_eq!(b.ask(&answer(&session, &json!(id), &named("Eve"))).await.status, 202, "{id}");
    }
    assert_eq!(b.ask(&cancel(&session, &json!(8))).await.status, 202);
    assert_eq!(shared.state.pushed(), 3);
    until(|| shared.state.read() >= 1).await;
    // A question that was answered is over at the replica that asked.
    assert_eq!(b.ask(&answer(&session, &question["id"], &named("Ada"))).await.status, 202);
    assert_eq!(text_of(&mut wire).await, "Hello, Ada!");
    assert_eq!(a.ask(&answer(&session, &question["id"], &named("Eve"))).await.status, 202);
    assert_eq!(shared.state.pushed(), 4);
}

/// A client should not use an id again. If it does, the cancellation of the earlier call is over.
#[tokio::test]
async fn idle_replica_does_not_read_and_applies_nothing_later() {
    let Fleet { a, b, shared, handlers } = fleet().await;
    let session = session(&a, NEWEST).await;
    assert_eq!(b.ask(&of_ann(ping(&session))).await.status, 200);
    assert_eq!(b.ask(&cancel(&session, &json!(7))).await.status, 202);
    assert_eq!((shared.state.pushed(), shared.state.read()), (1, 0));
    let (question, mut wire) = asked(&a, &session, "greet").await;
    let mut sleeping = a.open().await;
    sleeping.send(&call(&session, 8, "sleep", &json!({"ms": 60_000})).bytes()).await;
    until(|| handlers.begun.load(Ordering::SeqCst) == 1).await;
    assert_eq!(b.ask(&cancel(&session, &json!(8))).await.status, 202);
    until(|| handlers.dropped.load(Ordering::SeqCst) == 1).await;
    // The first cancellation would have withdrawn the question.
    assert_eq!(a.ask(&answer(&session, &question["id"], &named("Ada"))).await.status, 202);
    assert_eq!(text_of(&mut wire).await, "Hello, Ada!");
}

#[tokio::test]
async fn calls_use_no_inbox() {
    let Fleet { a, b, shared, .. } = fleet().await;
    let session = session(&a, NEWEST).await;
    for (id, site) in (1..).zip([&a, &b, &a, &b]) {
        let response = site.ask(&call(&session, id, "add", &json!({"a": 1, "b": 2}))).await;
        assert_eq!(response.json()["result"]["content"][0]["text"], "3");
    }
    let (question, mut wire) = asked(&a, &session, "greet").await;
    assert_eq!(a.ask(&answer(&session, &question["id"], &named("Ada"))).await.status, 202);
    assert_eq!(text_of(&mut wire).await, "Hello, Ada!");
    assert_eq!(shared.state.pushed(), 0);
}

#[tokio::test]
async fn another_principal_cannot_relay() {
    let Fleet { a, b, shared, .. } = fleet().await;
    let session = session(&a, NEWEST).await;
    let (question, mut wire) = asked(&a, &session, "greet").await;
    let (answering, cancelling) = (answer(&session, &question["id"], &named("Eve")), cancel(&session, &json!(7)));
    for ask in [answering, cancelling] {
        for stranger in [ask.clone().without("X-User"), ask.but("X-User", "bob")] {
            assert_eq!(b.ask(&stranger).await.status, 404);
        }
    }
    // Nor can another session of the same one.
    let other = self::session(&b, NEWEST).await;
    assert_eq!(shared.state.pushed(), 0);
    assert_eq!(b.ask(&answer(&other, &question["id"], &named("Eve"))).await.status, 202);
    assert_eq!(b.ask(&answer(&session, &question["id"], &named("Ada"))).await.status, 202);
    assert_eq!(text_of(&mut wire).await, "Hello, Ada!");
}

#[tokio::test]
async fn message_about_another_replica_is_later_while_the_inbox_is_away() {
    let Fleet { a, b, shared, .. } = fleet().await;
    let session = session(&a, NEWEST).await;
    let (question, mut wire) = asked(&a, &session, "greet").await;
    let answer = answer(&session, &question["id"], &named("Ada"));
    shared.state.set(|state| &state.inbox_fails, true);
    is_later(&b.ask(&answer).await);
    is_later(&b.ask(&cancel(&session, &json!(9))).await);
    assert_eq!(b.ask(&of_ann(ping(&session))).await.status, 200, "requests do not need it");
    shared.state.set(|state| &state.inbox_fails, false);
    assert_eq!(b.ask(&answer).await.status, 202);
    assert_eq!(text_of(&mut wire).await, "Hello, Ada!");
}

#[tokio::test]
async fn replica_is_told_of_a_deleted_session() {
    let Fleet { a, b, shared, handlers } = fleet().await;
    let session = session(&a, NEWEST).await;
    let (_, mut stream) = a.begin(&of_ann(stream_of(&session))).await;
    let mut sleeping = a.open().await;
    sleeping.send(&call(&session, 8, "sleep", &json!({"ms": 60_000})).bytes()).await;
    until(|| handlers.begun.load(Ordering::SeqCst) == 1).await;
    shared.state.set(|state| &state.then_blind, true);
    assert_eq!(b.ask(&of_ann(delete(&session))).await.status, 204);
    soon(async { while stream.chunk().await.is_some() {} }).await;
    until(|| handlers.dropped.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn deleted_session_is_found_out_without_the_bus() {
    let Fleet { a, b, shared, .. } = fleet().await;
    let session = session(&a, NEWEST).await;
    let (_, mut stream) = a.begin(&of_ann(stream_of(&session))).await;
    shared.state.set(|state| &state.deaf, true);
    assert_eq!(b.ask(&of_ann(delete(&session))).await.status, 204);
    soon(async { while stream.chunk().await.is_some() {} }).await;
}

/// After a lost connection, a bus says that anything may have changed.
#[tokio::test]
async fn lost_changes_are_made_up_for() {
    let Fleet { a, b, shared, .. } = fleet().await;
    let session = session(&a, NEWEST).await;
    let (question, mut wire) = asked(&a, &session, "greet").await;
    shared.state.set(|state| &state.deaf, true);
    assert_eq!(b.ask(&answer(&session, &question["id"], &named("Ada"))).await.status, 202);
    shared.publish(&Change::All);
    assert_eq!(text_of(&mut wire).await, "Hello, Ada!");
}
