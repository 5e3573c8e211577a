//! Notifications of a running call: in order, before the response, never after it, rate-limited.

use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::protocol::LogLevel;
use mcp_runtime::testing::TestClient;
use mcp_runtime::{Limits, Revision};
use serde_json::Value;
use serde_json::value::RawValue;

/// Log so many messages without ever waiting for anything else.
#[tool]
async fn flood(ctx: &Context, count: u64) -> u64 {
    for number in 0..count {
        ctx.log(LogLevel::Warning, number).await;
    }
    count
}

/// Go on talking when the answer is given.
#[tool]
async fn afterwards(ctx: &Context) -> &'static str {
    let ctx = ctx.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        ctx.log(LogLevel::Emergency, "too late").await;
    });
    tokio::task::yield_now().await;
    "done"
}

/// Talk until somebody says stop.
#[tool]
async fn forever(ctx: &Context) {
    for number in 0_u64.. {
        ctx.progress(number, None).await;
        tokio::time::sleep(Duration::from_millis(11)).await;
    }
}

/// Work for some seconds and report, and never wait for anything else.
#[tool]
async fn work(ctx: &Context) {
    for step in 0..2000 {
        ctx.progress(step, 2000).await;
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Pass on JSON that has line breaks in it.
#[tool]
async fn raw(ctx: &Context) {
    let json: Box<RawValue> = RawValue::from_string("{\n  \"a\": 1\n}".to_owned()).unwrap();
    ctx.log(LogLevel::Error, json).await;
}

fn server() -> Server {
    Server::new("talker", "1.0.0").tools(tools![flood, afterwards, forever, work, raw])
}

fn call(id: u64, tool: &str, arguments: &Value, meta: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
           "params": {"name": tool, "arguments": arguments, "_meta": meta}})
}

async fn next(client: &TestClient) -> Value {
    let line = tokio::time::timeout(Duration::from_secs(10), client.receive()).await.expect("a line").unwrap();
    serde_json::from_str(&line).unwrap()
}

#[tokio::test]
async fn log_messages_arrive_in_order_before_the_response() -> Result<()> {
    let mut limits = Limits::default();
    limits.log_rate = u32::MAX;
    let client = TestClient::with_revision(server().limits(limits), Revision::V2025_11_25).await?;
    client.send(&call(100, "flood", &json!({"count": 20_000}), &json!({})).to_string())?;
    for number in 0..20_000 {
        assert_eq!(next(&client).await["params"]["data"], number);
    }
    assert_eq!(next(&client).await["result"]["content"][0]["text"], "20000");
    Ok(())
}

#[tokio::test]
async fn log_rate_drops_excess_messages() -> Result<()> {
    let client = TestClient::connect(server()).await?;
    let call = client.observe("flood", json!({"count": 20_000})).await?;
    let (told, second) = (call.logs().len(), 1000);
    assert!((second..20_000).contains(&told), "{told} messages of 20000");
    assert!(call.logs()[..second].iter().zip(0..).all(|(log, number)| log.data == number));
    Ok(())
}

#[tokio::test]
async fn no_notification_follows_the_response() -> Result<()> {
    let client = TestClient::with_revision(server(), Revision::V2025_11_25).await?;
    assert_eq!(client.call("afterwards", json!({})).await?.text(), "done");
    tokio::time::sleep(Duration::from_millis(60)).await;
    assert_eq!(client.close().await?, [""; 0]);
    Ok(())
}

