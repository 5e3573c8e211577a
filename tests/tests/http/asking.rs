//! Asking in sessions over HTTP: the server's request is an event on the stream of the call, the client's response
//! a POST of its own.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server>

use mcp_runtime::{Revision, prelude::*};
use mcp_tests::http::{Ask, Response, Site, Wire, call_in, in_session, initialize, soon};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::resuming::again;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Name {
    pub(crate) name: String,
}

/// Greet whoever is there.
#[tool]
pub(crate) async fn greet(ctx: &Context) -> Result<String> {
    let Name { name } = ctx.elicit("Who is there?").await?;
    Ok(format!("Hello, {name}!"))
}

/// Have somebody sign in.
#[tool]
async fn sign_in(ctx: &Context) -> Result<&'static str> {
    ctx.elicit_url("Please sign in.", "https://example.com/sign-in").await?;
    Ok("agreed")
}

fn server() -> Server {
    Server::new("asker", "1.0.0").tools(tools![greet, sign_in])
}

/// A site that knows its users by a header.
async fn site() -> Site {
    let service = server().into_service();
    Site::serving(service.principal(|parts| Some(parts.headers.get("x-user")?.to_str().ok()?.to_owned()))).await
}

/// A session of a client that supports elicitation.
pub(crate) async fn session(site: &Site, revision: Revision, user: &str) -> String {
    let params = json!({
        "protocolVersion": revision, "capabilities": {"elicitation": {}}, "clientInfo": {"name": "c", "version": "1"},
    });
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let response = site.ask(&Ask::post(hello.to_string()).with("X-User", user)).await;
    response.header("mcp-session-id").expect("a session has an id").to_owned()
}

fn call(session: &str, name: &str) -> Ask {
    call_in(session, 7, name, &json!({})).with("X-User", "ann")
}

/// The answer to a question.
pub(crate) fn answer(session: &str, question: &Value, result: &Value) -> Ask {
    let message = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
    in_session(session, &message).with("X-User", "ann")
}

