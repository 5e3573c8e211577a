//! Two users, one server: neither reaches what is the other's, whatever the way. Streams of HTTP+SSE are in `scopes`.

use std::sync::Arc;

use mcp_runtime::Revision;
use mcp_runtime::prelude::*;
use mcp_runtime::store::MemorySessions;
use mcp_tests::http::{Ask, Response, Site, call_in, in_session, initialize, modern, soon, stream_of};
use serde_json::Value;

use super::{server, service, with};

const ALICE: &str = "alice;notes:read";
const BOB: &str = "bob;notes:read";
/// Her other client: what one has begun is not the other's.
const OTHER_CLIENT: &str = "alice@app;notes:read";

struct World {
    site: Site,
    /// A session of Alice's.
    session: String,
}

impl World {
    async fn new(site: Site, revision: Revision) -> Self {
        let opened = site.ask(&with(initialize(revision.as_str()), ALICE)).await;
        let session = opened.header("mcp-session-id").unwrap().to_owned();
        let ready = in_session(&session, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(site.ask(&with(ready, ALICE)).await.status, 202);
        World { site, session }
    }

    fn request(&self, method: &str, params: &Value) -> Ask {
        in_session(&self.session, &json!({"jsonrpc": "2.0", "id": 9, "method": method, "params": params}))
    }

    /// Every message and request that names the session.
    fn ways_in(&self, revision: Revision) -> Vec<(&'static str, Ask)> {
        let notification = |method: &str| {
            let params = json!({"requestId": 5});
            in_session(&self.session, &json!({"jsonrpc": "2.0", "method": method, "params": params}))
        };
        let mut ways = vec![
            ("a call", call_in(&self.session, 9, "principal", &json!({}))),
            ("a list", self.request("tools/list", &json!({}))),
            ("ping", self.request("ping", &json!({}))),
            ("subscribe", self.request("resources/subscribe", &json!({"uri": "notes://mine"}))),
            ("unsubscribe", self.request("resources/unsubscribe", &json!({"uri": "notes://mine"}))),
            ("the log level", self.request("logging/setLevel", &json!({"level": "debug"}))),
            ("shutdown", self.request("shutdown", &json!({}))),
            ("a cancellation", notification("notifications/cancelled")),
            ("progress", notification("notifications/progress")),
            ("changed roots", notification("notifications/roots/list_changed")),
            ("a task", self.request("tasks/get", &json!({"taskId": "x"}))),
            ("a prompt", self.request("prompts/get", &json!({"name": "compose", "arguments": {"topic": "x"}}))),
            ("a resource", self.request("resources/read", &json!({"uri": "notes://mine"}))),
            ("a response", in_session(&self.session, &json!({"jsonrpc": "2.0", "id": 1, "result": {}}))),
            ("the event stream", stream_of(&self.session)),
            ("replay", stream_of(&self.session).with("Last-Event-ID", "1-1")),
            ("the end", Ask { method: "DELETE".into(), ..stream_of(&self.session) }),
        ];
        if revision == Revision::V2025_03_26 {
            let batch = json!([{"jsonrpc": "2.0", "id": 9, "method": "ping"}]);
            ways.push(("a batch", in_session(&self.session, &batch)));
        }
        ways
    }
}

/// Another user, the same user through another client, and nobody.
const OTHERS: [(&str, u16); 3] = [(BOB, 404), (OTHER_CLIENT, 404), ("mallory", 401)];

async fn assert_closed(world: &World, revision: Revision) {
    for (what, ask) in world.ways_in(revision) {
        for (token, status) in OTHERS {
            let response = world.site.begin(&with(ask.clone(), token)).await.0;
            assert_eq!(response.status, status, "{revision}: {what} by {token}");
        }
        assert_eq!(world.site.begin(&ask).await.0.status, 401, "{revision}: {what} by nobody");
    }
    let alive = with(call_in(&world.session, 8, "principal", &json!({})), ALICE);
    assert_eq!(world.site.ask(&alive).await.status, 200, "{revision}: the session is still Alice's");
}

#[tokio::test]
async fn session_is_closed_to_others_in_every_way() {
    for revision in [Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25] {
        assert_closed(&World::new(Site::serving(service()).await, revision).await, revision).await;
        let stored = service().session_store(Arc::new(MemorySessions::default()));
        assert_closed(&World::new(Site::serving(stored).await, revision).await, revision).await;
    }
}

/// The events of a stream are replayed to its user only.
#[tokio::test]
async fn events_are_replayed_to_their_user_only() {
    let world = World::new(Site::serving(service()).await, Revision::V2025_11_25).await;
    let (head, mut wire) = world.site.begin(&with(call_in(&world.session, 5, "hum", &json!({})), ALICE)).await;
    assert_eq!(head.status, 200);
    let text = String::from_utf8(soon(wire.chunk()).await.unwrap()).unwrap();
    let last = text.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    drop(wire);
    let resume = stream_of(&world.session).with("Last-Event-ID", &last);
    for other in [BOB, OTHER_CLIENT] {
        assert_eq!(world.site.begin(&with(resume.clone(), other)).await.0.status, 404);
        // In a session of their own, her event is unknown.
        let opened = world.site.ask(&with(initialize("2025-11-25"), other)).await;
        let own = stream_of(opened.header("mcp-session-id").unwrap()).with("Last-Event-ID", &last);
        assert_ne!(world.site.begin(&with(own, other)).await.0.status, 200);
    }
    assert_eq!(world.site.begin(&with(resume, ALICE)).await.0.status, 200);
}

/// Who sends the id of another's question or call in a session of their own answers and cancels nothing.
#[tokio::test]
async fn question_is_answered_and_call_cancelled_by_its_user_only() {
    let site = Site::serving(service()).await;
    let open = |token: &'static str| {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "tester", "version": "1"},
        });
        with(Ask::post(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string()), token)
    };
    let hers = site.ask(&open(ALICE)).await.header("mcp-session-id").unwrap().to_owned();
    let his = site.ask(&open(BOB)).await.header("mcp-session-id").unwrap().to_owned();
    for (session, token) in [(&hers, ALICE), (&his, BOB)] {
        let ready = in_session(session, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(site.ask(&with(ready, token)).await.status, 202);
    }
    let (_, mut wire) = site.begin(&with(call_in(&hers, 5, "ask", &json!({})), ALICE)).await;
    let question = soon(wire.event()).await.unwrap();
    assert_eq!(question["method"], "elicitation/create");
    let answer = |sure: bool| {
        let result = json!({"action": "accept", "content": {"sure": sure}});
        json!({"jsonrpc": "2.0", "id": question["id"], "result": result})
    };
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}});
    for message in [&answer(false), &cancel] {
        site.ask(&with(in_session(&his, message), BOB)).await;
        assert_eq!(site.ask(&with(in_session(&hers, message), BOB)).await.status, 404);
    }
    // Without a session, too.
    let lone = modern("notifications/cancelled", json!({"requestId": 5}));
    site.ask(&with(lone, BOB)).await;
    assert_eq!(site.ask(&with(in_session(&hers, &answer(true)), ALICE)).await.status, 202);
    let answered = soon(wire.event()).await.unwrap();
    assert_eq!(answered["result"]["content"][0]["text"], "alice: true", "{answered}");
}

