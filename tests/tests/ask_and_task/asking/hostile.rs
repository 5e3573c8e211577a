//! Clients that send forged, oversized or unsolicited answers.

use std::time::Duration;

use mcp_runtime::testing::TestClient;
use mcp_runtime::{Limits, Revision, prelude::*};
use serde_json::Value;
use tokio::time::timeout;

use super::{Name, server};

const SOON: Duration = Duration::from_secs(5);

/// Approve an amount once, and pay when somebody says so.
#[tool]
async fn pay(ctx: &Context, amount: u64) -> Result<String> {
    let approved = ctx.once("approve", async { if amount < 100 { Ok(amount) } else { Err(Error::msg("too much")) } });
    let approved = approved.await?;
    let _: Name = ctx.elicit("Who pays?").await?;
    Ok(format!("paid {amount}, approved {approved}"))
}

/// Give something away when somebody says so.
#[tool]
async fn give(ctx: &Context, amount: u64) -> Result<String> {
    let _: Name = ctx.elicit("Who pays?").await?;
    Ok(format!("gave {amount}"))
}

fn line(id: u64, params: &str) -> String {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}"#;
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{{params},{meta}}}}}"#)
}

/// An argument no `Value` can hold (`1e999`, half a surrogate pair) is part of what the state is bound to.
#[tokio::test]
async fn request_state_is_bound_to_unrepresentable_arguments() -> Result<()> {
    let client = TestClient::connect_raw(Server::new("bank", "1.0.0").tools(tools![pay, give]));
    for odd in ["1e999", r#""\ud800""#, "-1e400", r#"["\udfff"]"#] {
        let call = |id, name: &str, amount: u64, more: &str| {
            line(id, &format!(r#""name":"{name}","arguments":{{"amount":{amount},"odd":{odd}}}{more}"#))
        };
        let round: Value = serde_json::from_str(&client.exchange(&call(1, "pay", 5, "")).await?)?;
        let Some(state) = round["result"]["requestState"].as_str() else { continue };
        let answers = format!(
            r#","inputResponses":{{"ask-1":{{"action":"accept","content":{{"name":"Ada"}}}}}},"requestState":"{state}""#
        );
        let forged: Value = serde_json::from_str(&client.exchange(&call(2, "pay", 5_000_000, &answers)).await?)?;
        assert_eq!(forged["error"]["code"], -32602, "{odd}: {forged}");
        let forged: Value = serde_json::from_str(&client.exchange(&call(3, "give", 5, &answers)).await?)?;
        assert_eq!(forged["error"]["code"], -32602, "{odd}: {forged}");
        let paid: Value = serde_json::from_str(&client.exchange(&call(4, "pay", 5, &answers)).await?)?;
        assert_eq!(paid["result"]["content"][0]["text"], "paid 5, approved 5", "{odd}");
    }
    Ok(())
}

/// Pay a large amount, when somebody says so.
#[tool]
async fn pay_exactly(ctx: &Context, amount: u128) -> Result<String> {
    let _: Name = ctx.elicit("Who pays?").await?;
    Ok(format!("paid {amount}"))
}

/// Integers that are one and the same as floats are two amounts.
#[tokio::test]
async fn request_state_is_bound_to_the_exact_integer() -> Result<()> {
    let client = TestClient::connect_raw(Server::new("bank", "1.0.0").tools(tools![pay_exactly]));
    let call = |id, amount: &str, more: &str| {
        line(id, &format!(r#""name":"pay_exactly","arguments":{{"amount":{amount}}}{more}"#))
    };
    let round: Value = serde_json::from_str(&client.exchange(&call(1, "36893488147419103232", "")).await?)?;
    let state = round["result"]["requestState"].as_str().unwrap_or_else(|| panic!("{round}"));
    let answers = format!(
        r#","inputResponses":{{"ask-1":{{"action":"accept","content":{{"name":"Ada"}}}}}},"requestState":"{state}""#
    );
    let forged: Value = serde_json::from_str(&client.exchange(&call(2, "36893488147419103233", &answers)).await?)?;
    assert_eq!(forged["error"]["code"], -32602, "{forged}");
    let paid: Value = serde_json::from_str(&client.exchange(&call(3, " 36893488147419103232 ", &answers)).await?)?;
    assert_eq!(paid["result"]["content"][0]["text"], "paid 36893488147419103232");
    Ok(())
}

/// Two servers of one operator may share a secret, and offer tools of one name.
#[tokio::test]
async fn request_state_is_bound_to_its_server() -> Result<()> {
    let named = |name: &str| {
        Server::new(name, "1.0.0").tools(tools![give]).state_secrets(["the secret of both servers, long enough"])
    };
    let client = |server| TestClient::builder(server).capability("elicitation", json!({})).connect();
    let (bank, shop, replica) = (client(named("bank")), client(named("shop")), client(named("bank")));
    let (bank, shop, replica) = (bank.await?, shop.await?, replica.await?);
    let mut params = json!({"name": "give", "arguments": {"amount": 5}});
    params["requestState"] = bank.request("tools/call", params.clone()).await?["requestState"].clone();
    params["inputResponses"] = json!({"ask-1": {"action": "accept", "content": {"name": "Ada"}}});
    assert_eq!(shop.request("tools/call", params.clone()).await.unwrap_err().code(), Some(-32602));
    assert_eq!(replica.request("tools/call", params).await?["content"][0]["text"], "gave 5");
    Ok(())
}

const CALL: &str = r#"{"jsonrpc":"2.0","id":"call","method":"tools/call","params":{"name":"outcome","arguments":{}}}"#;

async fn asked(limits: Limits) -> Result<TestClient, ServerError> {
    let client = TestClient::builder(server().limits(limits)).revision(Revision::V2025_11_25);
    let client = client.capability("elicitation", json!({})).connect().await?;
    client.send(CALL)?;
    assert!(client.receive().await?.contains("ask-1"));
    Ok(client)
}

/// The handler gets an error, and does not wait for another response.
#[tokio::test]
async fn oversized_response_fails_the_ask() -> Result<()> {
    let mut limits = Limits::default();
    limits.message_bytes = 4096;
    for (before, after) in [
        (r#"{"jsonrpc":"2.0","id":"ask-1","result":{"action":"accept","content":{"name":""#, r#""}}}"#),
        (r#"{"id":"ask-1","error":{"code":1,"message":""#, r#""}}"#),
    ] {
        let client = asked(limits.clone()).await?;
        client.send(&format!("{before}{}{after}", "x".repeat(10_000)))?;
        let answer: Value = serde_json::from_str(&timeout(SOON, client.receive()).await.expect("it waits for more")?)?;
        assert_eq!(answer["id"], "call", "{answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("longer than 4096 bytes"), "{text}");
    }
    Ok(())
}

#[tokio::test]
async fn response_id_must_match_exactly() -> Result<()> {
    let client = asked(Limits::default()).await?;
    for id in [r#""ask-+1""#, r#""ask-01""#, r#""ask-2""#, "1", r#""ASK-1""#, r#"" ask-1""#, r#""ask-1 ""#] {
        client.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"decline"}}}}"#))?;
    }
    client.send(r#"{"jsonrpc":"2.0","id":"\u0061sk-1","result":{"action":"accept","content":{"name":"Ada"}}}"#)?;
    let answer: Value = serde_json::from_str(&client.receive().await?)?;
    assert_eq!(answer["result"]["content"][0]["text"], "it is Ada");
    Ok(())
}

/// Thousands of unsolicited answers, states of megabytes, and deep arguments to bind to.
#[tokio::test]
async fn floods_of_input_responses_and_states_are_cheap() -> Result<()> {
    let client =
        TestClient::builder(server().tools(tools![give])).capability("elicitation", json!({})).connect().await?;
    let begun = std::time::Instant::now();
    let mut answers: serde_json::Map<String, Value> =
        (0..10_000).map(|number| (format!("x-{number}"), json!({"action": "accept", "content": {}}))).collect();
    answers.insert("ask-1".to_owned(), json!({"action": "accept", "content": {"name": "Ada"}}));
    let result =
        client.request("tools/call", json!({"name": "greet", "arguments": {}, "inputResponses": answers})).await?;
    assert_eq!(result["content"][0]["text"], "Hello, Ada!");
    let state = "A".repeat(3 * 1024 * 1024);
    let error = client.request("tools/call", json!({"name": "greet", "arguments": {}, "requestState": state})).await;
    assert_eq!(error.unwrap_err().code(), Some(-32602));
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!({"x": deep});
    }
    let wide: Vec<Value> = vec![deep; 300];
    let arguments = json!({"amount": 1, "wide": wide});
    let round = client.request("tools/call", json!({"name": "give", "arguments": arguments})).await?;
    assert_eq!(round["resultType"], "input_required", "{round}");
    // A second on a machine that has nothing else to do.
    assert!(begun.elapsed() < 6 * SOON, "{:?}", begun.elapsed());
    Ok(())
}
