//! Isolation of elicitations, request states and tasks between principals.

use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::http::HttpService;
use mcp_runtime::prelude::*;
use mcp_runtime::store::MemorySessions;
use mcp_tests::http::{Ask, Site, Wire, call_in, in_session, modern, soon};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// Greet the user.
#[tool]
async fn greet(ctx: &Context) -> Result<String> {
    let Name { name } = ctx.elicit("Who is there?").await?;
    Ok(format!("Hello, {name}!"))
}

/// Ask on a thread.
#[tool(blocking)]
fn thread(ctx: &Context) -> Result<String> {
    let Name { name } = tokio::runtime::Handle::current().block_on(ctx.elicit("Who is there?"))?;
    Ok(name)
}

/// Ask when it is a task.
#[tool(task)]
async fn later(ctx: &Context) -> Result<String> {
    let Name { name } = ctx.elicit("Who is there?").await?;
    Ok(format!("Hello, {name}!"))
}

fn service() -> HttpService {
    let server = Server::new("asker", "1.0.0").disable_signals().tools(tools![greet, thread, later]);
    let service = server.into_service();
    service.principal(|parts| Some(parts.headers.get("x-user")?.to_str().ok()?.to_owned()))
}

async fn session(site: &Site, user: &str) -> String {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "t", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let opened = site.ask(&Ask::post(hello.to_string()).with("x-user", user)).await;
    opened.header("mcp-session-id").unwrap().to_owned()
}

async fn asked(site: &Site, session: &str, tool: &str) -> (Value, Wire) {
    let (_, mut wire) = site.begin(&call_in(session, 1, tool, &json!({})).with("x-user", "ada")).await;
    (soon(wire.event()).await.unwrap(), wire)
}

fn answer(session: &str, id: &Value, name: &str) -> Ask {
    let result = json!({"action": "accept", "content": {"name": name}});
    in_session(session, &json!({"jsonrpc": "2.0", "id": id, "result": result})).with("x-user", "ada")
}

/// One session, two replicas, a question at each: a response must not match the other replica's request.
#[tokio::test]
async fn elicitation_ids_differ_between_replicas() {
    let store = Arc::new(MemorySessions::new());
    let one = Site::serving(service().session_store(Arc::clone(&store))).await;
    let other = Site::serving(service().session_store(store)).await;
    let session = session(&one, "ada").await;
    let (first, mut at_one) = asked(&one, &session, "greet").await;
    let (second, mut at_other) = asked(&other, &session, "greet").await;
    assert_ne!(first["id"], second["id"]);
    // The other replica ignores it.
    one.ask(&answer(&session, &second["id"], "Mallory")).await;
    other.ask(&answer(&session, &first["id"], "Mallory")).await;
    one.ask(&answer(&session, &first["id"], "Ada")).await;
    other.ask(&answer(&session, &second["id"], "Grace")).await;
    assert_eq!(soon(at_one.event()).await.unwrap()["result"]["content"][0]["text"], "Hello, Ada!");
    assert_eq!(soon(at_other.event()).await.unwrap()["result"]["content"][0]["text"], "Hello, Grace!");
}

#[tokio::test]
async fn elicitation_is_bound_to_session_and_principal() {
    let site = Site::serving(service()).await;
    let (own, foreign) = (session(&site, "ada").await, session(&site, "bob").await);
    let (question, mut wire) = asked(&site, &own, "greet").await;
    assert_eq!(site.ask(&answer(&own, &question["id"], "Mallory").but("x-user", "bob")).await.status, 404);
    assert_eq!(site.ask(&answer(&foreign, &question["id"], "Mallory").but("x-user", "bob")).await.status, 202);
    assert_eq!(site.ask(&answer(&own, &question["id"], "Ada")).await.status, 202);
    assert_eq!(soon(wire.event()).await.unwrap()["result"]["content"][0]["text"], "Hello, Ada!");
}

/// The thread of a blocking handler is not held until the question would time out.
#[tokio::test]
async fn deleted_session_frees_the_asking_thread() {
    let site = Site::serving(service()).await;
    let session = session(&site, "ada").await;
    let (_, mut wire) = asked(&site, &session, "thread").await;
    let end = Ask::new("DELETE").with("Mcp-Session-Id", &session).with("x-user", "ada");
    assert!(site.ask(&end).await.status < 300);
    assert!(soon(wire.event()).await.is_none());
    let begun = std::time::Instant::now();
    site.handle.shutdown().await;
    assert!(begun.elapsed() < Duration::from_secs(3));
}

