//! Both eras on one endpoint: which one serves a message, by its `_meta`, its headers and its session.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use mcp_runtime::protocol::LogLevel;
use mcp_runtime::{Revision, Server};
use mcp_tests::http::server::{SESSIONS, site};
use mcp_tests::http::{Ask, Site, call_in, described, in_session, initialize, meta, modern, stream_of, until};
use serde_json::{Value, json};

fn request(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn plain(method: &str) -> Ask {
    Ask::post(request(method, &json!({})).to_string())
}

#[tokio::test]
async fn era_is_chosen_per_message() {
    let (site, _) = site().await;
    let session = site.session(Revision::V2025_11_25).await;
    let older = json!({"io.modelcontextprotocol/protocolVersion": "2025-11-25"});
    let rows: Vec<(&str, Ask, (u16, i64))> = vec![
        (
            "a modern request in a live session",
            modern("tools/list", json!({})).with("Mcp-Session-Id", &session).with("Last-Event-ID", "1"),
            (200, 0),
        ),
        (
            "a modern request with a session nobody knows",
            modern("tools/list", json!({})).with("Mcp-Session-Id", "x"),
            (200, 0),
        ),
        (
            "a modern body under an older header, in a session",
            in_session(&session, &request("tools/list", &json!({"_meta": meta()})))
                .with("MCP-Protocol-Version", "2025-11-25"),
            (400, -32020),
        ),
        ("a modern header, no _meta", plain("tools/list").with("MCP-Protocol-Version", "2026-07-28"), (400, -32602)),
        ("the same for ping", plain("ping").with("MCP-Protocol-Version", "2026-07-28"), (400, -32602)),
        ("the same for shutdown", plain("shutdown").with("MCP-Protocol-Version", "2026-07-28"), (400, -32602)),
        ("a newer header, no _meta", plain("tools/list").with("MCP-Protocol-Version", "2031-01-01"), (400, -32602)),
        (
            "an older version in both",
            modern("tools/list", json!({"_meta": older.clone()})).but("MCP-Protocol-Version", "2025-11-25"),
            (400, -32022),
        ),
        ("a modern header, an older _meta", modern("tools/list", json!({"_meta": older})), (400, -32020)),
        (
            "initialize under a modern header",
            initialize("2025-11-25").with("MCP-Protocol-Version", "2026-07-28"),
            (400, -32020),
        ),
        (
            "initialize that is modern in everything",
            modern("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}})),
            (404, -32601),
        ),
        ("an unknown header", plain("tools/list").with("MCP-Protocol-Version", "banana"), (400, -32022)),
        (
            "an unknown header in a session",
            in_session(&session, &request("tools/list", &json!({}))).with("MCP-Protocol-Version", "1.0"),
            (400, -32022),
        ),
        ("neither session nor _meta", plain("tools/list"), (400, -32600)),
        (
            "neither, under an older header",
            plain("tools/list").with("MCP-Protocol-Version", "2025-06-18"),
            (400, -32600),
        ),
        ("a method of this era only", plain("server/discover"), (400, -32602)),
        ("another", plain("subscriptions/listen"), (400, -32602)),
        ("a session, no header", in_session(&session, &request("tools/list", &json!({}))), (200, 0)),
        (
            "a session, its header",
            in_session(&session, &request("tools/list", &json!({}))).with("MCP-Protocol-Version", "2025-11-25"),
            (200, 0),
        ),
        (
            "a session, another header there is",
            in_session(&session, &request("tools/list", &json!({}))).with("MCP-Protocol-Version", "2025-06-18"),
            (200, 0),
        ),
        ("an unknown method in a session", in_session(&session, &request("toolz/list", &json!({}))), (200, -32601)),
        ("ping in a session", in_session(&session, &request("ping", &json!({}))), (200, 0)),
        ("a second initialize in a session", initialize("2025-11-25").with("Mcp-Session-Id", &session), (400, -32600)),
    ];
    for (what, ask, expected) in rows {
        let response = site.ask(&ask).await;
        assert_eq!(response.outcome(), expected, "{what}: {response:?}");
        assert_eq!(response.header("mcp-session-id"), None, "{what}");
    }
    // The session is what it was.
    assert_eq!(site.ask(&call_in(&session, 9, "add", &json!({"a": 1, "b": 2}))).await.outcome(), (200, 0));
}

#[tokio::test]
async fn missing_protocol_version_is_named_in_the_error() {
    let (site, _) = site().await;
    let response = site.ask(&plain("tools/list").with("MCP-Protocol-Version", "2026-07-28")).await;
    let field = &response.json()["error"]["data"]["field"];
    assert_eq!(field, "_meta.io.modelcontextprotocol/protocolVersion");
}

#[tokio::test]
async fn modern_revision_allows_only_post() {
    let (site, _) = site().await;
    let session = site.session(Revision::V2025_11_25).await;
    for method in ["GET", "DELETE"] {
        let ask = Ask { method: method.into(), ..stream_of(&session) }.with("MCP-Protocol-Version", "2026-07-28");
        let response = site.ask(&ask).await;
        assert_eq!((response.status, response.header("allow")), (405, Some("POST")), "{method}");
    }
    let ping = in_session(&session, &request("ping", &json!({})));
    assert_eq!(site.ask(&ping).await.status, 200, "the session is not ended by it");
}

#[tokio::test]
async fn unknown_version_header_is_rejected_for_every_message() {
    let (site, _) = site().await;
    let session = site.session(Revision::V2025_06_18).await;
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    let get = stream_of(&session);
    let delete = Ask { method: "DELETE".into(), ..get.clone() };
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    for ask in [in_session(&session, &notification), in_session(&session, &answer), get, delete] {
        let response = site.ask(&ask.clone().with("MCP-Protocol-Version", "1.0")).await;
        assert_eq!(response.status, 400, "{ask:?}");
    }
    assert_eq!(site.ask(&in_session(&session, &notification)).await.status, 202, "the session is still there");
}

#[tokio::test]
async fn initialize_negotiates_a_supported_version() {
    let (site, _) = site().await;
    for (asked, settled) in [
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1.0", "2025-11-25"),
    ] {
        let response = site.ask(&initialize(asked)).await;
        assert_eq!(response.json()["result"]["protocolVersion"], settled);
        assert!(response.header("mcp-session-id").is_some());
    }
    let response = site.ask(&plain("initialize")).await;
    assert_eq!(response.outcome(), (200, -32602));
    assert_eq!(response.header("mcp-session-id"), None, "what failed opens nothing");
}

#[tokio::test]
async fn batches_are_accepted_only_in_2025_03_26() {
    let (site, _) = site().await;
    let add = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "add", "arguments": {"a": id, "b": 1}}});
    let sleep =
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "sleep", "arguments": {"ms": 5}}});
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    let batch = json!([add(1), sleep, notification, add(2)]);

    let session = site.session(Revision::V2025_03_26).await;
    let response = site.ask(&in_session(&session, &batch)).await;
    let mut ids: Vec<_> = response.json().as_array().unwrap().iter().map(|one| one["id"].as_u64()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [Some(1), Some(2), Some(7)]);
    assert_eq!(site.ask(&in_session(&session, &json!([add(3)]))).await.json()[0]["id"], 3, "one is a list, too");
    let only = site.ask(&in_session(&session, &json!([notification, notification]))).await;
    assert_eq!((only.status, &*only.body), (202, &b""[..]));
    assert_eq!(site.ask(&in_session(&session, &json!([]))).await.outcome(), (400, -32600));

    for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
        let session = site.session(revision).await;
        assert_eq!(site.ask(&in_session(&session, &batch)).await.outcome(), (400, -32600), "{revision}");
    }
    assert_eq!(site.ask(&Ask::post(batch.to_string())).await.outcome(), (400, -32600), "without a session");
    assert_eq!(site.ask(&in_session("nobody's", &batch)).await.status, 404);
    let modern_batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta()}}]);
    let modern_batch = Ask { body: Some(modern_batch.to_string().into()), ..described("tools/list", None) };
    assert_eq!(site.ask(&modern_batch).await.outcome(), (400, -32600));
}

