//! Scopes of handlers: a call without them is denied before anything runs, with all it needs in one challenge.

use mcp_runtime::Revision;
use mcp_runtime::prelude::*;
use mcp_tests::http::{Ask, Response, Site, call, call_in, in_session, initialize, modern, soon};
use serde_json::Value;

use super::{METADATA, auth, challenge, server, service, site, token, with};

/// The challenge for an operation that needs `scopes`, of which `missing` are missing.
fn insufficient(scopes: &str, missing: &str) -> String {
    let s = if missing.contains(' ') { "s" } else { "" };
    let why = format!("this needs the scope{s} {missing}");
    format!(r#"Bearer error="insufficient_scope", scope="{scopes}", {METADATA}, error_description="{why}""#)
}

#[track_caller]
fn assert_denied(response: &Response, id: &Value, scopes: &str, missing: &str) {
    assert_eq!(response.status, 403, "{response:?}");
    assert_eq!(challenge(response), insufficient(scopes, missing));
    let body = response.json();
    assert_eq!((&body["id"], &body["error"]["code"]), (id, &json!(-31403)), "{body}");
    assert_eq!(body["error"]["data"]["requiredScopes"], json!(scopes.split(' ').collect::<Vec<_>>()));
    assert_eq!(body["error"]["data"]["missingScopes"], json!(missing.split(' ').collect::<Vec<_>>()));
}

/// Opens a session of a user.
async fn session(site: &Site, revision: Revision, token: &str) -> String {
    let response = site.ask(&with(initialize(revision.as_str()), token)).await;
    assert_eq!(response.status, 200, "{response:?}");
    let id = response.header("mcp-session-id").unwrap().to_owned();
    let ready = in_session(&id, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!(site.ask(&with(ready, token)).await.status, 202);
    id
}

const SESSIONS: [Revision; 3] = [Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25];

#[tokio::test]
async fn missing_scope_is_403_in_every_revision() {
    let (alice, writer) = (token("alice", "notes:read"), token("alice", "notes:read+notes:write"));
    let note = json!({"text": "hi"});
    let site = site().await;
    let denied = site.ask(&with(call("write_note", &note), &alice)).await;
    assert_denied(&denied, &json!(1), "notes:read notes:write", "notes:write");
    let denied = site.ask(&with(call("write_note", &note).but("Accept", "text/event-stream"), &alice)).await;
    assert_denied(&denied, &json!(1), "notes:read notes:write", "notes:write");
    assert_eq!(site.ask(&with(call("write_note", &note), &writer)).await.status, 200);

    for revision in SESSIONS {
        let session = session(&site, revision, &alice).await;
        let denied = site.ask(&with(call_in(&session, 7, "write_note", &note), &alice)).await;
        assert_denied(&denied, &json!(7), "notes:read notes:write", "notes:write");
        // Step-up: the same session, with another token of the same user.
        let response = site.ask(&with(call_in(&session, 8, "write_note", &note), &writer)).await;
        assert_eq!(response.json()["result"]["content"][0]["text"], "hi", "{revision}");
    }

    let site = Site::serving(service().stateless()).await;
    for revision in SESSIONS {
        let ask = |id: u64, token: &str| {
            let params = json!({"name": "write_note", "arguments": note});
            let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
            with(Ask::post(body.to_string()).with("MCP-Protocol-Version", revision.as_str()), token)
        };
        let denied = site.ask(&ask(3, &alice)).await;
        assert_denied(&denied, &json!(3), "notes:read notes:write", "notes:write");
        assert_eq!(site.ask(&ask(4, &writer)).await.json()["result"]["content"][0]["text"], "hi", "{revision}");
    }
}

#[tokio::test]
async fn legacy_sse_denies_the_message() {
    let site = Site::serving(service().legacy_sse()).await;
    let at = |ask: Ask, path: &str| String::from_utf8(ask.bytes()).unwrap().replacen("/mcp", path, 1).into_bytes();
    let alice = token("alice", "notes:read");
    let mut stream = site.open().await;
    stream.send(&at(with(Ask::new("GET").with("Accept", "text/event-stream"), &alice), "/sse")).await;
    assert_eq!(stream.head().await.status, 200);
    let endpoint = String::from_utf8(stream.chunk().await.unwrap()).unwrap();
    let messages = format!("/{}", endpoint.lines().find_map(|line| line.strip_prefix("data: ")).unwrap());
    let send = async |ask: Ask| {
        let mut wire = site.open().await;
        wire.send(&at(ask, &messages)).await;
        wire.response().await
    };
    assert_eq!(send(with(initialize("2024-11-05"), &alice)).await.status, 202);
    let write = || {
        let params = json!({"name": "write_note", "arguments": {"text": "hi"}});
        Ask::post(json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}).to_string())
    };
    assert_denied(&send(with(write(), &alice)).await, &json!(5), "notes:read notes:write", "notes:write");
    assert_eq!(send(with(write(), &token("alice", "notes:read+notes:write"))).await.status, 202, "after step-up");
    assert_eq!(send(with(write(), &token("bob", "notes:read+notes:write"))).await.status, 404, "another's stream");
    assert_eq!(send(write()).await.status, 401);
}

