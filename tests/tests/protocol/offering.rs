//! Pagination, cache hints, visibility, and custom methods and extensions.

use std::time::Duration;

use mcp_runtime::Revision;
use mcp_runtime::prelude::*;
use mcp_runtime::protocol::{CacheHint, ReadResult, ResourceContents};
use mcp_runtime::testing::TestClient;
use mcp_tests::with_sessions;
use serde::Deserialize;
use serde_json::Value;

/// One.
#[tool]
fn one() {}

/// Two.
#[tool]
fn two() {}

/// Three.
#[tool]
fn three() {}

/// Four.
#[tool]
fn four() {}

/// Five.
#[tool]
fn five() {}

fn counting() -> Server {
    Server::new("counting", "1.0.0").tools(tools![one, two, three, four, five])
}

fn names(page: &Value) -> Vec<&str> {
    page["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn lists_are_paginated() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let client = TestClient::with_revision(counting().page_size(2), revision).await?;
        let first = client.request("tools/list", json!({})).await?;
        assert_eq!(names(&first), ["one", "two"]);
        let second = client.request("tools/list", json!({"cursor": first["nextCursor"]})).await?;
        assert_eq!(names(&second), ["three", "four"]);
        let third = client.request("tools/list", json!({"cursor": second["nextCursor"]})).await?;
        assert_eq!((names(&third), &third["nextCursor"]), (vec!["five"], &Value::Null));
        assert_eq!(client.list_tools().await?.len(), 5, "a client that follows the cursors has them all");
        for bad in [json!(""), json!("two"), json!(7), json!("cHJvbXB0czoxOnR3bw")] {
            let error = client.request("tools/list", json!({"cursor": bad})).await.unwrap_err();
            assert_eq!(error.code(), Some(-32602), "{bad}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn cursor_survives_a_changed_list() -> Result<()> {
    let server = counting().page_size(2);
    let handle = server.handle();
    let client = TestClient::connect(server).await?;
    let first = client.request("tools/list", json!({})).await?;
    handle.tools().remove("one");
    let second = client.request("tools/list", json!({"cursor": first["nextCursor"]})).await?;
    assert_eq!(names(&second), ["three", "four"]);
    handle.tools().remove("two");
    let second = client.request("tools/list", json!({"cursor": first["nextCursor"]})).await?;
    assert!(names(&second).contains(&"four"));
    Ok(())
}

#[tokio::test]
async fn huge_page_size_does_not_overflow() -> Result<()> {
    let client = TestClient::connect(counting().page_size(usize::MAX)).await?;
    // base64 of `tools:9:gone`
    let page = client.request("tools/list", json!({"cursor": "dG9vbHM6OTpnb25l"})).await?;
    assert_eq!(page["tools"], json!([]));
    Ok(())
}

#[resource("atlas://sea", ttl = "1h", cache = "public")]
fn sea() -> &'static str {
    "blue"
}

#[resource("atlas://land")]
fn land() -> &'static str {
    "green"
}

#[resource("atlas://sky")]
fn sky() -> ReadResult {
    ReadResult::new([ResourceContents::text("grey")]).with_cache(CacheHint::private(Duration::from_millis(5)))
}

#[tokio::test]
async fn cache_hint_of_item_overrides_kind_and_server() -> Result<()> {
    let server = counting()
        .resources(resources![sea, land, sky])
        .cache_hint(CacheHint::private(Duration::from_secs(1)))
        .cache_hint_tools(CacheHint::public(Duration::from_secs(2)))
        .cache_hint_resources(CacheHint::private(Duration::from_secs(3)));
    let client = TestClient::connect(server).await?;
    let hint = |result: Value| (result["ttlMs"].clone(), result["cacheScope"].clone());
    let read = |uri: &str| client.request("resources/read", json!({"uri": uri}));
    assert_eq!(hint(client.request("server/discover", json!({})).await?), (json!(1000), json!("private")));
    assert_eq!(hint(client.request("tools/list", json!({})).await?), (json!(2000), json!("public")));
    assert_eq!(hint(client.request("resources/list", json!({})).await?), (json!(3000), json!("private")));
    assert_eq!(hint(read("atlas://sea").await?), (json!(3_600_000), json!("public")));
    assert_eq!(hint(read("atlas://land").await?), (json!(3000), json!("private")));
    assert_eq!(hint(read("atlas://sky").await?), (json!(5), json!("private")));
    for revision in with_sessions() {
        let client = TestClient::with_revision(counting().resources(resources![sea]), revision).await?;
        let result = client.request("resources/read", json!({"uri": "atlas://sea"})).await?;
        assert_eq!(hint(result), (Value::Null, Value::Null));
    }
    Ok(())
}

fn trusted(ctx: &Context) -> bool {
    ctx.meta("example.com/key") == Some("\"secret\"")
}

/// For some.
#[tool(visible_if = trusted)]
fn vault() -> &'static str {
    "gold"
}

/// For some.
#[prompt(visible_if = trusted)]
fn whisper() -> &'static str {
    "psst"
}

/// For some.
#[resource("vault://{n}", visible_if = |ctx: &Context| trusted(ctx))]
fn safe(n: u8) -> String {
    format!("safe {n}")
}

struct Club {
    key: &'static str,
}

#[handlers]
impl Club {
    /// For members.
    #[tool(visible_if = Self::member)]
    fn lounge(&self) -> &'static str {
        self.key
    }

    fn member(&self, ctx: &Context) -> bool {
        ctx.meta("example.com/key").is_some_and(|key| key.contains(self.key))
    }
}

