//! 2026-07-28: the result of a call is its questions, and the client repeats the call with the answers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::testing::TestClient;
use mcp_runtime::{Limits, prelude::*};
use serde_json::Value;

use super::{EFFECTS, server};

const SECRET: &str = "the secret of these tests, long enough";

struct Client {
    client: TestClient,
}

impl Client {
    async fn of(server: Server) -> Result<Self> {
        let client = TestClient::builder(server).capability("elicitation", json!({})).connect().await?;
        Ok(Client { client })
    }

    async fn new() -> Result<Self> {
        Self::of(server()).await
    }

    async fn call(&self, name: &str, more: Value) -> Result<Value, ServerError> {
        let mut params = json!({"name": name, "arguments": {}});
        if let Value::Object(more) = more {
            params.as_object_mut().unwrap().extend(more);
        }
        self.client.request("tools/call", params).await
    }

    async fn error(&self, name: &str, more: Value) -> (i32, String) {
        let error = self.call(name, more).await.unwrap_err();
        (error.code().unwrap(), error.to_string())
    }
}

fn accept(content: &Value) -> Value {
    json!({"action": "accept", "content": content})
}

#[tokio::test]
async fn ask_returns_input_required_and_the_retry_completes() -> Result<()> {
    let client = Client::new().await?;
    let round = client.call("greet", json!({})).await?;
    assert_eq!(round["resultType"], "input_required");
    assert_eq!(
        round["inputRequests"],
        json!({"ask-1": {"method": "elicitation/create", "params": {
            "mode": "form",
            "message": "Who is there?",
            "requestedSchema": {
                "type": "object",
                "properties": {"name": {"type": "string", "description": "What should we call you?"}},
                "required": ["name"],
            },
        }}})
    );
    let answer =
        json!({"inputResponses": {"ask-1": accept(&json!({"name": "Ada"}))}, "requestState": round["requestState"]});
    let result = client.call("greet", answer).await?;
    assert_eq!((&result["resultType"], &result["content"][0]["text"]), (&json!("complete"), &json!("Hello, Ada!")));
    Ok(())
}

#[tokio::test]
async fn answers_need_no_state_and_extra_answers_are_ignored() -> Result<()> {
    let client = Client::new().await?;
    let answers = json!({"ask-1": accept(&json!({"name": "Ada"})), "other": {}, "ask-9": accept(&json!({}))});
    let result = client.call("greet", json!({"inputResponses": answers})).await?;
    assert_eq!(result["content"][0]["text"], "Hello, Ada!");
    Ok(())
}

