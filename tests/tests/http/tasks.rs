//! Tasks over HTTP: ownership, and life without a connection.

use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::{Revision, prelude::*};
use mcp_tests::http::{Ask, Site, in_session, modern, soon, stream_of};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::asking::{answer, session};

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    sure: bool,
}

/// Works when the test lets it.
#[derive(Debug, Clone)]
struct Bench(Arc<Semaphore>);

#[handlers]
#[allow(clippy::unused_self, reason = "handlers of one value, some of which need nothing of it")]
impl Bench {
    /// Work, and be done when there is leave to.
    #[tool(task)]
    async fn work(&self) -> Result<&'static str> {
        self.0.acquire().await?.forget();
        Ok("done")
    }

    /// Report, and be done when there is leave to.
    #[tool(task)]
    async fn report(&self, ctx: &Context) -> Result<&'static str> {
        for done in 1..=2 {
            self.0.acquire().await?.forget();
            ctx.progress(done, 2).await;
        }
        Ok("done")
    }

    /// Ask whether to.
    #[tool(task)]
    async fn confirm(&self, ctx: &Context) -> Result<bool> {
        let Confirm { sure } = ctx.elicit("Really?").await?;
        Ok(sure)
    }

    /// The weather.
    #[resource("weather://now", subscribe)]
    fn weather(&self) -> &'static str {
        "rain"
    }
}

/// A site that knows its users by a header, and what lets its tasks be done.
async fn site() -> (Site, Arc<Semaphore>) {
    let leave = Arc::new(Semaphore::new(0));
    let service = Server::new("bench", "1.0.0").mount(Bench(Arc::clone(&leave))).into_service().legacy_sse();
    let service = service.principal(|parts| Some(parts.headers.get("x-user")?.to_str().ok()?.to_owned()));
    (Site::serving(service).await, leave)
}

/// A request of a client that knows tasks.
fn knowing(method: &str, mut params: Value) -> Ask {
    let capabilities = json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": capabilities});
    modern(method, params)
}

fn about(method: &str, id: &Value) -> Ask {
    knowing(method, json!({"taskId": id, "inputResponses": {}}))
}

async fn start(site: &Site, name: &str) -> Value {
    let ask = knowing("tools/call", json!({"name": name, "arguments": {}})).with("X-User", "ann");
    // The connection is gone when this returns.
    let created = site.ask(&ask).await;
    assert_eq!((created.status, &created.json()["result"]["resultType"]), (200, &json!("task")));
    created.json()["result"]["taskId"].clone()
}