#[tokio::test]
async fn every_kind_of_handler_needs_its_scopes() {
    let site = site().await;
    let alice = token("alice", "notes:read");
    let prompt = json!({"type": "ref/prompt", "name": "compose"});
    let template = json!({"type": "ref/resource", "uri": "note://{id}"});
    let listen = json!({"notifications": {"resourceSubscriptions": ["notes://all"]}});
    let table = [
        ("tools/call", json!({"name": "purge"}), "notes:read notes:write notes:purge", "notes:write notes:purge"),
        ("tools/call", json!({"name": "write_later"}), "notes:read notes:write", "notes:write"),
        ("prompts/get", json!({"name": "compose"}), "notes:read notes:write", "notes:write"),
        ("resources/read", json!({"uri": "notes://all"}), "notes:read notes:all", "notes:all"),
        ("resources/read", json!({"uri": "note://7"}), "notes:read notes:all", "notes:all"),
        ("subscriptions/listen", listen, "notes:read notes:all", "notes:all"),
        (
            "completion/complete",
            json!({"ref": prompt, "argument": {"name": "topic", "value": ""}}),
            "notes:read notes:write",
            "notes:write",
        ),
        (
            "completion/complete",
            json!({"ref": template, "argument": {"name": "id", "value": ""}}),
            "notes:read notes:all",
            "notes:all",
        ),
    ];
    for (method, params, scopes, missing) in table {
        let denied = site.ask(&with(modern(method, params.clone()), &alice)).await;
        assert_denied(&denied, &json!(1), scopes, missing);
        // A caller without even what every call needs gets all of it in one challenge, too.
        let denied = site.ask(&with(modern(method, params), &token("alice", ""))).await;
        assert_denied(&denied, &json!(1), scopes, &format!("notes:read {missing}"));
    }
    let session = session(&site, Revision::V2025_11_25, &alice).await;
    let subscribe = |uri: &str| {
        let message = json!({"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": {"uri": uri}});
        with(in_session(&session, &message), &alice)
    };
    assert_denied(&site.ask(&subscribe("notes://all")).await, &json!(2), "notes:read notes:all", "notes:all");
    assert_eq!(site.ask(&subscribe("notes://mine")).await.status, 200);
}

/// The first page.
#[resource("page://first", scopes("pages:first"), subscribe)]
fn first_page() -> &'static str {
    "first"
}

/// A page by its number.
#[resource("page://{number}", scopes("pages:number"), subscribe)]
fn numbered_page(number: u64) -> String {
    format!("page {number}")
}

/// A page by its name.
#[resource("page://{+name}", subscribe)]
fn named_page(name: String) -> String {
    format!("page {name}")
}

