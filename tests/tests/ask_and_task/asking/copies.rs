//! Copies of a round: sent at the same time, or after a response was lost. `ctx.once` is once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::Name;

const SOON: Duration = Duration::from_secs(20);

/// A shop whose till opens when the test says so.
struct Shop {
    sales: AtomicUsize,
    failures: AtomicUsize,
    begun: Semaphore,
    open: Semaphore,
}

impl Shop {
    fn new(open: usize) -> Arc<Self> {
        let (sales, failures) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Shop { sales, failures, begun: Semaphore::new(0), open: Semaphore::new(open) })
    }

    fn sales(&self) -> usize {
        self.sales.load(Ordering::SeqCst)
    }
}

struct Till(Arc<Shop>);

#[handlers]
impl Till {
    /// Sell something once, when somebody says who they are.
    #[tool]
    async fn sell(&self, ctx: &Context) -> Result<String> {
        let Name { name } = ctx.elicit("Who is there?").await?;
        let sale = ctx.once("sell", async {
            self.0.begun.add_permits(1);
            self.0.open.acquire().await?.forget();
            Ok(self.0.sales.fetch_add(1, Ordering::SeqCst) + 1)
        });
        let sale = sale.await?;
        let Name { name: again } = ctx.elicit("Really?").await?;
        Ok(format!("{name}, {again}: sale {sale}"))
    }

    /// Fail the first time.
    #[tool]
    async fn flaky(&self, ctx: &Context) -> Result<usize> {
        let _: Name = ctx.elicit("Who is there?").await?;
        let work = async {
            tokio::task::yield_now().await;
            match self.0.failures.fetch_add(1, Ordering::SeqCst) {
                0 => Err(Error::msg("the till is stuck")),
                _ => Ok(self.0.sales.fetch_add(1, Ordering::SeqCst) + 1),
            }
        };
        ctx.once("sell", work).await
    }

    /// Return more than can be remembered.
    #[tool]
    async fn wordy(&self, ctx: &Context) -> Result<usize> {
        let _: Name = ctx.elicit("Who is there?").await?;
        let work = async {
            self.0.sales.fetch_add(1, Ordering::SeqCst);
            Ok("x".repeat(100_000))
        };
        Ok(ctx.once("sell", work).await?.len())
    }
}

async fn client(shop: &Arc<Shop>) -> Result<TestClient, ServerError> {
    let server = Server::new("shop", "1.0.0").mount(Till(Arc::clone(shop)));
    TestClient::builder(server).capability("elicitation", json!({})).connect().await
}

fn call(tool: &str) -> Value {
    json!({"name": tool, "arguments": {}})
}

/// The retry of a round, with an answer to its only question.
fn retry(tool: &str, round: &Value) -> Value {
    let key = round["inputRequests"].as_object().expect("a question").keys().next().unwrap();
    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    let (answers, state) = (json!({key: answer}), &round["requestState"]);
    json!({"name": tool, "arguments": {}, "inputResponses": answers, "requestState": state})
}

#[tokio::test]
async fn ten_copies_of_a_round_have_one_effect() -> Result<()> {
    let shop = Shop::new(0);
    let client = client(&shop).await?;
    let first = retry("sell", &client.request("tools/call", call("sell")).await?);
    let copies = (0..10).map(|_| Box::pin(client.request("tools/call", first.clone())));
    let mut copies: Vec<_> = copies.collect();
    for copy in &mut copies {
        // Sent, and not answered: the till is closed.
        assert!(timeout(Duration::from_millis(20), copy).await.is_err());
    }
    timeout(SOON, shop.begun.acquire()).await.expect("one begins")?.forget();
    // If another had begun, it would sell, too.
    shop.open.add_permits(10);
    for copy in copies {
        let round = timeout(SOON, copy).await.expect("all copies are answered")?;
        let done = client.request("tools/call", retry("sell", &round)).await?;
        assert_eq!(done["content"][0]["text"], "Ada, Ada: sale 1");
    }
    assert_eq!((shop.sales(), shop.begun.available_permits()), (1, 0));
    Ok(())
}

#[tokio::test]
async fn retry_after_a_lost_response_has_no_second_effect() -> Result<()> {
    let shop = Shop::new(10);
    let client = client(&shop).await?;
    let first = retry("sell", &client.request("tools/call", call("sell")).await?);
    // The response is lost, and with it the state that says what was sold.
    client.request("tools/call", first.clone()).await?;
    let round = client.request("tools/call", first).await?;
    let last = retry("sell", &round);
    for _ in 0..2 {
        let done = client.request("tools/call", last.clone()).await?;
        assert_eq!(done["content"][0]["text"], "Ada, Ada: sale 1");
    }
    assert_eq!(shop.sales(), 1);
    // Another call is another dialogue.
    let other = retry("sell", &client.request("tools/call", call("sell")).await?);
    client.request("tools/call", other).await?;
    assert_eq!(shop.sales(), 2);
    Ok(())
}

/// The effect may have happened when the client cancels: it is finished, and the retry gets its result.
#[tokio::test]
async fn cancelled_call_finishes_its_once_block() -> Result<()> {
    let shop = Shop::new(0);
    let client = client(&shop).await?;
    let first = retry("sell", &client.request("tools/call", call("sell")).await?);
    let mut params = first.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    });
    client.send(&json!({"jsonrpc": "2.0", "id": "gone", "method": "tools/call", "params": params}).to_string())?;
    timeout(SOON, shop.begun.acquire()).await.expect("it begins")?.forget();
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"gone"}}"#)?;
    client.request("tools/list", json!({})).await?;
    let again = client.request("tools/call", first);
    shop.open.add_permits(10);
    let round = timeout(SOON, again).await.expect("the retry is answered")?;
    let done = client.request("tools/call", retry("sell", &round)).await?;
    assert_eq!(done["content"][0]["text"], "Ada, Ada: sale 1");
    assert_eq!((shop.sales(), shop.begun.available_permits()), (1, 0));
    Ok(())
}

#[tokio::test]
async fn failed_once_block_is_left_to_the_next_copy() -> Result<()> {
    let shop = Shop::new(0);
    let client = client(&shop).await?;
    let first = retry("flaky", &client.request("tools/call", call("flaky")).await?);
    let (one, two, three) = tokio::join!(
        client.request("tools/call", first.clone()),
        client.request("tools/call", first.clone()),
        client.request("tools/call", first.clone())
    );
    let mut texts = [one?, two?, three?].map(|result| result["content"][0]["text"].as_str().unwrap().to_owned());
    texts.sort();
    assert_eq!(texts, ["1", "1", "the till is stuck"]);
    Ok(())
}

#[tokio::test]
async fn result_too_long_to_remember_is_an_error_and_no_second_effect() -> Result<()> {
    let shop = Shop::new(0);
    let client = client(&shop).await?;
    let first = retry("wordy", &client.request("tools/call", call("wordy")).await?);
    assert_eq!(client.request("tools/call", first.clone()).await?["content"][0]["text"], "100000");
    let copy = client.request("tools/call", first).await?;
    let text = copy["content"][0]["text"].as_str().unwrap();
    assert!(copy["isError"] == true && text.contains("return an id from `ctx.once`"), "{text}");
    assert_eq!(shop.sales(), 1);
    Ok(())
}
