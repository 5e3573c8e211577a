//! Copies of a round that reach different replicas: `ctx.once` is once in all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::store::{Backend, MemoryBackend};
use mcp_runtime::{Limits, Result};
use mcp_tests::http::mortal::Mortal;
use mcp_tests::http::{Ask, Site, modern, soon, until};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::faulty_backend::Shared;

/// A shop whose till opens when the test says so.
struct Shop {
    begun: AtomicUsize,
    sales: AtomicUsize,
    open: Semaphore,
    is_broken: AtomicBool,
}

struct Till(Arc<Shop>);

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[handlers]
impl Till {
    /// Sell something once, when somebody says who they are.
    #[tool]
    async fn sell(&self, ctx: &Context) -> Result<String> {
        let Name { name } = ctx.elicit("Who is there?").await?;
        let sale = ctx.once("sell", async {
            self.0.begun.fetch_add(1, Ordering::SeqCst);
            if self.0.is_broken.load(Ordering::SeqCst) {
                return Err(Error::msg("The till is broken."));
            }
            self.0.open.acquire().await?.forget();
            Ok(self.0.sales.fetch_add(1, Ordering::SeqCst) + 1)
        });
        Ok(format!("{name}: sale {}", sale.await?))
    }
}

async fn replica(backend: &(impl Backend + Clone), shop: &Arc<Shop>) -> Mortal {
    let mut limits = Limits::default();
    limits.replica_lease = Duration::from_secs(1);
    let server = Server::new("shop", "1.0.0").backend(backend.clone()).limits(limits);
    Mortal::serving(server.mount(Till(Arc::clone(shop))).into_service()).await
}

fn shop(open: usize) -> Arc<Shop> {
    let (begun, sales, is_broken) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    Arc::new(Shop { begun, sales, open: Semaphore::new(open), is_broken })
}

fn request(more: &Value) -> Ask {
    let mut params = json!({"name": "sell", "arguments": {}});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
    modern("tools/call", params)
}

/// The second round of a call that was begun at this replica.
async fn second_round(site: &Site) -> Ask {
    let asked = site.ask(&request(&json!({}))).await.json();
    let answer = json!({"ask-1": {"action": "accept", "content": {"name": "Ada"}}});
    request(&json!({"requestState": asked["result"]["requestState"], "inputResponses": answer}))
}

async fn sold(site: &Site, round: &Ask) -> String {
    let answer = soon(site.ask(round)).await.json();
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

#[tokio::test]
async fn copies_at_several_replicas_have_one_effect() {
    let (backend, shop) = (MemoryBackend::new(), shop(0));
    let (a, b) = (replica(&backend, &shop).await, replica(&backend, &shop).await);
    let round = second_round(&a.site).await;
    let open = async {
        until(|| shop.begun.load(Ordering::SeqCst) > 0).await;
        // The copies are there, and wait.
        tokio::time::sleep(Duration::from_millis(100)).await;
        shop.open.add_permits(10);
    };
    let (one, two, three, ()) = tokio::join!(sold(&a.site, &round), sold(&b.site, &round), sold(&b.site, &round), open);
    assert_eq!([&*one, &*two, &*three], ["Ada: sale 1"; 3]);
    assert_eq!(shop.sales.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn retry_elsewhere_after_a_lost_response_has_no_second_effect() {
    let (backend, shop) = (MemoryBackend::new(), shop(10));
    let (a, b) = (replica(&backend, &shop).await, replica(&backend, &shop).await);
    let round = second_round(&a.site).await;
    assert_eq!(sold(&a.site, &round).await, "Ada: sale 1");
    // The client has not got it.
    assert_eq!(sold(&b.site, &round).await, "Ada: sale 1");
    a.dies();
    assert_eq!(sold(&b.site, &round).await, "Ada: sale 1");
    // Another call is another sale.
    let round = second_round(&b.site).await;
    assert_eq!(sold(&b.site, &round).await, "Ada: sale 2");
}

#[tokio::test]
async fn work_of_a_dead_replica_is_done_by_another() {
    let (backend, shop) = (MemoryBackend::new(), shop(0));
    let (a, b) = (replica(&backend, &shop).await, replica(&backend, &shop).await);
    let round = second_round(&b.site).await;
    let (mut first, mut second) = (a.site.open().await, b.site.open().await);
    first.send(&round.bytes()).await;
    until(|| shop.begun.load(Ordering::SeqCst) == 1).await;
    second.send(&round.bytes()).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(shop.begun.load(Ordering::SeqCst), 1, "the copy waits");
    a.dies();
    until(|| shop.begun.load(Ordering::SeqCst) == 2).await;
    shop.open.add_permits(1);
    let answer = soon(second.response()).await.json();
    assert_eq!(answer["result"]["content"][0]["text"], "Ada: sale 1");
}

/// A run that failed releases its claim in the background, and the replica may have claimed the block again by then.
#[tokio::test]
async fn late_release_does_not_end_the_next_claim() {
    let (backend, shop) = (Shared::default(), shop(0));
    backend.state.set(|state| &state.slow_release, true);
    let (a, b) = (replica(&backend, &shop).await, replica(&backend, &shop).await);
    let round = second_round(&a.site).await;
    shop.is_broken.store(true, Ordering::SeqCst);
    assert_eq!(sold(&a.site, &round).await, "The till is broken.");
    shop.is_broken.store(false, Ordering::SeqCst);
    let (mut again, mut copy) = (a.site.open().await, b.site.open().await);
    again.send(&round.bytes()).await;
    until(|| shop.begun.load(Ordering::SeqCst) == 2).await;
    tokio::time::sleep(Duration::from_millis(800)).await;
    copy.send(&round.bytes()).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(shop.begun.load(Ordering::SeqCst), 2, "the copy waits for the second run");
    shop.open.add_permits(2);
    for wire in [&mut again, &mut copy] {
        let answer = soon(wire.response()).await.json();
        assert_eq!(answer["result"]["content"][0]["text"], "Ada: sale 1", "{answer}");
    }
}