/// The task of ann's, once it is in this state.
async fn until(site: &Site, id: &Value, status: &str) -> Value {
    soon(async {
        loop {
            let task = site.ask(&about("tasks/get", id).with("X-User", "ann")).await.json()["result"].clone();
            if task["status"] == status {
                return task;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await
}

#[tokio::test]
async fn task_survives_a_disconnect() {
    let (site, leave) = site().await;
    let id = start(&site, "work").await;
    leave.add_permits(1);
    assert_eq!(until(&site, &id, "completed").await["result"]["content"][0]["text"], "done");
    let id = start(&site, "confirm").await;
    assert!(until(&site, &id, "input_required").await["inputRequests"]["ask-1"].is_object());
    let answers = json!({"ask-1": {"action": "accept", "content": {"sure": true}}});
    let update = knowing("tasks/update", json!({"taskId": id, "inputResponses": answers})).with("X-User", "ann");
    assert_eq!(site.ask(&update).await.outcome(), (200, 0));
    assert_eq!(until(&site, &id, "completed").await["result"]["content"][0]["text"], "true");
}

#[tokio::test]
async fn task_of_another_principal_is_unknown() {
    let (site, _leave) = site().await;
    let id = start(&site, "confirm").await;
    until(&site, &id, "input_required").await;
    let answers = json!({"ask-1": {"action": "accept", "content": {"sure": true}}});
    let requests = [
        about("tasks/get", &id),
        knowing("tasks/update", json!({"taskId": id, "inputResponses": answers})),
        about("tasks/cancel", &id),
    ];
    for request in requests {
        for stranger in [request.clone(), request.clone().with("X-User", "bob")] {
            let response = site.ask(&stranger).await;
            assert_eq!(response.outcome().1, -32602, "{response:?}");
            assert!(response.json()["error"]["message"].as_str().unwrap().starts_with("Unknown task"));
        }
    }
    assert_eq!(until(&site, &id, "input_required").await["inputRequests"].as_object().unwrap().len(), 1, "as before");
}

#[tokio::test]
async fn listen_stream_carries_only_own_tasks() {
    let (site, leave) = site().await;
    let id = start(&site, "work").await;
    let filter = json!({"taskIds": [id], "resourceSubscriptions": ["weather://now"]});
    let listen = knowing("subscriptions/listen", json!({"notifications": filter}));
    let (_, mut anns) = site.begin(&listen.clone().with("X-User", "ann")).await;
    let (_, mut bobs) = site.begin(&listen.with("X-User", "bob")).await;
    let agreed = soon(anns.event()).await.unwrap()["params"]["notifications"].clone();
    assert_eq!(agreed, filter);
    let agreed = soon(bobs.event()).await.unwrap()["params"]["notifications"].clone();
    assert_eq!(agreed.get("taskIds").unwrap_or(&json!([])), &json!([]), "{agreed}");
    leave.add_permits(1);
    loop {
        let told = soon(anns.event()).await.unwrap();
        assert_eq!((&told["method"], &told["params"]["taskId"]), (&json!("notifications/tasks"), &id));
        if told["params"]["status"] == "completed" {
            break;
        }
    }
    // What bob hears next is what comes next.
    site.handle.resource_updated("weather://now");
    assert_eq!(soon(bobs.event()).await.unwrap()["method"], "notifications/resources/updated");
}

#[tokio::test]
async fn name_header_must_match_the_task_id() {
    let (site, _leave) = site().await;
    let id = start(&site, "work").await;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let ask = about(method, &id).with("X-User", "ann");
        for wrong in [ask.clone().without("Mcp-Name"), ask.clone().but("Mcp-Name", "another")] {
            assert_eq!(site.ask(&wrong).await.outcome(), (400, -32020), "{method}");
        }
        assert_eq!(site.ask(&ask).await.outcome(), (200, 0), "{method}");
    }
    let unable = modern("tasks/get", json!({"taskId": id})).with("X-User", "ann");
    assert_eq!(site.ask(&unable).await.outcome(), (400, -32021));
}

fn in_it(session: &str, id: u64, method: &str, params: &Value) -> Ask {
    in_session(session, &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).with("X-User", "ann")
}

/// A task of ann's in her session; its id.
async fn start_in(site: &Site, session: &str, name: &str) -> Value {
    let params = json!({"name": name, "arguments": {}, "task": {}});
    site.ask(&in_it(session, 1, "tools/call", &params)).await.json()["result"]["task"]["taskId"].clone()
}

#[tokio::test]
async fn session_tasks_belong_to_the_principal() {
    let (site, _leave) = site().await;
    let anns = session(&site, Revision::V2025_11_25, "ann").await;
    let id = start_in(&site, &anns, "work").await;
    // In another session of theirs as well.
    let others = session(&site, Revision::V2025_11_25, "ann").await;
    let bobs = session(&site, Revision::V2025_11_25, "bob").await;
    let listed = site.ask(&in_it(&others, 2, "tasks/list", &json!({}))).await.json()["result"]["tasks"].clone();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["taskId"]), (1, &id));
    let of_bob = in_it(&bobs, 2, "tasks/list", &json!({})).but("X-User", "bob");
    assert_eq!(site.ask(&of_bob).await.json()["result"]["tasks"], json!([]));
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let of_bob = in_it(&bobs, 3, method, &json!({"taskId": id})).but("X-User", "bob");
        assert_eq!(soon(site.ask(&of_bob)).await.outcome(), (200, -32602), "{method}");
    }
    let cancelled = site.ask(&in_it(&others, 4, "tasks/cancel", &json!({"taskId": id}))).await;
    assert_eq!(cancelled.json()["result"]["status"], "cancelled");
}