fn task_request(method: &str, mut params: Value) -> Ask {
    params["_meta"] =
        json!({"io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
    modern(method, params)
}

#[tokio::test]
async fn task_is_closed_to_others_in_every_way() {
    let site = Site::serving(service()).await;
    let created = site.ask(&with(task_request("tools/call", json!({"name": "long", "arguments": {}})), ALICE)).await;
    let id = created.json()["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{created:?}")).to_owned();
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let ask = || task_request(method, json!({"taskId": id, "inputResponses": {}}));
        for other in [BOB, OTHER_CLIENT] {
            let denied = site.ask(&with(ask(), other)).await;
            assert_eq!(denied.json()["error"]["code"], -32602, "{method}: {denied:?}");
        }
        assert_eq!(site.ask(&ask()).await.status, 401, "{method}");
    }
    // A subscription to the task is not accepted.
    let listen = task_request("subscriptions/listen", json!({"notifications": {"taskIds": [id]}}));
    for (token, accepted) in [(BOB, json!(null)), (OTHER_CLIENT, json!(null)), (ALICE, json!([id]))] {
        let (head, mut wire) = site.begin(&with(listen.clone(), token)).await;
        assert_eq!(head.status, 200);
        let acknowledged = soon(wire.event()).await.unwrap();
        assert_eq!(acknowledged["params"]["notifications"]["taskIds"], accepted, "{token}: {acknowledged}");
    }
    let own = site.ask(&with(task_request("tasks/get", json!({"taskId": id})), ALICE)).await;
    assert_eq!(own.json()["result"]["status"], "working", "{own:?}");

    // In a session of the revision that has other methods.
    let world = World::new(site, Revision::V2025_11_25).await;
    let opened = world.site.ask(&with(initialize("2025-11-25"), BOB)).await;
    let his = World { session: opened.header("mcp-session-id").unwrap().to_owned(), ..world };
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let denied = his.site.ask(&with(his.request(method, &json!({"taskId": id})), BOB)).await;
        assert_eq!(denied.json()["error"]["code"], -32602, "{method}: {denied:?}");
    }
    let tasks = his.site.ask(&with(his.request("tasks/list", &json!({})), BOB)).await;
    assert_eq!(tasks.json()["result"]["tasks"], json!([]));
}

