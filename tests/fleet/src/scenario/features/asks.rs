//! Questions of the server, answered at another replica than the one that runs the call.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::ensure;
use super::sessions::connect;
use crate::Result;
use crate::client::{Client, answer, text, until_method};

fn sampled() -> Value {
    json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "hello" } })
}

fn roots_of_work() -> Value {
    json!({ "roots": [{ "uri": "file:///work", "name": "work" }] })
}

/// With the stream cut and resumed elsewhere before the answer, or not.
pub(super) async fn elicitation(address: SocketAddr, revision: &'static str, resumed: bool) -> Result<()> {
    let client = connect(address, revision).await?;
    let (id, mut reply) = client.start("test_elicitation", json!({ "message": "Who?" })).await?;
    let question = until_method(&mut reply, "elicitation/create").await?;
    let replica = reply.replica;
    if resumed {
        let last = reply.last_event.take().ok_or("the stream has no event ids")?;
        drop(reply);
        client.avoid(replica).await?;
        reply = client.listen(Some(&last)).await?;
    }
    client.avoid(replica).await?;
    let contact = json!({ "username": "ada", "email": "ada@example.com" });
    client.respond(&question, json!({ "action": "accept", "content": contact })).await?;
    let result = answer(&mut reply, id).await?;
    ensure(text(&result["result"]).starts_with("User response: accept"), &result)
}

/// Calls a tool that asks one thing.
async fn asked(
    address: SocketAddr,
    revision: &'static str,
    (tool, arguments): (&str, Value),
    (method, response): (&str, Value),
) -> Result<String> {
    let client = connect(address, revision).await?;
    let (id, mut reply) = client.start(tool, arguments).await?;
    let question = until_method(&mut reply, method).await?;
    client.avoid(reply.replica).await?;
    client.respond(&question, response).await?;
    Ok(text(&answer(&mut reply, id).await?["result"]))
}

pub(super) async fn sampling(address: SocketAddr, revision: &'static str) -> Result<()> {
    let call = ("test_sampling", json!({ "prompt": "Hello?" }));
    let said = asked(address, revision, call, ("sampling/createMessage", sampled())).await?;
    ensure(said == "LLM response: hello", said)
}

pub(super) async fn roots(address: SocketAddr, revision: &'static str) -> Result<()> {
    let call = ("test_input_required_result_list_roots", json!({}));
    let said = asked(address, revision, call, ("roots/list", roots_of_work())).await?;
    ensure(said == "You work in work", said)
}

/// Calls with the answers to each round's questions, every time at another replica, until there is a result.
async fn played(address: SocketAddr, tool: &str, respond: impl Fn(&str) -> Value) -> Result<(usize, Value)> {
    let client = Client::modern(address);
    let mut more = json!({});
    for round in 0..5 {
        let mut params = json!({ "name": tool, "arguments": {} });
        if let (Some(params), Some(more)) = (params.as_object_mut(), more.as_object()) {
            params.extend(more.clone());
        }
        let result = client.ask("tools/call", params).await?;
        if result["resultType"] != "input_required" {
            return Ok((round, result));
        }
        let keys = result["inputRequests"].as_object().map(|asked| asked.keys().cloned().collect::<Vec<_>>());
        let responses: serde_json::Map<_, _> =
            keys.unwrap_or_default().into_iter().map(|key| (key.clone(), respond(&key))).collect();
        more = json!({ "inputResponses": responses, "requestState": result["requestState"] });
    }
    Err(format!("{tool} asks and asks").into())
}

pub(super) async fn rounds(address: SocketAddr) -> Result<()> {
    let respond = |_: &str| json!({ "action": "accept", "content": { "name": "Ada", "color": "blue" } });
    let (rounds, result) = played(address, "test_input_required_result_multi_round", respond).await?;
    ensure(rounds == 2 && text(&result) == "Ada likes blue", format!("{rounds} rounds, {result}"))
}

pub(super) async fn rounds_together(address: SocketAddr) -> Result<()> {
    let respond = |key: &str| match key {
        "greeting" => sampled(),
        "client_roots" => roots_of_work(),
        _ => json!({ "action": "accept", "content": { "name": "Ada" } }),
    };
    let (rounds, result) = played(address, "test_input_required_result_multiple_inputs", respond).await?;
    ensure(rounds == 1 && text(&result) == "hello Ada, in work", format!("{rounds} rounds, {result}"))
}
