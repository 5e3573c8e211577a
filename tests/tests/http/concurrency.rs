//! `max_concurrent` over HTTP: callers who fill the queue, who leave, and who do not answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use http::StatusCode;
use mcp_runtime::Revision;
use mcp_runtime::http::HttpService;
use mcp_runtime::prelude::*;
use mcp_tests::http::{Ask, Site, call, call_in, soon, until};
use serde_json::Value;
use tokio::sync::{Mutex, Semaphore};
use tokio::task::JoinHandle;

use crate::asking::{Name, answer, session};
use crate::tower::{json_of, respond};

/// A handler with one place, in which calls stay until they are let go.
struct Room {
    leave: Semaphore,
    order: Mutex<Vec<String>>,
    begun: AtomicUsize,
}

#[handlers]
impl Room {
    /// Stay until there is leave to go.
    #[tool(max_concurrent = 1)]
    async fn stay(&self, name: String) -> Result<()> {
        self.order.lock().await.push(name);
        self.begun.fetch_add(1, SeqCst);
        self.leave.acquire().await?.forget();
        Ok(())
    }

    /// Ask who is there, or stay until there is leave to go.
    #[tool(max_concurrent = 1)]
    async fn ask(&self, ctx: &Context, stays: bool) -> Result<String> {
        self.begun.fetch_add(1, SeqCst);
        if stays {
            self.leave.acquire().await?.forget();
            return Ok("stayed".to_owned());
        }
        let Name { name } = ctx.elicit("Who is there?").await?;
        self.begun.fetch_add(1, SeqCst);
        Ok(name)
    }
}

fn room() -> (HttpService, Arc<Room>) {
    let room = Room { leave: Semaphore::new(0), order: Mutex::default(), begun: AtomicUsize::new(0) };
    let room = Arc::new(room);
    let service = Server::new("room", "1.0.0").mount(Arc::clone(&room)).into_service();
    (service.principal(|parts| Some(parts.headers.get("x-user")?.to_str().ok()?.to_owned())), room)
}

fn stay(user: &str) -> Ask {
    call("stay", &json!({"name": user})).with("X-User", user)
}

/// A request that waits for its response.
fn send(service: &HttpService, ask: &Ask) -> JoinHandle<StatusCode> {
    let (mut service, ask) = (service.clone(), ask.clone());
    tokio::spawn(async move { respond(&mut service, &ask).await.status() })
}

/// The paused clock goes on when all requests wait.
async fn all_wait() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn caller_who_fills_the_queue_leaves_room_for_others() {
    let (service, room) = room();
    let of_ann: Vec<_> = (0..17).map(|_| send(&service, &stay("ann"))).collect();
    all_wait().await;
    let refused = respond(&mut service.clone(), &stay("ann")).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    let of_bob = send(&service, &stay("bob"));
    all_wait().await;
    assert!(!of_bob.is_finished(), "it waits");
    assert_eq!(send(&service, &stay("bob")).await.unwrap(), StatusCode::SERVICE_UNAVAILABLE, "one is enough");
    room.leave.add_permits(18);
    for call in of_ann.into_iter().chain([of_bob]) {
        assert_eq!(call.await.unwrap(), StatusCode::OK);
    }
    let order = room.order.lock().await;
    assert_eq!(order.iter().position(|name| name == "bob"), Some(2), "callers take turns: {order:?}");
}

#[tokio::test(start_paused = true)]
async fn client_that_leaves_frees_its_place() {
    let (service, room) = room();
    let (running, queued) = (send(&service, &stay("ann")), send(&service, &stay("bob")));
    all_wait().await;
    let last = send(&service, &stay("carl"));
    all_wait().await;
    for gone in [queued, running] {
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
    }
    room.leave.add_permits(1);
    assert_eq!(last.await.unwrap(), StatusCode::OK);
    assert_eq!(*room.order.lock().await, ["ann", "carl"]);
}

#[tokio::test(start_paused = true)]
async fn full_queue_is_503_in_a_session() {
    let (mut service, _room) = room();
    let opened = respond(&mut service, &mcp_tests::http::initialize("2025-06-18")).await;
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let stay = |id| call_in(&session, id, "stay", &json!({"name": "ann"}));
    let waiting: Vec<_> = (1..=17).map(|id| send(&service, &stay(id))).collect();
    all_wait().await;
    let refused = respond(&mut service, &stay(18)).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.headers()["retry-after"], "1");
    let answer: Value = json_of(refused).await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(18), &json!(-32000)));
    waiting.iter().for_each(JoinHandle::abort);
}

#[tokio::test]
async fn client_that_does_not_answer_does_not_hold_a_place() {
    let (service, room) = room();
    let site = Site::serving(service).await;
    let [ann, bob] =
        [session(&site, Revision::V2025_11_25, "ann").await, session(&site, Revision::V2025_11_25, "bob").await];
    let ask = |session: &str, user: &str, stays: bool| {
        call_in(session, 7, "ask", &json!({"stays": stays})).with("X-User", user)
    };
    let (_, mut wire) = site.begin(&ask(&ann, "ann", false)).await;
    let question = soon(wire.event()).await.unwrap();
    // The place is free: it is taken by another.
    let site = Arc::new(site);
    let staying = {
        let (site, ask) = (Arc::clone(&site), ask(&bob, "bob", true));
        tokio::spawn(async move { site.ask(&ask).await })
    };
    until(|| room.begun.load(SeqCst) == 2).await;
    let name = json!({"action": "accept", "content": {"name": "Ada"}});
    assert_eq!(site.ask(&answer(&ann, &question, &name)).await.status, 202);
    // An answer to something else, so that the server has had time for what came before.
    site.serves().await;
    assert_eq!(room.begun.load(SeqCst), 2, "the handler goes on when it has a place again");
    room.leave.add_permits(1);
    assert_eq!(soon(staying).await.unwrap().status, 200);
    let told = soon(wire.event()).await.unwrap();
    assert_eq!(told["result"]["content"][0]["text"], "Ada", "{told}");
    assert_eq!(room.begun.load(SeqCst), 3);
}