fn named(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

/// The events up to the first with a message: their ids, and the message.
async fn first_message(wire: &mut Wire) -> (Vec<String>, Value) {
    let mut text = String::new();
    loop {
        text.push_str(&String::from_utf8(soon(wire.chunk()).await.expect("the stream is over")).unwrap());
        let ids = text.lines().filter_map(|line| line.strip_prefix("id: ")).map(str::to_owned).collect();
        let mut messages = text.lines().filter_map(|line| line.strip_prefix("data: {"));
        if let (true, Some(message)) = (text.ends_with("\n\n"), messages.next()) {
            return (ids, serde_json::from_str(&format!("{{{message}")).unwrap());
        }
    }
}

fn is_greeting(result: Option<&Value>, name: &str) {
    let result = result.expect("there is no result");
    assert_eq!(
        (&result["id"], &result["result"]["content"][0]["text"]),
        (&json!(7), &json!(format!("Hello, {name}!")))
    );
}

fn is_error(response: &Response) -> String {
    let body = response.json();
    assert_eq!((response.status, &body["result"]["isError"]), (200, &json!(true)), "{body}");
    body["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn elicitation_is_an_event_and_its_response_a_post() {
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
        let site = site().await;
        let session = session(&site, revision, "ann").await;
        let (head, mut wire) = site.begin(&call(&session, "greet")).await;
        assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
        let question = soon(wire.event()).await.unwrap();
        assert_eq!(
            (&question["method"], &question["params"]["message"]),
            (&json!("elicitation/create"), &json!("Who is there?"))
        );
        let taken = site.ask(&answer(&session, &question, &named("Ada"))).await;
        assert_eq!((taken.status, taken.text()), (202, ""), "{revision}");
        is_greeting(soon(wire.event()).await.as_ref(), "Ada");
        assert_eq!(soon(wire.event()).await, None, "the stream ends with the result");
        // Once more means nothing.
        assert_eq!(site.ask(&answer(&session, &question, &named("Eve"))).await.status, 202);
    }
}

#[tokio::test]
async fn resumed_stream_replays_the_elicitation_and_the_result() {
    let site = site().await;
    let session = session(&site, Revision::V2025_11_25, "ann").await;
    let (_, mut wire) = site.begin(&call(&session, "greet")).await;
    let (ids, question) = first_message(&mut wire).await;
    drop(wire);
    let [primer, asked] = &ids[..] else { panic!("the stream begins with {ids:?}") };
    // A client that saw only the first event is asked again, and can answer.
    let (head, mut wire) = site.begin(&again(&session, primer).with("X-User", "ann")).await;
    assert_eq!(head.status, 200);
    assert_eq!(soon(wire.event()).await.as_ref(), Some(&question));
    drop(wire);
    assert_eq!(site.ask(&answer(&session, &question, &named("Ada"))).await.status, 202);
    // A client that saw the question and answered without a stream gets the result.
    let rest = soon(site.ask(&again(&session, asked).with("X-User", "ann"))).await.events();
    assert_eq!(rest.len(), 1);
    is_greeting(rest.last(), "Ada");
}

#[tokio::test]
async fn only_the_same_session_and_principal_can_answer() {
    let site = site().await;
    let owner = session(&site, Revision::V2025_11_25, "ann").await;
    let (_, mut wire) = site.begin(&call(&owner, "greet")).await;
    let question = soon(wire.event()).await.unwrap();
    let wrong = answer(&owner, &question, &named("Eve"));
    for stranger in [wrong.clone().without("X-User"), wrong.clone().but("X-User", "bob")] {
        assert_eq!(site.ask(&stranger).await.status, 404);
    }
    // Sessions do not answer for each other, even of one principal.
    for user in ["ann", "bob"] {
        let other = session(&site, Revision::V2025_11_25, user).await;
        let elsewhere = answer(&other, &question, &named("Eve")).but("X-User", user);
        assert_eq!(site.ask(&elsewhere).await.status, 202);
    }
    assert_eq!(site.ask(&answer(&owner, &question, &named("Ada"))).await.status, 202);
    is_greeting(soon(wire.event()).await.as_ref(), "Ada");
}

#[tokio::test]
async fn deleted_session_ends_its_elicitation() {
    let site = site().await;
    let session = session(&site, Revision::V2025_11_25, "ann").await;
    let (_, mut wire) = site.begin(&call(&session, "greet")).await;
    let question = soon(wire.event()).await.unwrap();
    let delete = Ask::new("DELETE").with("Mcp-Session-Id", &session).with("X-User", "ann");
    assert_eq!(site.ask(&delete).await.status, 204);
    while let Some(last) = soon(wire.event()).await {
        assert!(last.get("result").is_none(), "{last}");
    }
    assert_eq!(site.ask(&answer(&session, &question, &named("Ada"))).await.status, 404);
}

#[tokio::test]
async fn cancelled_call_withdraws_its_elicitation() {
    let site = site().await;
    let session = session(&site, Revision::V2025_11_25, "ann").await;
    let (_, mut wire) = site.begin(&call(&session, "greet")).await;
    let question = soon(wire.event()).await.unwrap();
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(site.ask(&in_session(&session, &cancel).with("X-User", "ann")).await.status, 202);
    let withdrawn = soon(wire.event()).await.unwrap();
    assert_eq!(
        (&withdrawn["method"], &withdrawn["params"]["requestId"]),
        (&json!("notifications/cancelled"), &question["id"])
    );
    assert_eq!(soon(wire.event()).await, None, "nothing is answered");
}

#[tokio::test]
async fn client_without_event_stream_cannot_be_asked() {
    let site = site().await;
    let session = session(&site, Revision::V2025_11_25, "ann").await;
    let response = site.ask(&call(&session, "greet").but("Accept", "application/json")).await;
    let text = is_error(&response);
    assert!(text.contains("accept `text/event-stream`"), "{text}");
}

#[tokio::test]
async fn stateless_service_cannot_ask() {
    let site = Site::serving(server().into_service().stateless()).await;
    assert_eq!(site.ask(&initialize("2025-11-25")).await.status, 200);
    let alone =
        |name: &str, version: &str| call("any", name).without("Mcp-Session-Id").with("MCP-Protocol-Version", version);
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let text = is_error(&soon(site.ask(&alone("greet", version))).await);
        assert!(text.contains("it needs a session"), "{text}");
    }
    // Revisions without an error code for it get the URL in the text.
    for version in ["2025-03-26", "2025-06-18"] {
        let text = is_error(&soon(site.ask(&alone("sign_in", version))).await);
        assert!(text.ends_with("Please sign in. https://example.com/sign-in"), "{text}");
    }
    let response = soon(site.ask(&alone("sign_in", "2025-11-25"))).await;
    assert_eq!(response.outcome(), (200, -32042));
    let error = &response.json()["error"];
    let mut visits = error["data"]["elicitations"].clone();
    let id = visits[0]["elicitationId"].take();
    assert!(id.as_str().is_some_and(|id| id.len() >= 22), "{id}");
    let visit = json!({"mode": "url", "message": "Please sign in.", "url": "https://example.com/sign-in", "elicitationId": null});
    assert_eq!((&error["message"], visits), (&json!("Please sign in."), json!([visit])));
}
