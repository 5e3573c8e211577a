//! Arguments that layers replace.

use mcp_runtime::Revision;
use mcp_runtime::layers::{Call, CallKind, Next, Outcome};
use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;

use super::*;

#[tokio::test]
async fn replaced_arguments_are_checked_as_usual() -> Result<()> {
    async fn replaced(mut call: Call, next: Next) -> Result<Outcome> {
        let mut arguments: serde_json::Value = call.arguments_as()?;
        if let Some(number) = arguments["number"].as_u64() {
            arguments["number"] = json!(number + 1);
        }
        call.set_arguments(&arguments)?;
        Ok(next.run(call).await)
    }
    for &revision in Revision::ALL {
        let client = TestClient::with_revision(server().layer(replaced), revision).await?;
        assert_eq!(client.call("double", json!({"number": 4})).await?.text(), "10");
        // Above the maximum now.
        let problem = match client.call("double", json!({"number": 100})).await {
            Ok(response) => response.text(),
            Err(error) => error.to_string(),
        };
        assert!(problem.contains("expected an integer from 0 to 100, got 101"), "{revision}: {problem}");
        // Read leniently, as without a layer.
        assert_eq!(client.call("double", json!({"number": "4"})).await?.text(), "8");
    }
    Ok(())
}

#[tokio::test]
async fn arguments_of_templates_and_completions_can_be_replaced() -> Result<()> {
    async fn replaced(mut call: Call, next: Next) -> Result<Outcome> {
        match call.kind() {
            CallKind::Resource => call.set_arguments(&json!({"id": "8"}))?,
            _ => call.set_arguments(&json!({"name": "colour", "value": "r"}))?,
        }
        Ok(next.run(call).await)
    }
    let client = TestClient::connect(server().layer(replaced)).await?;
    let read = client.read("note://7").await?;
    assert_eq!((read.text().as_str(), &*read.contents()[0].uri), ("note 8", "note://7"));
    assert_eq!(client.complete_prompt("paint", "colour", "gr", json!({})).await?.values, ["red"]);
    Ok(())
}

#[tokio::test]
async fn strict_servers_stay_strict_inside_of_layers() -> Result<()> {
    let seen = Seen::default();
    let client = TestClient::connect(server().strict_arguments(true).layer(seen.layer("-"))).await?;
    assert_eq!(client.call("double", json!({"number": 4})).await?.text(), "8");
    let refused = client.call("double", json!({"number": 4, "nmber": 5})).await?;
    assert!(refused.is_error() && refused.text().contains("nmber"), "{}", refused.text());
    Ok(())
}

#[tokio::test]
async fn arguments_of_prompts_and_custom_methods_can_be_replaced() -> Result<()> {
    async fn replaced(mut call: Call, next: Next) -> Result<Outcome> {
        match call.kind() {
            CallKind::Prompt => call.set_arguments(&json!({"colour": "blue"}))?,
            _ => call.set_arguments(&json!({"of": 20}))?,
        }
        Ok(next.run(call).await)
    }
    async fn broken(mut call: Call, next: Next) -> Result<Outcome> {
        call.set_arguments(&json!({"wrong": 1}))?;
        Ok(next.run(call).await)
    }
    for &revision in Revision::ALL {
        let client = TestClient::with_revision(server().layer(replaced), revision).await?;
        assert_eq!(client.get_prompt("paint", json!({"colour": "red"})).await?.text(), "Paint it blue.", "{revision}");
        assert_eq!(client.request("tests.example/half", json!({"of": 8})).await?["value"], 10, "{revision}");
        let client = TestClient::with_revision(server().layer(broken), revision).await?;
        let error = client.get_prompt("paint", json!({"colour": "red"})).await.unwrap_err();
        assert_eq!(error.code(), Some(-32602), "{revision} {error}");
        let error = client.request("tests.example/half", json!({"of": 8})).await.unwrap_err();
        assert_eq!(error.code(), Some(-32602), "{revision} {error}");
    }
    Ok(())
}

#[tokio::test]
async fn layer_does_not_change_which_template_serves_a_uri() -> Result<()> {
    /// Its schema is that of any text.
    #[derive(Debug, JsonSchema)]
    #[schemars(transparent)]
    struct Even(#[schemars(with = "String")] u32);
    impl<'de> serde::Deserialize<'de> for Even {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let text = String::deserialize(deserializer)?;
            let number = text.parse().ok().filter(|number| number % 2 == 0);
            number.map(Even).ok_or_else(|| serde::de::Error::custom("not even"))
        }
    }
    /// Even ones.
    #[resource("number://{even}")]
    fn even(even: Even) -> String {
        format!("even {}", even.0)
    }
    /// Any.
    #[resource("number://{+any}")]
    fn any(any: String) -> String {
        format!("any {any}")
    }
    let seen = Seen::default();
    let numbers = || Server::new("numbers", "1").resources(resources![even, any]);
    for server in [numbers(), numbers().layer(seen.layer("-"))] {
        let client = TestClient::connect(server).await?;
        assert_eq!(client.read("number://4").await?.text(), "even 4");
        assert_eq!(client.read("number://5").await?.text(), "any 5");
    }
    let entered: Vec<String> = seen.take().into_iter().filter(|line| line != "- done").collect();
    assert_eq!(entered, ["- resource number://4 {\"even\":\"4\"}", "- resource number://5 {\"any\":\"5\"}"]);
    // Without another template, the error is the same.
    let alone = || Server::new("numbers", "1").resources(resources![even]);
    let mut codes = Vec::new();
    for server in [alone(), alone().layer(seen.layer("-"))] {
        let error = TestClient::connect(server).await?.read("number://5").await.unwrap_err();
        codes.push((error.code(), error.to_string().contains("`even`")));
    }
    assert_eq!(codes, [(Some(-32602), true); 2]);
    Ok(())
}