const ABLE: &str = "io.modelcontextprotocol/clientCapabilities";

fn of(user: &str, method: &str, mut params: Value) -> Ask {
    params["_meta"] = json!({ABLE: {"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}});
    modern(method, params).with("x-user", user)
}

#[tokio::test]
async fn request_state_is_bound_to_its_principal() {
    let site = Site::serving(service()).await;
    let round = site.ask(&of("ada", "tools/call", json!({"name": "greet", "arguments": {}}))).await.json();
    let retry = json!({
        "name": "greet",
        "arguments": {},
        "inputResponses": {"ask-1": {"action": "accept", "content": {"name": "Ada"}}},
        "requestState": round["result"]["requestState"],
    });
    for stranger in ["bob", "", "ada\",\"x"] {
        assert_eq!(site.ask(&of(stranger, "tools/call", retry.clone())).await.outcome().1, -32602);
    }
    assert_eq!(site.ask(&of("ada", "tools/call", retry.clone()).without("x-user")).await.outcome().1, -32602);
    let greeted = site.ask(&of("ada", "tools/call", retry)).await.json();
    assert_eq!(greeted["result"]["content"][0]["text"], "Hello, Ada!");
}

#[tokio::test]
async fn task_is_bound_to_its_principal() {
    let site = Site::serving(service()).await;
    let task = site.ask(&of("ada", "tools/call", json!({"name": "later", "arguments": {}}))).await.json();
    let id = task["result"]["taskId"].as_str().unwrap().to_owned();
    let answers = json!({"ask-1": {"action": "accept", "content": {"name": "Mallory"}}});
    let ask = |user: &str, method: &str, answers: &Value| {
        of(user, method, json!({"taskId": id, "inputResponses": answers})).but("Mcp-Name", &id)
    };
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        for ask in [ask("bob", method, &answers), ask("bob", method, &answers).without("x-user")] {
            assert_eq!(site.ask(&ask).await.outcome().1, -32602, "{method}");
        }
    }
    let listen = of("bob", "subscriptions/listen", json!({"notifications": {"taskIds": [id]}}));
    let (_, mut wire) = site.begin(&listen).await;
    assert_eq!(soon(wire.event()).await.unwrap()["params"]["notifications"], json!({}));
    // Nor is it there for a session of its own principal, which has other tasks.
    let session = session(&site, "ada").await;
    let in_session = |method: &str, params: Value| {
        in_session(&session, &json!({"jsonrpc": "2.0", "id": 5, "method": method, "params": params}))
            .with("x-user", "ada")
    };
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        assert_eq!(site.ask(&in_session(method, json!({"taskId": id}))).await.outcome().1, -32602, "{method}");
    }
    assert_eq!(site.ask(&in_session("tasks/list", json!({}))).await.json()["result"], json!({"tasks": []}));
    assert_eq!(site.ask(&in_session("tasks/list", json!({"cursor": "2"}))).await.outcome().1, -32602);
    soon(async {
        while site.ask(&ask("ada", "tasks/get", &json!({}))).await.json()["result"]["status"] != "input_required" {}
    })
    .await;
    let answers = json!({"ask-1": {"action": "accept", "content": {"name": "Ada"}}});
    assert_eq!(site.ask(&ask("ada", "tasks/update", &answers)).await.status, 200);
    soon(async {
        loop {
            let now = site.ask(&ask("ada", "tasks/get", &json!({}))).await.json()["result"].clone();
            if now["status"] == "completed" {
                break assert_eq!(now["result"]["content"][0]["text"], "Hello, Ada!");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn response_nested_too_deep_fails_its_ask_at_once() {
    let site = Site::serving(service()).await;
    let session = session(&site, "ada").await;
    let (question, mut wire) = asked(&site, &session, "greet").await;
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let response =
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"action":"accept","content":{deep}}}}}"#, question["id"]);
    let ask = Ask::post(response).with("mcp-session-id", &session).with("x-user", "ada");
    assert_eq!(site.ask(&ask).await.status, 202);
    let failed = soon(wire.event()).await.unwrap();
    assert_eq!(failed["result"]["isError"], true, "{failed}");
    assert!(failed.to_string().contains("nested too deep"), "{failed}");
}