/// Whoever may not read a resource may not follow it, though another handler matches its URI that they may call.
#[tokio::test]
async fn following_needs_what_reading_needs() {
    let pages = Server::new("pages", "1.0.0").resources(resources![first_page, numbered_page, named_page]);
    let site = Site::serving(pages.into_service().authorize(auth())).await;
    let alice = token("alice", "notes:read");
    let session = session(&site, Revision::V2025_11_25, &alice).await;
    let denied_at = [("page://first", "pages:first"), ("page://7", "pages:number")];
    for (uri, scope) in denied_at.into_iter().chain([("page://index", "")]) {
        let subscribe = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": uri}});
        let listen = modern("subscriptions/listen", json!({"notifications": {"resourceSubscriptions": [uri]}}));
        for ask in [modern("resources/read", json!({"uri": uri})), in_session(&session, &subscribe), listen] {
            let ask = with(ask, &alice);
            if scope.is_empty() {
                assert_eq!(site.begin(&ask).await.0.status, 200, "{uri}");
            } else {
                assert_denied(&site.ask(&ask).await, &json!(1), &format!("notes:read {scope}"), scope);
            }
        }
    }
    // All that is missing, for all of them, in one challenge.
    let uris = ["page://index", "page://7", "page://first", "page://8"];
    let listen = || modern("subscriptions/listen", json!({"notifications": {"resourceSubscriptions": uris}}));
    let (scopes, missing) = ("notes:read pages:number pages:first", "pages:number pages:first");
    assert_denied(&site.ask(&with(listen(), &alice)).await, &json!(1), scopes, missing);
    let denied = site.ask(&with(listen(), &token("alice", ""))).await;
    assert_denied(&denied, &json!(1), scopes, &format!("notes:read {missing}"));
    let all = token("alice", "notes:read+pages:number+pages:first");
    let (_, mut wire) = site.begin(&with(listen(), &all)).await;
    let acknowledged = soon(wire.event()).await.unwrap();
    assert_eq!(acknowledged["params"]["notifications"]["resourceSubscriptions"], json!(uris), "{acknowledged}");
}

#[tokio::test]
async fn baseline_is_needed_for_everything() {
    let site = site().await;
    let nobody = token("alice", "");
    let denied = site.ask(&with(modern("tools/list", json!({})), &nobody)).await;
    assert_denied(&denied, &json!(1), "notes:read", "notes:read");
    let denied = site.ask(&with(initialize("2025-11-25"), &nobody)).await;
    assert_denied(&denied, &json!(0), "notes:read", "notes:read");
    for method in ["GET", "DELETE"] {
        let ask = Ask::new(method).with("Accept", "text/event-stream").with("Mcp-Session-Id", "s");
        assert_denied(&site.ask(&with(ask, &nobody)).await, &Value::Null, "notes:read", "notes:read");
    }
}

