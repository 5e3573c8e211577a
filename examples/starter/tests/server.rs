//! What the server does, seen by a client of each protocol revision.

use mcp_runtime::Revision;
use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;

#[tokio::test]
async fn tools_are_called_in_every_revision() -> Result<()> {
    for &revision in Revision::ALL {
        let client = TestClient::with_revision(starter::server(), revision).await?;
        assert_eq!(client.call("add", json!({"a": 2, "b": 3})).await?.text(), "5");
        let text = "The cat and the hat";
        assert_eq!(client.call("count_words", json!({"text": text})).await?.text(), "5");
        assert_eq!(client.call("count_words", json!({"text": text, "word": "the"})).await?.text(), "2");
    }
    Ok(())
}

#[tokio::test]
async fn models_read_what_went_wrong() -> Result<()> {
    let client = TestClient::connect(starter::server()).await?;
    let sum = client.call("add", json!({"a": i64::MAX, "b": 1})).await?;
    assert!(sum.is_error());
    assert_eq!(sum.text(), "the sum does not fit into 64 bits");
    let sum = client.call("add", json!({"a": "two", "b": 3})).await?;
    assert!(sum.text().contains("`a`: expected an integer"), "{}", sum.text());
    Ok(())
}

#[tokio::test]
async fn review_quotes_the_style_guide() -> Result<()> {
    let client = TestClient::connect(starter::server()).await?;
    let guide = client.read("guide://style").await?.text();
    let prompt = client.get_prompt("review", json!({"text": "Once upon a time."})).await?.text();
    assert!(prompt.contains(&guide) && prompt.contains("at most 3 suggestions"), "{prompt}");
    Ok(())
}