#[tokio::test]
async fn no_notification_follows_a_cancellation() -> Result<()> {
    let client = TestClient::with_revision(server(), Revision::V2025_11_25).await?;
    client.send(&call(100, "forever", &json!({}), &json!({"progressToken": "t"})).to_string())?;
    assert_eq!(next(&client).await["params"], json!({"progressToken": "t", "progress": 0}));
    assert_eq!(next(&client).await["params"]["progress"], 1);
    client.notify("notifications/cancelled", &json!({"requestId": 100}))?;
    client.request("ping", json!({})).await?;
    tokio::time::sleep(Duration::from_millis(30)).await;
    while tokio::time::timeout(Duration::from_millis(1), client.receive()).await.is_ok() {}
    tokio::time::sleep(Duration::from_millis(60)).await;
    assert_eq!(client.close().await?, [""; 0]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_only_handler_yields_and_can_be_cancelled() -> Result<()> {
    let client = TestClient::with_revision(server(), Revision::V2025_11_25).await?;
    client.send(&call(100, "work", &json!({}), &json!({"progressToken": "t"})).to_string())?;
    // The first report comes while it works, and at another one it can be stopped.
    assert_eq!(next(&client).await["params"]["progressToken"], "t");
    client.request("ping", json!({})).await?;
    client.notify("notifications/cancelled", &json!({"requestId": 100}))?;
    let rest = client.close().await?;
    assert!(rest.iter().all(|line| line.contains("notifications/progress")), "{:?}", rest.last());
    Ok(())
}

#[tokio::test]
async fn notifications_of_a_batch_precede_its_responses() -> Result<()> {
    let client = TestClient::with_revision(server(), Revision::V2025_03_26).await?;
    let batch =
        json!([call(100, "flood", &json!({"count": 1}), &json!({})), {"jsonrpc": "2.0", "id": 101, "method": "ping"}]);
    client.send(&batch.to_string())?;
    assert_eq!(next(&client).await["method"], "notifications/message");
    let list = next(&client).await;
    assert_eq!((&list[0]["id"], &list[1]["id"]), (&json!(100), &json!(101)), "{list}");
    Ok(())
}

#[tokio::test]
async fn raw_json_is_written_on_one_line() -> Result<()> {
    let client = TestClient::with_revision(server(), Revision::V2025_11_25).await?;
    client.send(&call(100, "raw", &json!({}), &json!({})).to_string())?;
    assert_eq!(next(&client).await["params"]["data"], json!({"a": 1}));
    assert_eq!(next(&client).await["id"], 100);
    Ok(())
}

#[tokio::test]
async fn server_without_logging_rejects_set_level() -> Result<()> {
    let client = TestClient::with_revision(mcp_tests::fixture::only_tools(), Revision::V2025_11_25).await?;
    let refused = client.request("logging/setLevel", json!({"level": "debug"})).await.unwrap_err();
    assert_eq!(refused.code(), Some(-32601));
    Ok(())
}

/// Start somebody who talks a lot, and hold the reader up meanwhile.
#[tool]
fn talker_beside(ctx: &Context) -> &'static str {
    // Held in any case; the talker may come too late for that.
    ctx.try_log(LogLevel::Error, "x".repeat(1000));
    let ctx = ctx.clone();
    tokio::spawn(async move {
        for _ in 0..20_000 {
            ctx.log(LogLevel::Error, "x".repeat(1000)).await;
        }
    });
    std::thread::sleep(Duration::from_millis(200));
    "done"
}

#[tokio::test(flavor = "multi_thread")]
async fn held_notifications_are_bounded() -> Result<()> {
    let server = Server::new("talker", "1.0.0").tools(tools![talker_beside]);
    let client = TestClient::with_revision(server, Revision::V2025_11_25).await?;
    assert_eq!(client.call("talker_beside", json!({})).await?.text(), "done");
    let told: usize = client.close().await?.iter().map(String::len).sum();
    assert!((1000..100_000).contains(&told), "{told} bytes were held");
    Ok(())
}

/// Hold up the reader of the connection.
#[tool]
fn hold() {
    std::thread::sleep(Duration::from_millis(200));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notifications_precede_a_batch_that_completes_while_the_reader_is_busy() -> Result<()> {
    let server = Server::new("talker", "1.0.0").tools(tools![flood, afterwards, hold]);
    let client = TestClient::with_revision(server, Revision::V2025_03_26).await?;
    let call = |id, name, arguments| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    let batch = json!([call("a", "flood", json!({"count": 1})), call("b", "afterwards", json!({}))]);
    // In one write: the reader takes the second line before it writes anything.
    client.send_bytes(format!("{batch}\n{}\n", call("c", "hold", json!({}))))?;
    let first = client.receive().await?;
    assert!(first.contains("notifications/message"), "{first}");
    let second = client.receive().await?;
    assert!(second.starts_with('['), "{second}");
    Ok(())
}

static CAPTURED: std::sync::Mutex<Option<Context>> = std::sync::Mutex::new(None);

fn capture(ctx: &Context) -> bool {
    *CAPTURED.lock().unwrap() = Some(ctx.clone());
    true
}

/// A note.
#[resource("note://1", subscribe, visible_if = capture)]
fn note() -> &'static str {
    "a note"
}

#[tokio::test]
async fn context_of_a_predicate_is_cancelled_with_its_request() -> Result<()> {
    let server = Server::new("talker", "1.0.0").resources(resources![note]);
    let client = TestClient::with_revision(server, Revision::V2025_11_25).await?;
    client.request("resources/subscribe", json!({"uri": "note://1"})).await?;
    let context = CAPTURED.lock().unwrap().take().expect("the predicate ran");
    assert!(context.is_cancelled());
    // Returns at once: there is nobody to wait for.
    context.log(LogLevel::Emergency, "too late").await;
    Ok(())
}