#[tokio::test]
async fn second_tasks_result_repeats_the_elicitation() {
    let (site, _leave) = site().await;
    let session = session(&site, Revision::V2025_11_25, "ann").await;
    let id = start_in(&site, &session, "confirm").await;
    let wait = |number| in_it(&session, number, "tasks/result", &json!({"taskId": id}));
    let (_, mut first) = site.begin(&wait(8)).await;
    let lost = soon(first.event()).await.unwrap();
    drop(first);
    let (_, mut second) = site.begin(&wait(9)).await;
    let question = soon(second.event()).await.unwrap();
    assert_eq!(question["params"], lost["params"]);
    assert_ne!(question["id"], lost["id"]);
    let sure = json!({"action": "accept", "content": {"sure": true}});
    assert_eq!(site.ask(&answer(&session, &question, &sure)).await.status, 202);
    let result = soon(second.event()).await.unwrap();
    assert_eq!((&result["id"], &result["result"]["content"][0]["text"]), (&json!(9), &json!("true")));
}

#[tokio::test]
async fn two_waiters_for_a_result_ask_once() {
    let (site, _leave) = site().await;
    let session = session(&site, Revision::V2025_11_25, "ann").await;
    let id = start_in(&site, &session, "confirm").await;
    let wait = |number| in_it(&session, number, "tasks/result", &json!({"taskId": id}));
    let (_, mut first) = site.begin(&wait(8)).await;
    let question = soon(first.event()).await.unwrap();
    let mut second = site.open().await;
    second.send(&wait(9).bytes()).await;
    // A third one in another session of hers.
    let other = crate::asking::session(&site, Revision::V2025_11_25, "ann").await;
    let mut third = site.open().await;
    third.send(&in_it(&other, 10, "tasks/result", &json!({"taskId": id})).bytes()).await;
    // Time for a mistake: the waiters look at the task every two seconds.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let sure = json!({"action": "accept", "content": {"sure": true}});
    assert_eq!(site.ask(&answer(&session, &question, &sure)).await.status, 202);
    let result = soon(first.event()).await.unwrap();
    assert_eq!((&result["id"], &result["result"]["content"][0]["text"]), (&json!(8), &json!("true")));
    for (mut wire, number) in [(second, 9), (third, 10)] {
        let response = soon(wire.response()).await;
        assert_eq!(response.json()["id"], number, "the result alone: {response:?}");
        assert_eq!(response.json()["result"]["content"][0]["text"], "true");
    }
}

#[tokio::test]
async fn second_waiter_asks_when_the_client_of_the_first_leaves() {
    let (site, _leave) = site().await;
    let session = session(&site, Revision::V2025_11_25, "ann").await;
    let id = start_in(&site, &session, "confirm").await;
    let wait = |number| in_it(&session, number, "tasks/result", &json!({"taskId": id}));
    let (_, mut first) = site.begin(&wait(8)).await;
    let lost = soon(first.event()).await.unwrap();
    let mut second = site.open().await;
    second.send(&wait(9).bytes()).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    drop(first);
    soon(second.head()).await;
    let question = soon(second.event()).await.unwrap();
    assert_eq!(question["params"], lost["params"]);
    let sure = json!({"action": "accept", "content": {"sure": false}});
    assert_eq!(site.ask(&answer(&session, &question, &sure)).await.status, 202);
    assert_eq!(soon(second.event()).await.unwrap()["result"]["content"][0]["text"], "false");
}

/// Starts a task of ann's that reports its progress; its id.
async fn start_reporting(site: &Site, session: &str) -> Value {
    let params = json!({"name": "report", "arguments": {}, "task": {}, "_meta": {"progressToken": "p"}});
    site.ask(&in_it(session, 1, "tools/call", &params)).await.json()["result"]["task"]["taskId"].clone()
}