/// No part of a batch runs if another is denied.
#[tokio::test]
async fn batch_is_denied_as_a_whole() {
    let site = site().await;
    let alice = token("alice", "notes:read");
    let session = session(&site, Revision::V2025_03_26, &alice).await;
    let element = |id: u64, name: &str| {
        let params = json!({"name": name, "arguments": {"text": "hi"}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let batch = json!([element(1, "whoami"), element(2, "write_note"), element(3, "purge")]);
    let denied = site.ask(&with(in_session(&session, &batch), &alice)).await;
    let (scopes, missing) = ("notes:read notes:write notes:purge", "notes:write notes:purge");
    assert_denied(&denied, &Value::Null, scopes, missing);
    let allowed = json!([element(1, "whoami"), element(2, "principal")]);
    let response = site.ask(&with(in_session(&session, &allowed), &alice)).await;
    assert_eq!(response.json().as_array().unwrap().len(), 2);
    let all = token("alice", "notes:read+notes:write+notes:purge");
    let response = site.ask(&with(in_session(&session, &batch), &all)).await;
    assert_eq!(response.json().as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn handler_may_need_more_by_its_arguments() {
    let site = site().await;
    let alice = token("alice", "notes:read+notes:write");
    let of = |owner: &str| json!({"owner": owner});
    let response = site.ask(&with(call("read_of", &of("alice")), &alice)).await;
    assert_eq!(response.json()["result"]["content"][0]["text"], "the note of alice");
    let denied = site.ask(&with(call("read_of", &of("bob")), &alice)).await;
    assert_denied(&denied, &json!(1), "notes:read notes:all", "notes:all");
    // Not at once, but before anything was sent. With the scopes of the tool.
    let denied = site.ask(&with(call("waits", &json!({"tells": false})), &alice)).await;
    assert_denied(&denied, &json!(1), "notes:read notes:write notes:all", "notes:all");
    for revision in SESSIONS {
        let session = session(&site, revision, &alice).await;
        let denied = site.ask(&with(call_in(&session, 5, "read_of", &of("bob")), &alice)).await;
        assert_denied(&denied, &json!(5), "notes:read notes:all", "notes:all");
        let denied = site.ask(&with(call_in(&session, 6, "waits", &json!({"tells": false})), &alice)).await;
        assert_denied(&denied, &json!(6), "notes:read notes:write notes:all", "notes:all");
    }
}

/// After the first byte of a stream, the status is sent: the error names the scopes.
#[tokio::test]
async fn scopes_that_are_missing_in_a_stream_are_an_error() {
    let site = site().await;
    let alice = token("alice", "notes:read+notes:write");
    let ask = modern(
        "tools/call",
        json!({
            "name": "waits",
            "arguments": {"tells": true},
            "_meta": {"io.modelcontextprotocol/logLevel": "debug"},
        }),
    );
    let response = site.ask(&with(ask, &alice)).await;
    assert_eq!((response.status, response.header("www-authenticate")), (200, None));
    let events = response.events();
    let answer = events.last().unwrap();
    assert_eq!(answer["error"]["code"], -31403, "{events:?}");
    assert_eq!(answer["error"]["data"]["missingScopes"], json!(["notes:all"]));
}

#[tokio::test]
async fn hierarchy_is_honoured() {
    let auth = auth().scope_implies(|granted, needed| granted == "notes:admin" && needed.starts_with("notes:"));
    let site = Site::serving(server().into_service().authorize(auth)).await;
    let purge = |token: &str| with(call("purge", &json!({})), token);
    assert_eq!(site.ask(&purge(&token("alice", "notes:admin"))).await.status, 200);
    assert_eq!(site.ask(&purge(&token("alice", "files:admin"))).await.status, 403);
}

#[tokio::test]
async fn optional_authorization_asks_where_scopes_are_needed() {
    let site = Site::serving(server().into_service().authorize(auth().optional())).await;
    let response = site.ask(&call("principal", &json!({}))).await;
    assert_eq!((response.status, &response.json()["result"]["isError"]), (200, &Value::Null), "{response:?}");
    let response = site.ask(&call("write_note", &json!({"text": "hi"}))).await;
    assert_eq!(response.status, 401);
    assert_eq!(challenge(&response), format!(r#"Bearer {METADATA}, scope="notes:read notes:write""#));
    let response = site.ask(&with(call("principal", &json!({})), "mallory")).await;
    assert_eq!(response.status, 401, "a token that is invalid is not ignored");
    let response = site.ask(&with(call("write_note", &json!({"text": "hi"})), "alice;notes:read+notes:write")).await;
    assert_eq!(response.status, 200);
    // What needs a user says so.
    let response = site.ask(&call("whoami", &json!({}))).await;
    assert_eq!(response.json()["result"]["isError"], true);
    assert!(response.text().contains("HttpService::authorize"), "{response:?}");
}

/// A session without a token is nobody's: not of the user either who logs in later.
#[tokio::test]
async fn optional_authorization_asks_in_sessions_where_scopes_are_needed() {
    let site = Site::serving(server().into_service().authorize(auth().optional())).await;
    let (writer, note) = (token("alice", "notes:read+notes:write"), json!({"text": "hi"}));
    for revision in SESSIONS {
        let opened = site.ask(&initialize(revision.as_str())).await;
        let nobodys = opened.header("mcp-session-id").unwrap_or_else(|| panic!("{opened:?}")).to_owned();
        let ready = in_session(&nobodys, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(site.ask(&ready).await.status, 202);
        let response = site.ask(&call_in(&nobodys, 5, "principal", &json!({}))).await;
        assert_eq!((response.status, &response.json()["result"]["isError"]), (200, &Value::Null), "{response:?}");
        let list = in_session(&nobodys, &json!({"jsonrpc": "2.0", "id": 6, "method": "tools/list"}));
        let list = site.ask(&list).await;
        assert!(list.text().contains("whoami") && !list.text().contains("write_note"), "{list:?}");
        let denied = site.ask(&call_in(&nobodys, 7, "write_note", &note)).await;
        assert_eq!((denied.status, &denied.json()["id"]), (401, &json!(7)), "{denied:?}");
        assert_eq!(challenge(&denied), format!(r#"Bearer {METADATA}, scope="notes:read notes:write""#));
        let invalid = with(call_in(&nobodys, 8, "principal", &json!({})), "mallory");
        assert_eq!(site.ask(&invalid).await.status, 401, "a token that is invalid is not ignored");
        // The client begins anew.
        assert_eq!(site.ask(&with(call_in(&nobodys, 9, "write_note", &note), &writer)).await.status, 404);
        let hers = session(&site, revision, &writer).await;
        let written = site.ask(&with(call_in(&hers, 1, "write_note", &note), &writer)).await;
        assert_eq!(written.json()["result"]["content"][0]["text"], "hi", "{revision}");
        assert_eq!(site.ask(&call_in(&hers, 2, "principal", &json!({}))).await.status, 404, "her session");
    }
}

/// A task is its owner's, and its result that of the tool: not for a token without the tool's scopes.
#[tokio::test]
async fn task_needs_the_scopes_of_its_tool() {
    let (reader, writer) = (token("alice", "notes:read"), token("alice", "notes:read+notes:write"));
    let site = site().await;
    let request = |method: &str, mut params: Value| {
        let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": capabilities});
        modern(method, params)
    };
    let call = request("tools/call", json!({"name": "write_later", "arguments": {}}));
    let created = site.ask(&with(call, &writer)).await;
    let id = created.json()["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{created:?}")).to_owned();
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let ask = || request(method, json!({"taskId": id, "inputResponses": {}}));
        let (scopes, nobody) = ("notes:read notes:write", token("alice", ""));
        assert_denied(&site.ask(&with(ask(), &reader)).await, &json!(1), scopes, "notes:write");
        // One challenge has all of it, too, if even what every call needs is missing; but not for another's task.
        assert_denied(&site.ask(&with(ask(), &nobody)).await, &json!(1), scopes, scopes);
        assert_denied(&site.ask(&with(ask(), &token("bob", ""))).await, &json!(1), "notes:read", "notes:read");
    }
    let listen = request("subscriptions/listen", json!({"notifications": {"taskIds": [id]}}));
    for (token, accepted) in [(&reader, json!(null)), (&writer, json!([id]))] {
        let (_, mut wire) = site.begin(&with(listen.clone(), token)).await;
        let acknowledged = soon(wire.event()).await.unwrap();
        assert_eq!(acknowledged["params"]["notifications"]["taskIds"], accepted, "{token}: {acknowledged}");
    }
    assert_eq!(site.ask(&with(request("tasks/get", json!({"taskId": id})), &writer)).await.status, 200);

    let session = session(&site, Revision::V2025_11_25, &writer).await;
    let ask = |method: &str, params: &Value| {
        in_session(&session, &json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}))
    };
    let call = json!({"name": "write_later", "arguments": {}, "task": {}});
    let created = site.ask(&with(ask("tools/call", &call), &writer)).await;
    let id = created.json()["result"]["task"]["taskId"].as_str().unwrap_or_else(|| panic!("{created:?}")).to_owned();
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let denied = site.ask(&with(ask(method, &json!({"taskId": id})), &reader)).await;
        assert_denied(&denied, &json!(7), "notes:read notes:write", "notes:write");
    }
    let open = json!({"name": "long", "arguments": {}, "task": {}});
    let created = site.ask(&with(ask("tools/call", &open), &reader)).await;
    let open = created.json()["result"]["task"]["taskId"].as_str().unwrap_or_else(|| panic!("{created:?}")).to_owned();
    for (token, mut listed) in [(&reader, vec![&*open]), (&writer, vec![&*id, &*open])] {
        let list = site.ask(&with(ask("tasks/list", &json!({})), token)).await.json();
        let tasks = list["result"]["tasks"].as_array().unwrap_or_else(|| panic!("{list}"));
        let mut ids: Vec<&str> = tasks.iter().map(|task| task["taskId"].as_str().unwrap()).collect();
        ids.sort_unstable();
        listed.sort_unstable();
        assert_eq!(ids, listed, "{token}");
    }
    let result = site.ask(&with(ask("tasks/result", &json!({"taskId": id})), &writer)).await;
    assert!(result.text().contains("written"), "{result:?}");
}
