//! Changes to a served catalog and to resources, and their notifications, in every revision.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::store::Change;
use mcp_runtime::testing::TestClient;
use mcp_runtime::{Limits, Revision};
use serde_json::Value;

/// Say hello.
#[tool]
fn hello() -> &'static str {
    "hello"
}

/// Say goodbye.
#[tool]
fn goodbye() -> &'static str {
    "goodbye"
}

/// Ask for a summary.
#[prompt]
fn summary() -> &'static str {
    "Summarise."
}

/// A note.
#[resource("note://{id}", subscribe)]
fn note(id: u64) -> String {
    format!("note {id}")
}

/// A page nobody announces.
#[resource("page://{id}")]
fn page(id: u64) -> String {
    format!("page {id}")
}

/// Change a note.
#[tool]
fn write(ctx: &Context, id: u64) {
    ctx.server().resource_updated(format!("note://{id}"));
}

fn server() -> Server {
    Server::new("changing", "1.0.0").tools(tools![hello, write]).resources(resources![note, page])
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), future).await.expect("this takes too long")
}

#[tokio::test]
async fn updates_reach_only_subscribers() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let client = TestClient::with_revision(server(), revision).await?;
        let changes = client.changes(["note://1", "note://2"]).await?;
        client.call("write", json!({"id": 3})).await?;
        client.call("write", json!({"id": 2})).await?;
        assert_eq!(soon(changes.next()).await?, Change::ResourceUpdated("note://2".into()), "{revision}");
        assert_eq!(changes.drain(), [], "{revision}");
    }
    Ok(())
}

#[tokio::test]
async fn list_changes_are_announced() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let server = server();
        let handle = server.handle();
        let client = TestClient::with_revision(server, revision).await?;
        let changes = client.changes([]).await?;

        handle.tools().add(tools![goodbye])?;
        assert_eq!(soon(changes.next()).await?, Change::ToolList);
        assert_eq!(client.call("goodbye", json!({})).await?.text(), "goodbye");
        assert_eq!(client.list_tools().await?.len(), 3);

        handle.prompts().add(prompts![summary])?;
        assert_eq!(soon(changes.next()).await?, Change::PromptList);
        assert_eq!(client.get_prompt("summary", json!({})).await?.text(), "Summarise.");

        assert!(handle.resources().remove("page://{id}"));
        assert_eq!(soon(changes.next()).await?, Change::ResourceList);
        assert!(client.read("page://1").await.is_err());
        assert_eq!(client.list_templates().await?.len(), 1);

        assert!(handle.tools().disable("hello") && !handle.tools().disable("hello"));
        assert_eq!(soon(changes.next()).await?, Change::ToolList);
        let unknown = client.call("hello", json!({})).await.unwrap_err();
        assert_eq!(unknown.code(), Some(-32602), "{revision}");
        assert!(handle.tools().enable("hello"));
        assert_eq!(client.call("hello", json!({})).await?.text(), "hello");
        assert!(handle.tools().remove("hello") && !handle.tools().remove("hello"));
    }
    Ok(())
}

#[tokio::test]
async fn list_is_announced_when_a_condition_changes() -> Result<()> {
    static OPEN: AtomicBool = AtomicBool::new(false);

    /// Can be used in business hours.
    #[tool(visible_if = |_: &Context| OPEN.load(Ordering::Relaxed))]
    fn order() -> &'static str {
        "ordered"
    }

    for revision in Revision::ALL.iter().copied() {
        OPEN.store(false, Ordering::Relaxed);
        let server = server().tools(tools![order]).prompts(prompts![summary]).dynamic();
        let handle = server.handle();
        let client = TestClient::with_revision(server, revision).await?;
        let changes = client.changes([]).await?;
        assert!(client.call("order", json!({})).await.is_err(), "{revision}");
        OPEN.store(true, Ordering::Relaxed);
        handle.tools().notify_changed();
        assert_eq!(soon(changes.next()).await?, Change::ToolList, "{revision}");
        assert_eq!(client.call("order", json!({})).await?.text(), "ordered");
        handle.prompts().notify_changed();
        assert_eq!(soon(changes.next()).await?, Change::PromptList, "{revision}");
        handle.resources().notify_changed();
        assert_eq!(soon(changes.next()).await?, Change::ResourceList, "{revision}");
    }
    Ok(())
}

#[tokio::test]
async fn add_is_all_or_nothing() -> Result<()> {
    let server = server();
    let handle = server.handle();
    let client = TestClient::connect(server).await?;
    let error = handle.tools().add(tools![goodbye, hello]).unwrap_err();
    assert_eq!(error.to_string(), "there are two tools `hello`; rename one, or mount it with `mount_as`");
    assert_eq!(client.list_tools().await?.len(), 2);
    Ok(())
}

