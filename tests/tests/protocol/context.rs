//! `Context`: client info, metadata, cancellation and timeouts, in every revision.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcp_runtime::testing::TestClient;
use mcp_runtime::{Revision, prelude::*};
use mcp_tests::with_sessions;

/// Everything there is to know.
#[tool]
fn about(ctx: &Context) -> String {
    json!({
        "client": ctx.client_name(),
        "version": ctx.client_version(),
        "sampling": ctx.client_capability("sampling"),
        "roots": ctx.client_capability("roots"),
        "root": ctx.initialize_param("rootUri"),
        "key": ctx.meta("example.com/key"),
        "trace": ctx.traceparent(),
        "state": ctx.tracestate(),
        "baggage": ctx.baggage(),
        "id": ctx.request_id(),
        "revision": ctx.revision().to_string(),
    })
    .to_string()
}

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn expected(id: &str, revision: &str, root: Option<&str>) -> serde_json::Value {
    json!({
        "client": "editor",
        "version": "7",
        "sampling": "{\"tools\":{}}",
        "roots": null,
        "root": root,
        "key": "[1, 2]",
        "trace": TRACE,
        "state": "a=1,b=2",
        "baggage": "user=7",
        "id": id,
        "revision": revision,
    })
}

const META: &str = r#""example.com/key":[1, 2],"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"a=1,b=2","baggage":"user=7""#;

#[tokio::test]
async fn context_has_the_clients_info_in_a_session() -> Result<()> {
    for revision in with_sessions() {
        let client = TestClient::connect_raw(Server::new("curious", "1.0.0").tools(tools![about]));
        client
            .exchange(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{"sampling":{{"tools":{{}}}}}},"clientInfo":{{"name":"editor","version":"7"}},"rootUri":"file:///w"}}}}"#
            ))
            .await?;
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{{"name":"about","_meta":{{{META}}}}}}}"#
        );
        let answer: serde_json::Value = serde_json::from_str(&client.exchange(&call).await?)?;
        let said: serde_json::Value = serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap())?;
        assert_eq!(said, expected("\"x\"", &revision.to_string(), Some("\"file:///w\"")));
    }
    Ok(())
}

#[tokio::test]
async fn context_has_the_clients_info_in_a_modern_request() -> Result<()> {
    let client = TestClient::connect_raw(Server::new("curious", "1.0.0").tools(tools![about]));
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"about","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{"sampling":{{"tools":{{}}}}}},"io.modelcontextprotocol/clientInfo":{{"name":"editor","version":"7"}},{META}}}}}}}"#
    );
    let answer: serde_json::Value = serde_json::from_str(&client.exchange(&call).await?)?;
    let said: serde_json::Value = serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap())?;
    assert_eq!(said, expected("7", "2026-07-28", None));
    Ok(())
}

#[tokio::test]
async fn invalid_trace_context_is_dropped() -> Result<()> {
    let client = TestClient::connect(Server::new("curious", "1.0.0").tools(tools![about])).await?;
    for bad in [json!("00-1-2-3"), json!(7), json!("x".repeat(100_000))] {
        let meta = json!({"traceparent": bad, "tracestate": "a=1", "baggage": bad});
        let answer = client.request("tools/call", json!({"name": "about", "_meta": meta})).await?;
        let said: serde_json::Value = serde_json::from_str(answer["content"][0]["text"].as_str().unwrap())?;
        assert_eq!((&said["trace"], &said["state"], &said["baggage"]), (&json!(null), &json!(null), &json!(null)));
    }
    Ok(())
}

static STOPPED: AtomicBool = AtomicBool::new(false);

/// Work until nobody wants it any more.
#[tool(blocking)]
fn grind(ctx: &Context) {
    while !ctx.is_cancelled() {
        std::thread::sleep(Duration::from_millis(2));
    }
    STOPPED.store(true, Ordering::SeqCst);
}

#[tokio::test]
async fn blocking_handler_sees_its_cancellation() -> Result<()> {
    async fn stops() {
        for _ in 0..2000 {
            if STOPPED.swap(false, Ordering::SeqCst) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("it goes on");
    }
    let server = || Server::new("mill", "1.0.0").tools(tools![grind]);
    let client = TestClient::with_revision(server(), Revision::V2025_11_25).await?;
    client.send(r#"{"jsonrpc":"2.0","id":"g","method":"tools/call","params":{"name":"grind"}}"#)?;
    client.notify("notifications/cancelled", &json!({"requestId": "g"}))?;
    stops().await;
    drop(client);

    let client = TestClient::connect(server().timeout(Duration::from_millis(20))).await?;
    let answer = client.call("grind", json!({})).await?;
    assert_eq!((answer.is_error(), answer.text()), (true, "The tool timed out after 20ms.".to_owned()));
    stops().await;
    Ok(())
}

/// Never ends, by itself.
#[tool]
async fn forever() {
    std::future::pending::<()>().await;
}

/// Takes its time, and may.
#[tool(timeout = "1m")]
async fn patient() -> &'static str {
    tokio::time::sleep(Duration::from_millis(60)).await;
    "done"
}

/// Never ends, either.
#[prompt]
async fn endless() -> String {
    std::future::pending().await
}

#[tokio::test]
async fn handler_timeout_overrides_the_servers() -> Result<()> {
    let server = Server::new("slow", "1.0.0")
        .tools(tools![forever, patient])
        .prompts(prompts![endless])
        .method("slow.example/wait", |_, (): ()| std::future::pending::<Result<()>>())
        .timeout(Duration::from_millis(20));
    let client = TestClient::connect(server).await?;
    assert!(client.call("forever", json!({})).await?.is_error());
    assert_eq!(client.call("patient", json!({})).await?.text(), "done");
    let error = client.get_prompt("endless", json!({})).await.unwrap_err();
    assert_eq!((error.code(), error.to_string()), (Some(-32603), "prompts/get timed out after 20ms".to_owned()));
    let error = client.request("slow.example/wait", json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "the method timed out after 20ms");
    Ok(())
}