fn is_progress(message: &Value, id: &Value, done: u64) {
    let params = &message["params"];
    assert_eq!((&message["method"], &params["progressToken"]), (&json!("notifications/progress"), &json!("p")));
    assert_eq!(params["progress"].as_f64(), Some(f64::from(u32::try_from(done).unwrap())), "{message}");
    assert_eq!(params["_meta"]["io.modelcontextprotocol/related-task"], json!({"taskId": id}));
}

#[tokio::test]
async fn progress_of_a_task_reaches_the_client() {
    let (site, leave) = site().await;
    let session = session(&site, Revision::V2025_11_25, "ann").await;
    let id = start_reporting(&site, &session).await;
    // On the session's own stream, as long as nothing else is read.
    let (_, mut own) = site.begin(&stream_of(&session).with("X-User", "ann")).await;
    leave.add_permits(1);
    is_progress(&soon(own.event()).await.unwrap(), &id, 1);
    // On the stream of a request that waits for the result.
    let mut waiting = site.open().await;
    waiting.send(&in_it(&session, 8, "tasks/result", &json!({"taskId": id})).bytes()).await;
    // Answered after the waiter was received.
    site.ask(&in_it(&session, 9, "ping", &json!({}))).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    leave.add_permits(1);
    soon(waiting.head()).await;
    is_progress(&soon(waiting.event()).await.unwrap(), &id, 2);
    assert_eq!(soon(waiting.event()).await.unwrap()["result"]["content"][0]["text"], "done");
    assert!(soon(waiting.event()).await.is_none(), "the stream ends with the result");
}

/// A task whose client reads nothing is done all the same.
#[tokio::test]
async fn unread_progress_does_not_hold_up_a_task() {
    let (site, leave) = site().await;
    let session = session(&site, Revision::V2025_11_25, "ann").await;
    let id = start_reporting(&site, &session).await;
    leave.add_permits(2);
    let about = |method| in_it(&session, 8, method, &json!({"taskId": id}));
    soon(async {
        while site.ask(&about("tasks/get")).await.json()["result"]["status"] != "completed" {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    assert_eq!(site.ask(&about("tasks/result")).await.json()["result"]["content"][0]["text"], "done");
}

/// Sends a message to an address of the oldest transport.
async fn post(site: &Site, path: &str, message: &Value) {
    let bytes = Ask::post(message.to_string()).with("X-User", "ann").bytes();
    let mut wire = site.open().await;
    wire.send(String::from_utf8(bytes).unwrap().replacen("/mcp", path, 1).as_bytes()).await;
    assert_eq!(wire.response().await.status, 202);
}

#[tokio::test]
async fn legacy_sse_tasks_belong_to_the_principal() {
    let (site, _leave) = site().await;
    let mut wire = site.open().await;
    wire.send(b"GET /sse HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\nAccept: text/event-stream\r\n\r\n").await;
    assert_eq!(wire.head().await.status, 200);
    let first = String::from_utf8(soon(wire.chunk()).await.unwrap()).unwrap();
    let path = format!("/{}", first.trim().strip_prefix("event: endpoint\ndata: ").unwrap());
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let start = json!({"name": "work", "arguments": {}, "task": {}});
    for (id, method, params) in [(1, "initialize", hello), (2, "tools/call", start)] {
        post(&site, &path, &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
    }
    assert_eq!(soon(wire.event()).await.unwrap()["result"]["protocolVersion"], "2025-11-25");
    let id = soon(wire.event()).await.unwrap()["result"]["task"]["taskId"].clone();
    let anns = session(&site, Revision::V2025_11_25, "ann").await;
    let found = site.ask(&in_it(&anns, 3, "tasks/get", &json!({"taskId": id}))).await;
    assert_eq!(found.json()["result"]["taskId"], id);
}