/// The state between the rounds of a call opens for the user it was sealed for.
#[tokio::test]
async fn sealed_state_is_bound_to_its_user() {
    let site = Site::serving(service()).await;
    let capabilities = json!({"elicitation": {}});
    let round = |more: Value| {
        let mut params = json!({
            "name": "ask",
            "arguments": {},
            "_meta": {"io.modelcontextprotocol/clientCapabilities": capabilities},
        });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        modern("tools/call", params)
    };
    let asked = site.ask(&with(round(json!({})), ALICE)).await.json();
    let (state, asks) = (&asked["result"]["requestState"], asked["result"]["inputRequests"].as_object().unwrap());
    let key = asks.keys().next().unwrap();
    let answer = || {
        let content = json!({"action": "accept", "content": {"sure": true}});
        round(json!({"requestState": state, "inputResponses": {key: content}}))
    };
    for other in [BOB, OTHER_CLIENT] {
        let denied = site.ask(&with(answer(), other)).await;
        assert!(denied.json().get("error").is_some(), "{denied:?}");
    }
    assert_eq!(text(&site.ask(&with(answer(), ALICE)).await), "alice: true");
}

fn text(response: &Response) -> Value {
    response.json()["result"]["content"][0]["text"].take()
}

/// Quotas count per user: one who uses up theirs takes nothing from another.
#[tokio::test]
async fn quotas_are_per_user() {
    let mut limits = mcp_runtime::Limits::default();
    limits.sessions_per_principal = 1;
    let site = Site::serving(server().limits(limits).into_service().authorize(super::auth())).await;
    let open = |token: &str| with(initialize("2025-11-25"), token);
    assert_eq!(site.ask(&open(ALICE)).await.status, 200);
    assert_eq!(site.ask(&open(ALICE)).await.status, 429);
    assert_eq!(site.ask(&open("alice;notes:read+notes:write")).await.status, 429, "another token, the same user");
    assert_eq!(site.ask(&open(BOB)).await.status, 200);
    assert_eq!(site.ask(&open(OTHER_CLIENT)).await.status, 200);
}