#[tokio::test]
async fn removed_handler_finishes_running_calls() -> Result<()> {
    /// Sleep a while.
    #[tool]
    async fn sleep() -> &'static str {
        tokio::time::sleep(Duration::from_millis(100)).await;
        "slept"
    }
    let server = Server::new("sleeper", "1.0.0").tools(tools![sleep]);
    let handle = server.handle();
    let client = TestClient::connect(server).await?;
    let call = client.call("sleep", json!({}));
    let remove = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(handle.tools().remove("sleep"));
    };
    let (call, ()) = tokio::join!(call, remove);
    assert_eq!(call?.text(), "slept");
    Ok(())
}

#[tokio::test]
async fn changes_are_coalesced_for_a_slow_reader() -> Result<()> {
    let server = server();
    let handle = server.handle();
    let client = TestClient::with_revision(server, Revision::V2025_11_25).await?;
    let changes = client.changes(["note://1"]).await?;
    for _ in 0..10_000 {
        handle.resource_updated("note://1");
    }
    assert_eq!(soon(changes.next()).await?, Change::ResourceUpdated("note://1".into()));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(changes.drain().len() < 1000, "changes that wait to be told are told together");
    Ok(())
}

#[tokio::test]
async fn session_gets_no_changes_before_initialized() -> Result<()> {
    let server = server();
    let handle = server.handle();
    let client = TestClient::connect_raw(server);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}});
    let answer: Value = serde_json::from_str(&client.exchange(&hello.to_string()).await?)?;
    let expected = json!({"listChanged": true, "subscribe": true});
    assert_eq!(answer["result"]["capabilities"]["resources"], expected);
    handle.tools().disable("hello");
    let pong = client.exchange(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#).await?;
    assert!(pong.contains("\"id\":2"), "{pong}");
    client.notify("notifications/initialized", &json!({}))?;
    assert_eq!(soon(client.receive()).await?, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    Ok(())
}

#[tokio::test]
async fn listen_stream_ends_with_a_result_at_shutdown() -> Result<()> {
    let server = server();
    let handle = server.handle();
    let client = TestClient::connect(server).await?;
    let listen = json!({
        "jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen",
        "params": {
            "notifications": {"toolsListChanged": true, "resourceSubscriptions": ["note://1", "page://1", "x://"]},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    });
    client.send(&listen.to_string())?;
    let first: Value = serde_json::from_str(&soon(client.receive()).await?)?;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    let agreed = json!({"toolsListChanged": true, "resourceSubscriptions": ["note://1", "page://1"]});
    assert_eq!(first["params"]["notifications"], agreed);
    soon(handle.shutdown()).await;
    let rest = client.close().await?;
    assert_eq!(rest.len(), 2, "{rest:?}");
    let end: Value = serde_json::from_str(&rest[0])?;
    assert_eq!((&end["id"], &end["result"]["resultType"]), (&json!("s"), &json!("complete")));
    assert_eq!(end["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "s");
    assert!(rest[1].contains("notifications/cancelled"), "{rest:?}");
    Ok(())
}

#[tokio::test]
async fn subscriptions_and_streams_are_limited() -> Result<()> {
    let limits = || {
        let mut limits = Limits::default();
        (limits.streams, limits.subscriptions) = (2, 2);
        limits
    };
    let client = TestClient::with_revision(server().limits(limits()), Revision::V2025_06_18).await?;
    for (uri, works) in [("note://1", true), ("note://2", true), ("note://1", true), ("note://3", false)] {
        assert_eq!(client.request("resources/subscribe", json!({"uri": uri})).await.is_ok(), works, "{uri}");
    }
    client.request("resources/unsubscribe", json!({"uri": "note://2"})).await?;
    client.request("resources/unsubscribe", json!({"uri": "note://2"})).await?;
    client.request("resources/subscribe", json!({"uri": "note://3"})).await?;
    let silent = client.request("resources/subscribe", json!({"uri": "page://1"})).await.unwrap_err();
    assert_eq!(silent.to_string(), "Resource does not support subscriptions: page://1");
    let unknown = client.request("resources/subscribe", json!({"uri": "other://1"})).await.unwrap_err();
    assert_eq!(unknown.code(), Some(-32002));

    let client = TestClient::connect(server().limits(limits())).await?;
    assert!(client.changes(["note://1", "note://2", "note://3"]).await.is_err());
    let _first = client.changes(["note://1"]).await?;
    let _second = client.changes(["note://1"]).await?;
    let error = client.changes(["note://1"]).await.unwrap_err();
    assert_eq!(error.to_string(), "Too many subscriptions: the limit is 2; end one, then try again");
    Ok(())
}

#[tokio::test]
async fn listen_streams_take_no_in_flight_slot_and_can_be_cancelled() -> Result<()> {
    /// Wait a moment.
    #[tool]
    async fn wait() -> &'static str {
        tokio::time::sleep(Duration::from_millis(5)).await;
        "waited"
    }
    let mut limits = Limits::default();
    limits.in_flight = 1;
    let server = server().limits(limits).tools(tools![wait]);
    let client = TestClient::connect(server).await?;
    let changes = client.changes(["note://1"]).await?;
    assert_eq!(client.call("wait", json!({})).await?.text(), "waited");
    client.notify("notifications/cancelled", &json!({"requestId": 1}))?;
    client.call("write", json!({"id": 1})).await?;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(changes.drain(), []);
    assert_eq!(client.close().await?, [""; 0]);
    Ok(())
}

#[tokio::test]
async fn static_server_declares_no_list_changes() -> Result<()> {
    let plain = || Server::new("plain", "1.0.0").tools(tools![hello]).resources(resources![page]);
    let client = TestClient::connect(plain()).await?;
    let error = client.changes([]).await.unwrap_err();
    assert_eq!(error.code(), Some(-32601));
    let discovered = client.request("server/discover", json!({})).await?;
    assert_eq!(discovered["capabilities"], json!({"tools": {}, "resources": {}}));
    let client = TestClient::with_revision(plain(), Revision::V2025_11_25).await?;
    let error = client.request("resources/subscribe", json!({"uri": "page://1"})).await.unwrap_err();
    assert_eq!(error.code(), Some(-32601));
    Ok(())
}

#[tokio::test]
async fn panicking_visible_if_fails_the_request() -> Result<()> {
    let server = || {
        let panics = resources![note].map(|note| note.visible_if(|_| panic!("on purpose")));
        Server::new("panicky", "1.0.0").tools(tools![hello]).resources(panics)
    };
    for revision in Revision::ALL.iter().copied() {
        let client = TestClient::with_revision(server(), revision).await?;
        assert!(client.changes(["note://1"]).await.is_err());
        assert!(client.read("note://1").await.is_err());
        assert!(client.list_templates().await.is_err());
        assert_eq!(client.call("hello", json!({})).await?.text(), "hello");
    }
    Ok(())
}

#[tokio::test]
async fn dropped_changes_handle_unsubscribes() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let server = server();
        let handle = server.handle();
        let client = TestClient::with_revision(server, revision).await?;
        for _ in 0..40 {
            drop(client.changes(["note://1"]).await?); // more than there may be at a time
        }
        assert!(client.changes(["nowhere://1"]).await.is_err());
        let changes = client.changes(["note://1"]).await?;
        handle.resource_updated("note://1");
        assert_eq!(soon(changes.next()).await?, Change::ResourceUpdated("note://1".into()), "{revision}");
        drop(changes);
        client.list_tools().await?;
        handle.resource_updated("note://1");
        let changes = client.changes(["note://2"]).await?;
        soon(handle.shutdown()).await;
        assert!(soon(changes.next()).await.is_err(), "the server is gone");
        assert!(client.close().await?.iter().all(|line| !line.contains("updated")), "{revision}");
    }
    Ok(())
}

#[tokio::test]
async fn test_client_sends_configured_name_capabilities_and_meta() -> Result<()> {
    /// For trusted editors.
    #[tool(visible_if = |ctx: &Context| ctx.meta("example.com/key").is_some())]
    fn secret(ctx: &Context) -> String {
        format!("{:?} {:?}", ctx.client_name(), ctx.client_capability("roots"))
    }
    for revision in Revision::ALL.iter().copied() {
        let server = Server::new("shy", "1.0.0").tools(tools![secret]);
        let client = TestClient::builder(server).revision(revision).name("editor").capability("roots", json!({"a": 1}));
        let client = client.meta("example.com/key", 7).connect().await?;
        assert_eq!(client.call("secret", json!({})).await?.text(), r#"Some("editor") Some("{\"a\":1}")"#);
        assert_eq!(client.list_tools().await?.len(), 1);
    }
    Ok(())
}

#[tokio::test]
async fn handlers_can_be_mounted_while_serving() -> Result<()> {
    struct Shelf(&'static str);
    #[handlers]
    impl Shelf {
        /// What is on it.
        #[tool]
        fn contents(&self) -> &'static str {
            self.0
        }

        /// A book.
        #[resource("book://{id}")]
        fn book(&self, id: u8) -> String {
            format!("{} {id}", self.0)
        }
    }
    let server = server();
    let handle = server.handle();
    let client = TestClient::connect(server).await?;
    let changes = client.changes([]).await?;
    handle.mount(Shelf("books"))?;
    assert_eq!(soon(changes.next()).await?, Change::ToolList);
    assert_eq!(soon(changes.next()).await?, Change::ResourceList);
    assert_eq!(client.call("contents", json!({})).await?.text(), "books");
    assert_eq!(client.read("book://7").await?.text(), "books 7");
    assert!(handle.mount(Shelf("books")).is_err(), "it is there already");
    Ok(())
}
