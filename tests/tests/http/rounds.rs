//! Asking in 2026-07-28 over HTTP: an `input_required` result, bound to one principal.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_tests::http::{Ask, Site, modern, soon, until};
use serde_json::Value;

use crate::asking::{Name, greet};

/// Tell how far it is, and ask.
#[tool]
async fn slowly(ctx: &Context) -> Result<String> {
    ctx.progress(1, 2).await;
    let Name { name } = ctx.elicit("Who is there?").await?;
    Ok(name)
}

static BEGUN: AtomicUsize = AtomicUsize::new(0);
static PAID: AtomicUsize = AtomicUsize::new(0);

/// Ask, and then pay slowly.
#[tool]
async fn pay(ctx: &Context) -> Result<String> {
    let Name { name } = ctx.elicit("Who is there?").await?;
    let payment = ctx.once("pay", async {
        BEGUN.fetch_add(1, SeqCst);
        tokio::time::sleep(Duration::from_millis(500)).await;
        Ok(PAID.fetch_add(1, SeqCst) + 1)
    });
    Ok(format!("{name}: payment {}", payment.await?))
}

async fn site() -> Site {
    let service = Server::new("asker", "1.0.0").tools(tools![greet, slowly, pay]).into_service();
    Site::serving(service.principal(|parts| Some(parts.headers.get("x-user")?.to_str().ok()?.to_owned()))).await
}

/// A round of a client that supports elicitation.
fn round(name: &str, more: &Value) -> Ask {
    let meta = json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}, "progressToken": 1});
    let mut params = json!({"name": name, "arguments": {}, "_meta": meta});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    modern("tools/call", params)
}

fn answered(asked: &Value) -> Value {
    let accept = json!({"action": "accept", "content": {"name": "Ada"}});
    json!({"inputResponses": {"ask-1": accept}, "requestState": asked["requestState"]})
}

#[tokio::test]
async fn elicitation_is_a_json_result() {
    let site = site().await;
    let asked = site.ask(&round("greet", &json!({}))).await;
    assert_eq!(asked.status, 200);
    let asked = asked.json()["result"].clone();
    assert_eq!(
        (&asked["resultType"], &asked["inputRequests"]["ask-1"]["method"]),
        (&json!("input_required"), &json!("elicitation/create"))
    );
    let done = site.ask(&round("greet", &answered(&asked))).await;
    assert_eq!((done.status, &done.json()["result"]["content"][0]["text"]), (200, &json!("Hello, Ada!")));
}

#[tokio::test]
async fn elicitation_follows_progress_on_the_stream() {
    let site = site().await;
    let told = soon(site.ask(&round("slowly", &json!({})))).await.events();
    assert_eq!((told.len(), &told[0]["method"]), (2, &json!("notifications/progress")));
    assert_eq!(told[1]["result"]["resultType"], "input_required");
    let told = soon(site.ask(&round("slowly", &answered(&told[1]["result"])))).await.events();
    assert_eq!(told[1]["result"]["content"][0]["text"], "Ada");
}

#[tokio::test]
async fn missing_capability_gets_400() {
    let site = site().await;
    let response = site.ask(&modern("tools/call", json!({"name": "greet", "arguments": {}}))).await;
    assert_eq!(response.outcome(), (400, -32021));
    assert_eq!(response.json()["error"]["data"], json!({"requiredCapabilities": {"elicitation": {"form": {}}}}));
}

#[tokio::test]
async fn request_state_is_rejected_for_another_principal() {
    let site = site().await;
    let asked = site.ask(&round("greet", &json!({})).with("X-User", "ann")).await.json()["result"].clone();
    let retry = round("greet", &answered(&asked));
    for stranger in [retry.clone(), retry.clone().with("X-User", "bob")] {
        let refused = site.ask(&stranger).await;
        assert_eq!(refused.outcome().1, -32602, "{refused:?}");
        let text = refused.json()["error"]["message"].to_string();
        assert!(text.contains("is not what this server sent for this call"), "{text}");
    }
    let done = site.ask(&retry.with("X-User", "ann")).await;
    assert_eq!(done.json()["result"]["content"][0]["text"], "Hello, Ada!");
    // A state without a principal is rejected for one.
    let asked = site.ask(&round("greet", &json!({}))).await.json()["result"].clone();
    assert_eq!(site.ask(&round("greet", &answered(&asked)).with("X-User", "ann")).await.outcome().1, -32602);
}

/// A client that gives up while the server pays, and tries again. The payment is on its way by then.
#[tokio::test]
async fn disconnect_in_a_once_block_does_not_repeat_it() {
    let site = site().await;
    let asked = site.ask(&round("pay", &json!({}))).await.json()["result"].clone();
    let retry = round("pay", &answered(&asked));
    for _ in 0..3 {
        let mut wire = site.open().await;
        wire.send(&retry.bytes()).await;
        until(|| BEGUN.load(SeqCst) == 1).await;
        drop(wire);
    }
    let paid = soon(site.ask(&retry)).await;
    let events =
        if paid.header("content-type") == Some("text/event-stream") { paid.events() } else { vec![paid.json()] };
    assert_eq!(events.last().unwrap()["result"]["content"][0]["text"], "Ada: payment 1", "{events:?}");
    assert_eq!((BEGUN.load(SeqCst), PAID.load(SeqCst)), (1, 1));
}