#[tokio::test]
async fn state_carries_earlier_answers() -> Result<()> {
    let client = Client::new().await?;
    let first = client.call("introduce", json!({})).await?;
    assert_eq!(first["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["name"]);
    let answers =
        json!({"inputResponses": {"name": accept(&json!({"name": "Ada"}))}, "requestState": first["requestState"]});
    let second = client.call("introduce", answers).await?;
    assert_eq!(second["inputRequests"]["ask-2"]["params"]["message"], "How old are you, Ada?");
    assert_ne!(first["requestState"], second["requestState"]);
    // Only this round's answer: the name is in the state.
    let answers =
        json!({"inputResponses": {"ask-2": accept(&json!({"age": 36}))}, "requestState": second["requestState"]});
    let result = client.call("introduce", answers).await?;
    assert_eq!(result["content"][0]["text"], "Ada is 36");
    Ok(())
}

#[tokio::test]
async fn concurrent_asks_share_a_round_and_missing_answers_are_asked_again() -> Result<()> {
    let client = Client::new().await?;
    let round = client.call("at_once", json!({})).await?;
    assert_eq!(round["inputRequests"].as_object().unwrap().len(), 2);
    let part = json!({"inputResponses": {"ask-2": accept(&json!({"age": 36}))}, "requestState": round["requestState"]});
    let round = client.call("at_once", part).await?;
    assert_eq!(round["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["ask-1"]);
    let rest =
        json!({"inputResponses": {"ask-1": accept(&json!({"name": "Ada"}))}, "requestState": round["requestState"]});
    assert_eq!(client.call("at_once", rest).await?["content"][0]["text"], "Ada is 36");
    Ok(())
}

#[tokio::test]
async fn once_runs_its_effect_once_across_rounds() -> Result<()> {
    let client = Client::new().await?;
    let before = EFFECTS.load(Ordering::SeqCst);
    let round = client.call("effect", json!({})).await?;
    let answer =
        json!({"inputResponses": {"ask-1": accept(&json!({"name": "Ada"}))}, "requestState": round["requestState"]});
    let text = client.call("effect", answer).await?["content"][0]["text"].clone();
    assert_eq!(text, format!("Ada: {}", before + 1));
    assert_eq!(EFFECTS.load(Ordering::SeqCst), before + 1);
    Ok(())
}

#[tokio::test]
async fn state_is_bound_to_its_call() -> Result<()> {
    let client = Client::new().await?;
    let state = client.call("greet", json!({})).await?["requestState"].as_str().unwrap().to_owned();
    let answers = json!({"ask-1": accept(&json!({"name": "Ada"}))});
    for touched in [format!("{state}-TAMPERED"), format!("A{state}"), state[1..].to_owned(), String::new(), "{}".into()]
    {
        let (code, text) = client.error("greet", json!({"inputResponses": answers, "requestState": touched})).await;
        assert_eq!(code, -32602);
        assert!(text.contains("not what this server sent for this call"), "{text}");
    }
    // Another tool, other arguments, another process without the secret.
    assert_eq!(client.error("outcome", json!({"inputResponses": answers, "requestState": state})).await.0, -32602);
    let other = json!({"arguments": {"x": 1}, "inputResponses": answers, "requestState": state});
    assert_eq!(client.error("greet", other).await.0, -32602);
    let other = Client::new().await?;
    assert_eq!(other.error("greet", json!({"inputResponses": answers, "requestState": state})).await.0, -32602);
    Ok(())
}

#[tokio::test]
async fn secrets_can_be_shared_and_rotated() -> Result<()> {
    const NEXT: &str = "the next secret, which is as long as that";
    let old = Client::of(server().state_secrets([SECRET])).await?;
    let state = old.call("greet", json!({})).await?["requestState"].clone();
    let answers = json!({"inputResponses": {"ask-1": accept(&json!({"name": "Ada"}))}, "requestState": state});
    let both = Client::of(server().state_secrets([NEXT, SECRET])).await?;
    assert_eq!(both.call("greet", answers.clone()).await?["content"][0]["text"], "Hello, Ada!");
    let new = Client::of(server().state_secrets([NEXT])).await?;
    assert_eq!(new.error("greet", answers).await.0, -32602);
    Ok(())
}

#[tokio::test]
async fn state_expires() -> Result<()> {
    let mut limits = Limits::default();
    limits.answer_timeout = Duration::from_secs(1);
    let client = Client::of(server().limits(limits)).await?;
    let state = client.call("greet", json!({})).await?["requestState"].clone();
    tokio::time::sleep(Duration::from_millis(2100)).await;
    let (code, text) = client.error("greet", json!({"requestState": state})).await;
    assert_eq!(code, -32602);
    assert!(text.contains("has expired"), "{text}");
    Ok(())
}

#[tokio::test]
async fn malformed_answers_are_rejected_or_asked_again() -> Result<()> {
    let client = Client::new().await?;
    for wrong in [json!(null), json!(5), json!([]), json!({"ask-1": 12345}), json!({"ask-1": null})] {
        assert_eq!(client.error("greet", json!({"inputResponses": wrong})).await.0, -32602, "{wrong}");
    }
    for wrong in [json!(null), json!(5), json!({})] {
        assert_eq!(client.error("greet", json!({"requestState": wrong})).await.0, -32602, "{wrong}");
    }
    for again in
        [json!({}), json!({"wrong": accept(&json!({}))}), json!({"ask-1": {}}), json!({"ask-1": {"action": 1}})]
    {
        let round = client.call("greet", json!({"inputResponses": again})).await?;
        assert_eq!(round["resultType"], "input_required", "{again}");
    }
    Ok(())
}

#[tokio::test]
async fn changed_question_under_the_same_key_is_an_error() -> Result<()> {
    let client = Client::new().await?;
    let round = client.call("fickle", json!({})).await?;
    let answers =
        json!({"inputResponses": {"ask-1": accept(&json!({"name": "Ada"}))}, "requestState": round["requestState"]});
    let result = client.call("fickle", answers).await?;
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(result["isError"] == true && text.contains("does not ask under the key `ask-1` what it asked"), "{text}");
    Ok(())
}

/// Ask under another name every time.
#[tool]
async fn renaming(ctx: &Context) -> Result<String> {
    static RUN: AtomicUsize = AtomicUsize::new(0);
    let run = RUN.fetch_add(1, Ordering::SeqCst);
    let name: super::Name = ctx.elicit("Who?").key(format!("run-{run}")).await?;
    Ok(name.name)
}

#[tokio::test]
async fn changed_key_between_rounds_is_an_error() -> Result<()> {
    let client = Client::of(Server::new("forgetful", "1.0.0").tools(tools![renaming])).await?;
    let round = client.call("renaming", json!({})).await?;
    let answers =
        json!({"inputResponses": {"run-0": accept(&json!({"name": "Ada"}))}, "requestState": round["requestState"]});
    let result = client.call("renaming", answers).await?;
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(result["isError"] == true && text.contains("does not ask under the key `run-0`"), "{text}");
    Ok(())
}

/// Ask without end.
#[tool]
async fn endless(ctx: &Context) -> Result<()> {
    loop {
        let _: super::Name = ctx.elicit("Who?").await?;
    }
}

#[tokio::test]
async fn asks_limit_bounds_the_rounds() -> Result<()> {
    let mut limits = Limits::default();
    limits.asks_per_call = 3;
    let client = Client::of(Server::new("endless", "1.0.0").tools(tools![endless]).limits(limits)).await?;
    let mut round = client.call("endless", json!({})).await?;
    for number in 1..=3 {
        assert_eq!(round["resultType"], "input_required", "round {number}");
        let key = format!("ask-{number}");
        let answers = json!({key: accept(&json!({"name": "Ada"}))});
        round =
            client.call("endless", json!({"inputResponses": answers, "requestState": round["requestState"]})).await?;
    }
    assert_eq!(round["content"][0]["text"], "a call asks at most 3 times");
    Ok(())
}

/// Do two things under one name.
#[tool]
async fn twice(ctx: &Context) -> Result<u8> {
    let failed: Result<u8> = ctx.once("it", async { Err(Error::msg("not yet")) }).await;
    assert!(failed.is_err(), "what failed may be tried again");
    let one: u8 = ctx.once("it", async { Ok(1) }).await?;
    let two: u8 = ctx.once("it", async { Ok(2) }).await?;
    Ok(one + two)
}

#[tokio::test]
async fn duplicate_once_key_is_an_error() -> Result<()> {
    for revision in mcp_runtime::Revision::ALL.iter().copied() {
        let client = TestClient::with_revision(Server::new("twice", "1.0.0").tools(tools![twice]), revision).await?;
        let answer = client.call("twice", json!({})).await?;
        assert!(answer.is_error() && answer.text().contains("have the key `it`"), "{revision}: {}", answer.text());
    }
    Ok(())
}

#[tokio::test]
async fn client_without_elicitation_gets_32021() -> Result<()> {
    let client = TestClient::connect(server()).await?;
    let error = client.call("greet", json!({})).await.unwrap_err();
    assert_eq!(error.code(), Some(-32021));
    assert_eq!(error.data(), Some(&json!({"requiredCapabilities": {"elicitation": {"form": {}}}})));
    Ok(())
}

#[tokio::test]
async fn other_methods_ignore_request_state() -> Result<()> {
    let client = Client::new().await?;
    let list = client.client.request("tools/list", json!({"requestState": 5, "inputResponses": 5})).await?;
    assert_eq!(list["resultType"], "complete");
    Ok(())
}
