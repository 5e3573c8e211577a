//! Sessions: a request on the stream of the call, answered by a response.

use mcp_runtime::testing::TestClient;
use mcp_runtime::{Revision, prelude::*};
use serde_json::Value;

use super::server;

async fn connect(revision: Revision, capabilities: Value) -> Result<TestClient, ServerError> {
    let mut client = TestClient::builder(server()).revision(revision);
    if let Value::Object(capabilities) = capabilities {
        for (name, settings) in capabilities {
            client = client.capability(name, settings);
        }
    }
    client.connect().await
}

const CALL: &str = r#"{"jsonrpc":"2.0","id":"call","method":"tools/call","params":{"name":"NAME","arguments":{}}}"#;

async fn next(client: &TestClient) -> Result<Value> {
    Ok(serde_json::from_str(&client.receive().await?)?)
}

#[tokio::test]
async fn elicitation_is_a_request_and_its_answer_a_response() -> Result<()> {
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
        let client = connect(revision, json!({"elicitation": {}})).await?;
        client.send(&CALL.replace("NAME", "greet"))?;
        let question = next(&client).await?;
        assert_eq!(
            question,
            json!({"jsonrpc": "2.0", "method": "elicitation/create", "id": "ask-1", "params": {
                "message": "Who is there?",
                "requestedSchema": {
                    "type": "object",
                    "properties": {"name": {"type": "string", "description": "What should we call you?"}},
                    "required": ["name"],
                },
            }})
        );
        client.send(r#"{"jsonrpc":"2.0","id":"ask-1","result":{"action":"accept","content":{"name":"Ada"}}}"#)?;
        assert_eq!(next(&client).await?["result"]["content"][0]["text"], "Hello, Ada!");
    }
    Ok(())
}

#[tokio::test]
async fn client_without_elicitation_gets_an_error_result() -> Result<()> {
    for (revision, capabilities) in [
        (Revision::V2024_11_05, json!({"elicitation": {}})),
        (Revision::V2025_03_26, json!({"elicitation": {}})),
        (Revision::V2025_06_18, json!({})),
        (Revision::V2025_11_25, json!({"elicitation": {"url": {}}})),
    ] {
        let client = connect(revision, capabilities).await?;
        let answer = client.call("greet", json!({})).await?;
        assert!(answer.is_error());
        let old = revision < Revision::V2025_06_18;
        let why = match revision {
            _ if old => "that came with 2025-06-18",
            Revision::V2025_06_18 => "does not declare the capability `elicitation`",
            _ => "does not declare the capability `elicitation.form`",
        };
        assert!(answer.text().contains(why), "{}", answer.text());
    }
    Ok(())
}

