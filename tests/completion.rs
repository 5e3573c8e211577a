//! `#[arg(complete = …)]`: prompts and templates, functions and methods, sync and async.
#![allow(
    clippy::unused_async,
    clippy::unused_self,
    reason = "the shapes of handlers are what is tested, not what they do"
)]

use mcp_runtime::{Revision, prelude::*};
use serde_json::Value;

fn colours(typed: &str) -> Vec<&'static str> {
    ["red", "green", "grey"].into_iter().filter(|colour| colour.starts_with(typed)).collect()
}

/// Paint something.
#[prompt]
fn paint(#[arg(complete = colours)] colour: String, thing: String) -> String {
    format!("Paint the {thing} {colour}.")
}

struct Library {
    titles: Vec<String>,
}

#[handlers]
impl Library {
    /// Review a book.
    #[prompt]
    fn review(&self, #[arg(complete = Self::titles)] title: String) -> String {
        format!("Review {title}.")
    }

    /// A page of a book.
    #[resource("book://{title}/{page}")]
    fn page(&self, #[arg(complete = Self::titles)] title: String, #[arg(complete = numbers)] page: u32) -> String {
        format!("{title}, page {page}")
    }

    async fn titles(&self, typed: &str) -> Vec<String> {
        tokio::task::yield_now().await;
        self.titles.iter().filter(|title| title.starts_with(typed)).cloned().collect()
    }
}

async fn numbers(typed: &str) -> Vec<String> {
    (0..250).map(|number| format!("{typed}{number}")).collect()
}

async fn complete(client: &TestClient, reference: Value, name: &str, value: &str) -> Result<Value> {
    let params = json!({"ref": reference, "argument": {"name": name, "value": value}});
    Ok(client.request("completion/complete", params).await?["completion"].take())
}

fn server() -> Server {
    let library = Library { titles: vec!["Emma".into(), "Persuasion".into()] };
    Server::new("library", "1.0.0").prompts(prompts![paint]).mount(library)
}

#[tokio::test]
async fn arguments_are_completed_in_every_revision() -> Result<()> {
    for revision in Revision::ALL {
        let client = TestClient::with_revision(server(), revision).await?;
        let paint = json!({"type": "ref/prompt", "name": "paint"});
        let values = complete(&client, paint.clone(), "colour", "gr").await?;
        assert_eq!(values, json!({"values": ["green", "grey"], "total": 2, "hasMore": false}));
        let nobody = complete(&client, paint, "thing", "d").await?;
        assert_eq!(nobody, json!({"values": [], "total": 0, "hasMore": false}));
        let review = json!({"type": "ref/prompt", "name": "review"});
        assert_eq!(complete(&client, review, "title", "E").await?["values"], json!(["Emma"]));
        for uri in ["book://{title}/{page}", "book://Emma/1"] {
            let page = json!({"type": "ref/resource", "uri": uri});
            assert_eq!(complete(&client, page, "title", "P").await?["values"], json!(["Persuasion"]));
        }
    }
    Ok(())
}

#[tokio::test]
async fn at_most_a_hundred_values_are_sent() -> Result<()> {
    let client = TestClient::connect(server()).await?;
    let page = json!({"type": "ref/resource", "uri": "book://{title}/{page}"});
    let values = complete(&client, page, "page", "1").await?;
    assert_eq!(values["values"].as_array().map(Vec::len), Some(100));
    assert_eq!((&values["total"], &values["hasMore"]), (&json!(250), &json!(true)));
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_completed_is_an_error() -> Result<()> {
    let client = TestClient::connect(server()).await?;
    let code = |result: Result<Value>| result.unwrap_err().code();
    let unknown = json!({"type": "ref/prompt", "name": "sing"});
    assert_eq!(code(complete(&client, unknown, "x", "").await), Some(-32602));
    let unknown = json!({"type": "ref/tool", "name": "paint"});
    assert_eq!(code(complete(&client, unknown, "x", "").await), Some(-32602));
    assert_eq!(code(client.request("completion/complete", json!({})).await), Some(-32602));

    let discovered = client.request("server/discover", json!({})).await?;
    assert_eq!(discovered["capabilities"]["completions"], json!({}));
    let without = TestClient::connect(mcp_tests::fixture::server()).await?;
    assert_eq!(code(without.request("completion/complete", json!({})).await), Some(-32601));
    Ok(())
}
