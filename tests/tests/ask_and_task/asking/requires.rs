//! `requires(…)`: a client without the capability gets an error before the handler runs.

use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_runtime::testing::TestClient;
use mcp_runtime::{Revision, prelude::*};
use serde_json::Value;

static RUNS: AtomicUsize = AtomicUsize::new(0);

fn ran() -> String {
    format!("run {}", RUNS.fetch_add(1, Ordering::SeqCst) + 1)
}

/// Needs a form.
#[tool(requires(elicitation))]
fn form() -> String {
    ran()
}

/// Needs two things.
#[prompt(requires(sampling_tools, roots))]
fn two() -> String {
    ran()
}

struct Pages;

#[handlers]
impl Pages {
    /// Needs a page.
    #[resource("page://{name}", requires(elicitation_url))]
    #[allow(clippy::unused_self, reason = "to be a method")]
    fn page(&self, name: String) -> String {
        format!("{name}: {}", ran())
    }
}

async fn client(revision: Revision, capabilities: &[(&str, Value)]) -> Result<TestClient, ServerError> {
    let server = Server::new("demanding", "1.0.0").tools(tools![form]).prompts(prompts![two]).mount(Pages);
    let client = TestClient::builder(server).revision(revision);
    let client = capabilities.iter().fold(client, |client, (name, settings)| client.capability(*name, settings));
    client.connect().await
}

/// A tool, a prompt and a resource, with and without the capabilities they require.
#[tokio::test]
async fn missing_required_capability_is_rejected_before_the_handler_runs() -> Result<()> {
    let page = "this client cannot ask its user to visit a page; it does not declare the capability `elicitation.url`";
    let tools = "this client cannot give tools to its model; it does not declare the capability `sampling.tools`";
    let get_two = json!({"name": "two"});
    let read_page = json!({"uri": "page://home"});

    // The newest revision has a code for it, and says what is missing as a client would declare it.
    let newest = client(Revision::V2026_07_28, &[("sampling", json!({}))]).await?;
    for (method, params, required) in [
        ("tools/call", json!({"name": "form", "arguments": {}}), json!({"elicitation": {"form": {}}})),
        ("prompts/get", get_two.clone(), json!({"sampling": {"tools": {}}})),
        ("resources/read", read_page.clone(), json!({"elicitation": {"url": {}}})),
    ] {
        let error = newest.request(method, params).await.unwrap_err();
        assert_eq!((error.code(), error.data()), (Some(-32021), Some(&json!({"requiredCapabilities": required}))));
    }

    // Before, a model reads it as the tool's result; a prompt and a resource have errors only.
    let session = client(Revision::V2025_11_25, &[("elicitation", json!({"url": {}}))]).await?;
    let answer = session.call("form", json!({})).await?;
    assert!(answer.is_error());
    assert!(answer.text().contains("it does not declare the capability `elicitation.form`"), "{}", answer.text());
    let error = session.request("prompts/get", get_two).await.unwrap_err();
    assert!(error.code().is_some() && error.to_string().contains(tools), "{error}");
    let session = client(Revision::V2025_11_25, &[("elicitation", json!({}))]).await?;
    let error = session.request("resources/read", read_page).await.unwrap_err();
    assert!(error.code().is_some() && error.to_string().contains(page), "{error}");
    assert_eq!(RUNS.load(Ordering::SeqCst), 0, "nothing ran");

    let all =
        [("elicitation", json!({"form": {}, "url": {}})), ("sampling", json!({"tools": {}})), ("roots", json!({}))];
    for (round, revision) in [Revision::V2025_11_25, Revision::V2026_07_28].into_iter().enumerate() {
        let able = client(revision, &all).await?;
        assert_eq!(able.call("form", json!({})).await?.text(), format!("run {}", round * 3 + 1));
        assert_eq!(able.get_prompt("two", json!({})).await?.text(), format!("run {}", round * 3 + 2));
        assert_eq!(able.read("page://home").await?.text(), format!("home: run {}", round * 3 + 3));
    }
    Ok(())
}