#[tokio::test]
async fn hidden_items_look_unknown() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let server = Server::new("bank", "1.0.0")
            .tools(tools![one, vault])
            .prompts(prompts![whisper])
            .resources(resources![safe])
            .mount(Club { key: "secret" })
            .cache_hint(CacheHint::public(Duration::from_secs(9)));
        let client = TestClient::with_revision(server, revision).await?;
        let key = json!({"example.com/key": "secret"});
        let requests = [
            ("tools/call", json!({"name": "vault"})),
            ("tools/call", json!({"name": "lounge"})),
            ("prompts/get", json!({"name": "whisper"})),
            ("resources/read", json!({"uri": "vault://1"})),
        ];
        for (method, mut params) in requests {
            let error = client.request(method, params.clone()).await.unwrap_err();
            assert!(matches!(error.code(), Some(-32602 | -32002)), "{method}: {error:?}");
            params["_meta"] = key.clone();
            client.request(method, params).await?;
        }
        let nothing = client.request("tools/call", json!({"name": "no"})).await.unwrap_err();
        let hidden = client.request("tools/call", json!({"name": "vaul"})).await.unwrap_err();
        assert_eq!((nothing.data(), hidden.data()), (None, None), "not suggested, either");
        let list = client.request("tools/list", json!({})).await?;
        assert_eq!(names(&list), ["one"]);
        let all = client.request("tools/list", json!({"_meta": key})).await?;
        assert_eq!(names(&all), ["one", "vault", "lounge"]);
        if revision.is_modern() {
            assert_eq!(all["cacheScope"], "private", "what depends on the caller is not shared");
        }
        assert_eq!(client.list_prompts().await?.len(), 0);
        assert_eq!(client.list_templates().await?.len(), 0);
    }
    Ok(())
}

#[derive(Deserialize)]
struct Area {
    north: f64,
    south: f64,
}

fn maps() -> Server {
    counting()
        .method("maps.example/height", |_, area: Area| async move { Ok(area.north - area.south) })
        .method(
            "maps.example/sum",
            |_, numbers: Vec<i64>| async move { Ok(json!({"sum": numbers.iter().sum::<i64>()})) },
        )
        .method("maps.example/who", |ctx: Context, ()| async move {
            tokio::task::yield_now().await;
            Ok(ctx.client_name().map(str::to_owned))
        })
        .method("maps.example/fail", |_, (): ()| async move { Err::<(), _>(Error::msg("no such map")) })
        .extension("com.example/tiles", json!({"zoom": 12}))
}

#[tokio::test]
async fn custom_methods_are_served_in_every_revision() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let client = TestClient::with_revision(maps(), revision).await?;
        let height = client.request("maps.example/height", json!({"north": 3.5, "south": 1.5})).await?;
        assert_eq!(height["value"], 2.0);
        assert_eq!(height.get("resultType").is_some(), revision.is_modern());
        assert_eq!(client.request("maps.example/who", json!({})).await?["value"], "test-client");
        let error = client.request("maps.example/height", json!({"north": "up", "south": 1})).await.unwrap_err();
        assert_eq!(error.code(), Some(-32602));
        assert_eq!(error.data().unwrap()["field"], "north");
        let error = client.request("maps.example/fail", json!({})).await.unwrap_err();
        assert_eq!((error.code(), error.to_string()), (Some(-32603), "no such map".to_owned()));
        let error = client.request("maps.example/heigt", json!({})).await.unwrap_err();
        assert_eq!(error.code(), Some(-32601));
        assert_eq!(error.data().unwrap()["suggestion"], "maps.example/height");
    }
    Ok(())
}

#[tokio::test]
async fn custom_method_may_take_an_array() -> Result<()> {
    let client = TestClient::with_revision(maps(), Revision::V2025_11_25).await?;
    let line = r#"{"jsonrpc":"2.0","id":"a","method":"maps.example/sum","params":[1,2,3]}"#;
    assert_eq!(client.exchange(line).await?, r#"{"jsonrpc":"2.0","id":"a","result":{"sum":6}}"#);
    let line = r#"{"jsonrpc":"2.0","id":"a","method":"tools/list","params":[1,2,3]}"#;
    assert!(client.exchange(line).await?.contains("-32602"), "the protocol's own do not");
    Ok(())
}

#[tokio::test]
async fn extensions_are_declared_in_capabilities() -> Result<()> {
    let client = TestClient::connect(maps()).await?;
    let discovered = client.request("server/discover", json!({})).await?;
    assert_eq!(discovered["capabilities"]["extensions"], json!({"com.example/tiles": {"zoom": 12}}));
    let client = TestClient::connect_raw(maps());
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
    assert!(client.exchange(hello).await?.contains(r#""extensions":{"com.example/tiles":{"zoom":12}}"#));
    Ok(())
}

#[test]
fn reserved_method_names_are_rejected() {
    let refused = |name: &'static str| {
        let attempt = std::panic::catch_unwind(|| {
            drop(counting().method(name, |_, (): ()| async { Ok(()) }).into_service());
        });
        *attempt.expect_err(name).downcast::<String>().unwrap()
    };
    for name in ["tools/list", "tools/mine", "tasks/get", "notifications/x", "rpc.discover/x", "$/x", "skills/x"] {
        assert!(refused(name).contains("reserved"), "{name}: {}", refused(name));
    }
    for (name, prefix) in [("io.modelcontextprotocol/x", "io.modelcontextprotocol"), ("com.mcp/x", "com.mcp")] {
        assert!(refused(name).contains(&format!("the prefix `{prefix}` is reserved")), "{name}: {}", refused(name));
    }
    for name in ["mine", "initialize", "/x", "x/"] {
        assert!(refused(name).contains("vendor.example/name"), "{name}: {}", refused(name));
    }
}