#[tokio::test]
async fn ask_errors_distinguish_decline_cancel_mismatch_and_refusal() -> Result<()> {
    let client = connect(Revision::V2025_11_25, json!({"elicitation": {}})).await?;
    for (number, (answer, told)) in [
        (r#""result":{"action":"decline"}"#, "declined"),
        (r#""result":{"action":"cancel"}"#, "cancelled"),
        (r#""result":{"action":"accept","content":{"name":7}}"#, "other: the answer does not fit the question"),
        (r#""result":{"action":"accept"}"#, "other: the answer does not fit the question"),
        (r#""result":{"action":"perhaps"}"#, "other: the answer does not fit the question"),
        (r#""result":{}"#, "other: the answer does not fit the question"),
        (r#""error":{"code":-1,"message":"busy"}"#, "other: the client responded with an error: busy (-1)"),
    ]
    .into_iter()
    .enumerate()
    {
        client.send(&CALL.replace("NAME", "outcome"))?;
        assert_eq!(next(&client).await?["method"], "elicitation/create");
        client.send(&format!(r#"{{"jsonrpc":"2.0","id":"ask-{}",{answer}}}"#, number + 1))?;
        let text = next(&client).await?["result"]["content"][0]["text"].clone();
        assert!(text.as_str().unwrap().starts_with(told), "{answer}: {text}");
    }
    Ok(())
}

#[tokio::test]
async fn concurrent_asks_are_sent_together() -> Result<()> {
    let client = connect(Revision::V2025_11_25, json!({"elicitation": {}})).await?;
    client.send(&CALL.replace("NAME", "at_once"))?;
    assert_eq!(next(&client).await?["params"]["message"], "Who?");
    assert_eq!(next(&client).await?["params"]["message"], "How old?");
    client.send(r#"{"jsonrpc":"2.0","id":"ask-2","result":{"action":"accept","content":{"age":36}}}"#)?;
    client.send(r#"{"jsonrpc":"2.0","id":"ask-1","result":{"action":"accept","content":{"name":"Ada"}}}"#)?;
    assert_eq!(next(&client).await?["result"]["content"][0]["text"], "Ada is 36");
    Ok(())
}

#[tokio::test]
async fn cancelled_call_withdraws_its_question() -> Result<()> {
    let client = connect(Revision::V2025_11_25, json!({"elicitation": {}})).await?;
    client.send(&CALL.replace("NAME", "greet"))?;
    assert_eq!(next(&client).await?["id"], "ask-1");
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"call"}}"#)?;
    let withdrawn = next(&client).await?;
    assert_eq!(
        (&withdrawn["method"], &withdrawn["params"]["requestId"]),
        (&json!("notifications/cancelled"), &json!("ask-1"))
    );
    // A late answer is ignored, and the session goes on.
    client.send(r#"{"jsonrpc":"2.0","id":"ask-1","result":{"action":"accept","content":{"name":"Ada"}}}"#)?;
    client.request("ping", json!({})).await?;
    Ok(())
}

#[tokio::test]
async fn ask_timeout_withdraws_the_question() -> Result<()> {
    /// Ask somebody who is not there.
    #[tool]
    async fn hurry(ctx: &Context) -> Result<String> {
        let name: super::Name = ctx.elicit("Who?").timeout(std::time::Duration::from_millis(50)).await?;
        Ok(name.name)
    }
    let server = Server::new("hasty", "1.0.0").tools(tools![hurry]);
    let client = TestClient::builder(server).revision(Revision::V2025_06_18);
    let client = client.capability("elicitation", json!({})).connect().await?;
    client.send(&CALL.replace("NAME", "hurry"))?;
    assert_eq!(next(&client).await?["id"], "ask-1");
    assert_eq!(next(&client).await?["params"]["requestId"], "ask-1");
    let result = next(&client).await?["result"].clone();
    assert_eq!(
        (&result["isError"], &result["content"][0]["text"]),
        (&json!(true), &json!("the client did not answer within 50ms"))
    );
    Ok(())
}

#[tokio::test]
async fn disconnect_fails_the_ask() -> Result<()> {
    let client = connect(Revision::V2025_11_25, json!({"elicitation": {}})).await?;
    client.send(&CALL.replace("NAME", "greet"))?;
    assert_eq!(next(&client).await?["id"], "ask-1");
    let begun = std::time::Instant::now();
    let unread = client.close().await?;
    assert!(unread[0].contains("the client has disconnected"), "{unread:?}");
    assert!(begun.elapsed() < std::time::Duration::from_secs(3));
    Ok(())
}

#[tokio::test]
async fn handler_timeout_stands_still_while_asking() -> Result<()> {
    /// Be quick, but wait for people.
    #[tool(timeout = "100ms")]
    async fn patient(ctx: &Context) -> Result<String> {
        let name: super::Name = ctx.elicit("Who?").await?;
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        Ok(name.name)
    }
    let server = Server::new("patient", "1.0.0").tools(tools![patient]);
    let client = TestClient::builder(server).revision(Revision::V2025_11_25);
    let client = client.capability("elicitation", json!({})).connect().await?;
    client.send(&CALL.replace("NAME", "patient"))?;
    assert_eq!(next(&client).await?["id"], "ask-1");
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    client.send(r#"{"jsonrpc":"2.0","id":"ask-1","result":{"action":"accept","content":{"name":"Ada"}}}"#)?;
    assert_eq!(next(&client).await?["result"]["content"][0]["text"], "Ada");
    Ok(())
}

#[tokio::test]
async fn duplicate_ask_key_is_an_error() -> Result<()> {
    let client = connect(Revision::V2025_11_25, json!({"elicitation": {}})).await?;
    client.send(&CALL.replace("NAME", "same_key"))?;
    assert_eq!(next(&client).await?["id"], "ask-1");
    client.send(r#"{"jsonrpc":"2.0","id":"ask-1","result":{"action":"accept","content":{"name":"Ada"}}}"#)?;
    let text = next(&client).await?["result"]["content"][0]["text"].clone();
    assert!(text.as_str().unwrap().contains("the key `x`"), "{text}");
    Ok(())
}
