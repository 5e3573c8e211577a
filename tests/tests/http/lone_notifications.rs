//! Notifications with a handler of the server's own that belong to no session: who sent them, and how many run at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use http::StatusCode;
use mcp_runtime::Limits;
use mcp_runtime::http::HttpService;
use mcp_runtime::prelude::*;
use mcp_tests::http::{Ask, Response, Site, until};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::tower::{json_of, respond};

/// The handlers that run, and what lets them end.
#[derive(Debug)]
struct Index {
    begun: AtomicUsize,
    ended: AtomicUsize,
    may_end: Semaphore,
}

/// A server whose handler runs until it may end, and callers who are named by a header.
fn service(change: impl FnOnce(&mut Limits)) -> (HttpService, Arc<Index>) {
    let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let index = Arc::new(Index { begun, ended, may_end: Semaphore::new(0) });
    let state = Arc::clone(&index);
    let mut limits = Limits::default();
    change(&mut limits);
    let server = Server::new("index", "1.0.0").limits(limits).notification("x.example/reindex", move |_, _: Value| {
        let index = Arc::clone(&state);
        async move {
            index.begun.fetch_add(1, SeqCst);
            index.may_end.acquire().await?.forget();
            index.ended.fetch_add(1, SeqCst);
            Ok(())
        }
    });
    (named(server.into_service()), index)
}

fn named(service: HttpService) -> HttpService {
    service.principal(|parts| {
        let user = parts.headers.get("x-user")?.to_str().ok()?.to_owned();
        assert_ne!(user, "mallory", "a secret");
        Some(user)
    })
}

fn notification(method: &str, params: &Value) -> Ask {
    let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
    Ask::post(message.to_string()).with("MCP-Protocol-Version", "2026-07-28")
}

fn reindex() -> Ask {
    notification("x.example/reindex", &json!({}))
}

#[track_caller]
fn is_taken(response: &Response) {
    assert_eq!((response.status, response.text()), (202, ""));
}

#[tokio::test]
async fn handlers_are_calls_of_their_principal() {
    let (service, index) = service(|limits| limits.in_flight = 2);
    let site = Site::serving(service).await;
    let ann = || reindex().with("X-User", "ann");
    is_taken(&site.ask(&ann()).await);
    is_taken(&site.ask(&ann()).await);
    until(|| index.begun.load(SeqCst) == 2).await;
    let refused = site.ask(&ann()).await;
    assert_eq!((refused.outcome(), refused.header("retry-after")), ((429, -32000), Some("1")));
    assert_eq!(refused.json()["id"], Value::Null);
    is_taken(&site.ask(&notification("notifications/cancelled", &json!({"requestId": 1})).with("X-User", "ann")).await);
    is_taken(&site.ask(&reindex().with("X-User", "bob")).await);
    until(|| index.begun.load(SeqCst) == 3).await;
    index.may_end.add_permits(3);
    until(|| index.ended.load(SeqCst) == 3).await;
    // The place is free a moment later.
    while site.ask(&ann()).await.status != 202 {
        tokio::task::yield_now().await;
    }
    until(|| index.begun.load(SeqCst) == 4).await;
}

#[tokio::test]
async fn handlers_of_anybody_are_requests() {
    // A nested service does not know its peers.
    let (mut service, index) = service(|limits| limits.requests = 4);
    for number in 1..=3 {
        assert_eq!(respond(&mut service, &reindex()).await.status(), StatusCode::ACCEPTED);
        until(|| index.begun.load(SeqCst) == number).await;
    }
    for _ in 0..5 {
        let refused = respond(&mut service, &reindex()).await;
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(refused.headers()["retry-after"], "1");
        assert_eq!(json_of(refused).await["error"]["code"], -32603);
    }
    assert_eq!(index.begun.load(SeqCst), 3, "nothing of them ran");
    index.may_end.add_permits(3);
    until(|| index.ended.load(SeqCst) == 3).await;
    while respond(&mut service, &reindex()).await.status() != StatusCode::ACCEPTED {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn long_notification_is_charged_until_its_handler_has_ended() {
    let (service, index) = service(|limits| (limits.message_bytes, limits.memory_bytes) = (80_000, 160_000));
    let site = Site::serving(service).await;
    let long = notification("x.example/reindex", &json!({"words": "y".repeat(79_000)}));
    is_taken(&site.ask(&long).await);
    let refused = site.ask(&long).await;
    assert_eq!((refused.outcome(), refused.header("retry-after")), ((503, -32603), Some("1")));
    is_taken(&site.ask(&reindex()).await);
    index.may_end.add_permits(2);
    until(|| index.ended.load(SeqCst) == 2).await;
    while site.ask(&long).await.status != 202 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn handler_knows_who_has_sent_it() {
    let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let server = Server::new("index", "1.0.0").notification("x.example/greet", move |ctx, (): ()| {
        let told = told.clone();
        async move {
            told.send(ctx.principal().map(str::to_owned))?;
            Ok(())
        }
    });
    let site = Site::serving(named(server.into_service())).await;
    let greet = notification("x.example/greet", &json!({}));
    for ask in [greet.clone(), greet.clone().without("MCP-Protocol-Version")] {
        is_taken(&site.ask(&ask.clone().with("X-User", "ann")).await);
        assert_eq!(heard.recv().await.unwrap().as_deref(), Some("ann"));
        is_taken(&site.ask(&ask).await);
        assert_eq!(heard.recv().await.unwrap(), None);
    }
    let refused = site.ask(&greet.with("X-User", "mallory")).await;
    assert_eq!(refused.outcome(), (500, -32603), "the hook panicked");
}
