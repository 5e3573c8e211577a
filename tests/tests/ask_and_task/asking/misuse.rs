//! Handlers whose authors did not think of everything: nothing hangs, nothing stays, nothing is mixed up.

use std::sync::Mutex;
use std::time::Duration;

use mcp_runtime::ask::AskError;
use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use mcp_runtime::{Limits, Revision};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{sleep, timeout};

use super::Name;

const ERAS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];
const SOON: Duration = Duration::from_secs(5);

/// What became of the asks nobody waits for.
static TOLD: Mutex<Option<UnboundedSender<String>>> = Mutex::new(None);
/// One test at a time is told.
static ONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

fn tell(answer: Result<Name, AskError>) {
    let text = answer.map_or_else(|error| error.to_string(), |name| name.name);
    if let Some(told) = &*TOLD.lock().unwrap() {
        let _ = told.send(text);
    }
}

fn listen() -> UnboundedReceiver<String> {
    let (sender, told) = unbounded_channel();
    *TOLD.lock().unwrap() = Some(sender);
    told
}

/// Leave somebody behind who asks when the call is answered.
#[tool]
fn afterthought(ctx: &Context) -> &'static str {
    let ctx = ctx.clone();
    tokio::spawn(async move {
        sleep(Duration::from_millis(50)).await;
        tell(ctx.elicit("Anybody there?").await);
    });
    "done"
}

/// Leave somebody behind who has asked.
#[tool]
async fn impatient(ctx: &Context) -> &'static str {
    let asking = ctx.clone();
    tokio::spawn(async move { tell(asking.elicit("Anybody there?").await) });
    if !ctx.revision().is_modern() {
        sleep(Duration::from_millis(50)).await;
    }
    "done"
}

/// Work on a thread, and ask when nobody waits any more.
#[tool(blocking)]
fn thread(ctx: &Context) -> &'static str {
    std::thread::sleep(Duration::from_millis(100));
    let answer = tokio::runtime::Handle::current().block_on(ctx.elicit::<Name>("Still there?"));
    tell(answer);
    "done"
}

/// Ask in the middle of what is done once.
#[tool]
async fn inside(ctx: &Context) -> Result<String> {
    ctx.once("ask", async {
        let name: Name = ctx.elicit("Who?").await?;
        Ok(name.name)
    })
    .await
}

/// Do one thing inside another, and panic in a third.
#[tool]
async fn nested(ctx: &Context) -> Result<String> {
    let inner = ctx.once("outer", async { ctx.once("inner", async { Ok(1) }).await }).await?;
    let name: Name = ctx.elicit("Who?").await?;
    Ok(format!("{} {inner}", name.name))
}

/// Panic while something is done once.
#[tool]
async fn panics(ctx: &Context) -> Result<()> {
    ctx.once("panic", async {
        tokio::task::yield_now().await;
        panic!("on purpose")
    })
    .await
}

/// Ask without end.
#[tool]
async fn nosy(ctx: &Context) -> Result<String> {
    for number in 0..10_000 {
        let _: Name = ctx.elicit(format!("Question {number}?")).await?;
    }
    Ok("enough".to_owned())
}

/// Take whatever is there first.
#[tool]
async fn either(ctx: &Context) -> Result<String> {
    tokio::select! {
        name = ctx.elicit::<Name>("Who?").key("who") => Ok(name?.name),
        other = ctx.elicit::<Name>("Who else?").key("else") => Ok(other?.name),
    }
}

fn careless() -> Server {
    let mut limits = Limits::default();
    (limits.in_flight, limits.asks_per_call) = (4, 20);
    Server::new("careless", "1.0.0").limits(limits).tools(tools![
        afterthought,
        impatient,
        thread,
        inside,
        nested,
        panics,
        nosy,
        either
    ])
}

async fn connect(revision: Revision) -> Result<TestClient, ServerError> {
    TestClient::builder(careless()).revision(revision).capability("elicitation", json!({})).connect().await
}

/// What whoever was left behind came to know.
async fn heard(told: &mut UnboundedReceiver<String>) -> String {
    timeout(SOON, told.recv()).await.expect("somebody waits for ever").unwrap()
}

#[tokio::test]
async fn who_asks_when_the_call_is_over_asks_nobody() -> Result<()> {
    let _one = ONE.lock().await;
    for revision in ERAS {
        for tool in ["afterthought", "impatient"] {
            let mut told = listen();
            let client = connect(revision).await?;
            let call =
                json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {}}});
            if revision.is_modern() {
                client.request("tools/call", call["params"].clone()).await?;
            } else {
                client.send(&call.to_string())?;
            }
            assert_eq!(heard(&mut told).await, "the client is gone", "{tool} {revision}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_that_asks_for_nobody_is_given_back() -> Result<()> {
    let _one = ONE.lock().await;
    for revision in ERAS {
        let mut told = listen();
        let client = connect(revision).await?;
        // More than there may be at a time, if none came back.
        for _ in 0..3 {
            for _ in 0..4 {
                let call = client.start("thread", json!({}))?;
                client.request("tools/list", json!({})).await?;
                call.cancel()?;
            }
            for _ in 0..4 {
                assert_eq!(heard(&mut told).await, "the client is gone", "{revision}");
            }
            sleep(Duration::from_millis(50)).await;
        }
    }
    Ok(())
}

#[tokio::test]
async fn nothing_is_asked_inside_what_is_done_once() -> Result<()> {
    for revision in ERAS {
        let client = TestClient::builder(careless()).revision(revision).on_elicit(|_| json!({"name": "Ada"}));
        let client = client.connect().await?;
        let answer = timeout(SOON, client.call("inside", json!({}))).await.expect("it waits for itself")?;
        assert!(answer.is_error() && answer.text().contains("inside of `ctx.once`"), "{revision}: {}", answer.text());
        assert_eq!(client.call("nested", json!({})).await?.text(), "Ada 1");
        assert!(client.call("panics", json!({})).await?.is_error());
        assert_eq!(client.call("nested", json!({})).await?.text(), "Ada 1");
    }
    Ok(())
}

#[tokio::test]
async fn there_are_so_many_questions_of_a_call() -> Result<()> {
    for revision in ERAS {
        let client = TestClient::builder(careless()).revision(revision).on_elicit(|_| json!({"name": "Ada"}));
        let answer = client.connect().await?.call("nosy", json!({})).await;
        let text = answer.map_or_else(|error| error.to_string(), |answer| answer.text());
        assert!(text.contains("at most 20 times"), "{revision}: {text}");
    }
    Ok(())
}

#[tokio::test]
async fn of_two_questions_the_first_answer_counts_and_the_other_is_taken_back() -> Result<()> {
    let client = connect(Revision::V2025_11_25).await?;
    client.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"either","arguments":{}}}"#)?;
    let next = async || -> Result<Value> { Ok(serde_json::from_str(&client.receive().await?)?) };
    let (one, other) = (next().await?, next().await?);
    assert_ne!(one["params"]["message"], other["params"]["message"]);
    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    client.send(&json!({"jsonrpc": "2.0", "id": other["id"], "result": answer}).to_string())?;
    assert_eq!(next().await?["params"]["requestId"], one["id"]);
    assert_eq!(next().await?["result"]["content"][0]["text"], "Ada");
    Ok(())
}