#[tokio::test]
async fn notifications_and_responses_get_an_empty_202() {
    let (site, _) = site().await;
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/whatever"});
    let answers = [
        json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": ""}}),
    ];
    let modern_one = json!({"jsonrpc": "2.0", "method": "notifications/whatever", "params": {"_meta": meta()}});
    let modern_one = Ask { body: Some(modern_one.to_string().into()), ..described("notifications/whatever", None) };
    for ask in [modern_one, Ask::post(notification.to_string())] {
        let response = site.ask(&ask).await;
        assert_eq!((response.status, &*response.body), (202, &b""[..]));
    }
    for revision in SESSIONS {
        let session = site.session(revision).await;
        for message in answers.iter().chain([&notification]) {
            let response = site.ask(&in_session(&session, message)).await;
            assert_eq!((response.status, &*response.body), (202, &b""[..]), "{message}");
            assert_eq!(site.ask(&in_session("nobody's", message)).await.status, 404, "{message}");
        }
    }
    for answer in &answers {
        assert_eq!(site.ask(&Ask::post(answer.to_string())).await.outcome(), (400, -32600), "unsolicited");
    }
}

#[tokio::test]
async fn connection_may_mix_eras() {
    let (site, _) = site().await;
    let session = site.session(Revision::V2025_06_18).await;
    let mut wire = site.open().await;
    for _ in 0..3 {
        wire.send(&modern("tools/list", json!({})).bytes()).await;
        assert_eq!(wire.response().await.json()["result"]["resultType"], "complete");
        wire.send(&in_session(&session, &request("tools/list", &json!({}))).bytes()).await;
        assert_eq!(wire.response().await.json()["result"].get("resultType"), None);
    }
}

#[tokio::test]
async fn notification_is_accepted_before_its_handler_finishes() {
    let heard = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&heard);
    let server = Server::new("mailbox", "1.0.0").notification("example.com/mail", move |ctx, (): ()| {
        let heard = Arc::clone(&counter);
        async move {
            ctx.log(LogLevel::Error, "something came").await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            heard.fetch_add(1, SeqCst);
            Ok(())
        }
    });
    let site = Site::of(server.disable_signals()).await;
    let session = site.session(Revision::V2025_11_25).await;
    let response = site.ask(&in_session(&session, &json!({"jsonrpc": "2.0", "method": "example.com/mail"}))).await;
    assert_eq!((response.status, &*response.body), (202, &b""[..]));
    assert_eq!(heard.load(SeqCst), 0);
    until(|| heard.load(SeqCst) == 1).await;
}
