//! Every key of `#[tool]` and `#[prompt]`, as the lists show it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mcp_runtime::prelude::*;

use crate::{client, connect};

/// Everything.
#[tool(
    name = "every.key-1",
    title = "Every key",
    read_only,
    destructive = false,
    idempotent = true,
    open_world = false,
    icon = ["https://example.com/a.png", "data:image/svg+xml,x"],
    meta = { "example.com/cost": 3, "example.com/tags": ["a", { "b": null }] },
    timeout = "30s",
)]
async fn every_key() {}

/// One icon.
#[tool(icon = "https://example.com/a.png", destructive, open_world, blocking = false)]
fn some_keys() {}

#[tokio::test]
async fn tool_descriptor_has_every_key() {
    let client = client(tools![every_key, some_keys]).await;
    let listed = client.request("tools/list", json!({})).await.unwrap();
    assert_eq!(
        listed["tools"][0],
        json!({
            "name": "every.key-1",
            "title": "Every key",
            "description": "Everything.",
            "icons": [{"src": "https://example.com/a.png"}, {"src": "data:image/svg+xml,x"}],
            "inputSchema": {"type": "object", "properties": {}},
            "annotations":
                {"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false},
            "_meta": {"example.com/cost": 3, "example.com/tags": ["a", {"b": null}]},
        })
    );
    assert_eq!(listed["tools"][1]["annotations"], json!({"destructiveHint": true, "openWorldHint": true}));
    assert_eq!(listed["tools"][1]["icons"], json!([{"src": "https://example.com/a.png"}]));
}

/// Review.
#[prompt(
    name = "code.review",
    title = "Review code",
    description = "Asks for a review.",
    icon = "https://example.com/p.png",
    meta = { "example.com/kind": "review" },
    timeout = "2m",
    blocking
)]
fn review(#[arg(rename = "source-code", description = "The code.")] code: String) -> String {
    code
}

#[tokio::test]
async fn prompt_descriptor_has_every_key() {
    let client = connect(Server::new("test", "1").prompts(prompts![review])).await;
    let listed = client.request("prompts/list", json!({})).await.unwrap();
    assert_eq!(
        listed["prompts"][0],
        json!({
            "name": "code.review",
            "title": "Review code",
            "description": "Asks for a review.",
            "icons": [{"src": "https://example.com/p.png"}],
            "arguments": [{"name": "source-code", "description": "The code.", "required": true}],
            "_meta": {"example.com/kind": "review"},
        })
    );
    assert_eq!(client.get_prompt("code.review", json!({"source-code": "x"})).await.unwrap().text(), "x");
}

static QUICK_IS_DONE: AtomicBool = AtomicBool::new(false);

/// Ends when the other has: on the thread that reads messages, it never would.
#[tool(blocking)]
fn waits() -> bool {
    let limit = Instant::now() + Duration::from_secs(20);
    while !QUICK_IS_DONE.load(Ordering::Acquire) && Instant::now() < limit {
        std::thread::sleep(Duration::from_millis(1));
    }
    QUICK_IS_DONE.load(Ordering::Acquire)
}

#[tool]
fn quick() {
    QUICK_IS_DONE.store(true, Ordering::Release);
}

#[tokio::test]
async fn blocking_tool_does_not_block_the_reader() {
    let client = client(tools![waits, quick]).await;
    let (waits, quick) = tokio::join!(client.call("waits", json!({})), client.call("quick", json!({})));
    assert!(!quick.unwrap().is_error());
    assert_eq!(waits.unwrap().text(), "true");
}

/// Never ends.
#[tool(timeout = "50ms")]
async fn forever() -> String {
    std::future::pending().await
}

/// Takes its time.
#[tool(timeout = "50ms", blocking)]
fn slow() -> String {
    std::thread::sleep(Duration::from_millis(300));
    "done".into()
}

/// Is quick enough.
#[tool(timeout = "1m")]
async fn in_time() -> String {
    tokio::time::sleep(Duration::from_millis(5)).await;
    "done".into()
}

#[tokio::test]
async fn timeout_key_ends_the_call() {
    let client = client(tools![forever, slow, in_time]).await;
    for name in ["forever", "slow"] {
        let result = client.call(name, json!({})).await.unwrap();
        assert!(result.is_error());
        assert!(result.text().contains("timed out"), "{}", result.text());
    }
    assert_eq!(client.call("in_time", json!({})).await.unwrap().text(), "done");
}
