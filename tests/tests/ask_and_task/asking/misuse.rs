//! Handlers that ask in the wrong place or at the wrong time: nothing hangs, leaks or gets mixed up.

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

/// Receives the outcome of asks that outlive their call.
static TOLD: Mutex<Option<UnboundedSender<String>>> = Mutex::new(None);
/// Held by the test that uses `TOLD`.
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

/// Spawn a task that asks when the call is answered.
#[tool]
fn afterthought(ctx: &Context) -> &'static str {
    let ctx = ctx.clone();
    tokio::spawn(async move {
        sleep(Duration::from_millis(50)).await;
        tell(ctx.elicit("Anybody there?").await);
    });
    "done"
}

/// Spawn a task that asks, and do not wait for it.
#[tool]
async fn impatient(ctx: &Context) -> &'static str {
    let asking = ctx.clone();
    tokio::spawn(async move { tell(asking.elicit("Anybody there?").await) });
    if !ctx.revision().is_modern() {
        sleep(Duration::from_millis(50)).await;
    }
    "done"
}

/// Work on a thread, and ask when the call was cancelled.
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

fn misused() -> Server {
    let mut limits = Limits::default();
    (limits.in_flight, limits.asks_per_call) = (4, 20);
    Server::new("misused", "1.0.0").limits(limits).tools(tools![
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
    TestClient::builder(misused()).revision(revision).capability("elicitation", json!({})).connect().await
}

/// The outcome of the next ask that outlived its call.
async fn heard(told: &mut UnboundedReceiver<String>) -> String {
    timeout(SOON, told.recv()).await.expect("somebody waits for ever").unwrap()
}

#[tokio::test]
async fn ask_after_the_call_ended_fails() -> Result<()> {
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
            assert_eq!(heard(&mut told).await, "the client has disconnected, or the call is over", "{tool} {revision}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn blocking_ask_of_a_cancelled_call_frees_its_thread() -> Result<()> {
    let _one = ONE.lock().await;
    for revision in ERAS {
        let mut told = listen();
        let client = connect(revision).await?;
        // Three times as many calls as `in_flight`: each has to free its slot.
        for _ in 0..3 {
            for _ in 0..4 {
                let call = client.start("thread", json!({}))?;
                client.request("tools/list", json!({})).await?;
                call.cancel()?;
            }
            for _ in 0..4 {
                assert_eq!(heard(&mut told).await, "the client has disconnected, or the call is over", "{revision}");
            }
            sleep(Duration::from_millis(50)).await;
        }
    }
    Ok(())
}

#[tokio::test]
async fn ask_inside_once_is_an_error() -> Result<()> {
    for revision in ERAS {
        let client = TestClient::builder(misused()).revision(revision).on_elicit(|_| json!({"name": "Ada"}));
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
async fn asks_limit_is_an_error() -> Result<()> {
    for revision in ERAS {
        let client = TestClient::builder(misused()).revision(revision).on_elicit(|_| json!({"name": "Ada"}));
        let answer = client.connect().await?.call("nosy", json!({})).await;
        let text = answer.map_or_else(|error| error.to_string(), |answer| answer.text());
        assert!(text.contains("at most 20 times"), "{revision}: {text}");
    }
    Ok(())
}

#[tokio::test]
async fn losing_branch_of_a_select_withdraws_its_question() -> Result<()> {
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

/// Send the user to a page.
#[tool]
async fn visit(ctx: &Context, url: String) -> Result<String> {
    match ctx.elicit_url("Please sign in.", url).await {
        Err(AskError::Misused(why)) => Ok(format!("misused: {why}")),
        other => Ok(other.map(|_| "visited".to_owned())?),
    }
}

/// A client may hand the URL to a browser as it is.
#[tokio::test]
async fn url_that_no_user_should_open_is_an_error() -> Result<()> {
    for revision in ERAS {
        let user = |question: &mcp_runtime::testing::ElicitRequest| {
            assert!(question.url().is_some_and(|url| url.starts_with("https://") || url.contains("//localhost:")));
            mcp_runtime::testing::ElicitReply::accept(json!({}))
        };
        let server = Server::new("pages", "1.0.0").tools(tools![visit]);
        let client = TestClient::builder(server).revision(revision).on_elicit(user).connect().await?;
        for (url, why) in [
            ("javascript://example.com/%0aalert(1)", "its scheme is not `https`"),
            ("http://example.com/sign-in", "`http` is not encrypted"),
            ("http://localhost@example.com/", "`http` is not encrypted"),
            ("sign-in", "it is not a URL"),
        ] {
            let text = client.call("visit", json!({"url": url})).await?.text();
            assert!(text.starts_with("misused: ") && text.contains(why), "{revision} {url}: {text}");
            assert!(text.contains("write `https://host/path`"), "{revision} {url}: {text}");
        }
        for url in ["https://example.com/sign-in", "http://localhost:8080/sign-in"] {
            assert_eq!(client.call("visit", json!({"url": url})).await?.text(), "visited", "{revision} {url}");
        }
    }
    Ok(())
}
