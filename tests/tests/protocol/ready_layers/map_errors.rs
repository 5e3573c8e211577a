//! `MapErrors`.

use mcp_runtime::layers::{ErrorKind, MapErrors};
use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;

#[tokio::test]
async fn errors_are_mapped_by_type_and_kind() -> Result<()> {
    #[derive(Debug, thiserror::Error)]
    #[error("no quota")]
    struct Quota;
    /// Fails.
    #[tool]
    fn fails(how: Option<u8>) -> Result<()> {
        Err(if how.is_some() { Quota.into() } else { std::io::Error::other("secret path").into() })
    }
    let map = MapErrors::new(|error| match error.kind() {
        ErrorKind::Handler if error.downcast_ref::<Quota>().is_some() => {
            Some(Error::application(mcp_runtime::ErrorCode::new(7), error.to_string()))
        }
        ErrorKind::Handler => Some(Error::msg("failed")),
        _ => None,
    });
    let client = TestClient::connect(Server::new("mapped", "1").tools(tools![fails]).layer(map)).await?;
    let error = client.call("fails", json!({"how": 1})).await.unwrap_err();
    assert_eq!((error.code(), &*error.to_string()), (Some(7), "no quota"));
    assert_eq!(client.call("fails", json!({})).await?.text(), "failed");
    assert!(client.call("fails", json!({"how": "x"})).await?.text().contains("how"), "stays as it is");
    Ok(())
}

#[tokio::test]
async fn errors_of_prompts_and_resources_are_mapped() -> Result<()> {
    /// A prompt that fails.
    #[prompt]
    fn broken() -> Result<String> {
        Err(Error::msg("secret"))
    }
    /// A resource that fails.
    #[resource("broken://one")]
    fn one() -> Result<String> {
        Err(Error::msg("secret"))
    }
    let map = MapErrors::new(|error| (error.message() == "secret").then(|| Error::invalid_params("mapped")));
    let server = Server::new("mapped", "1").prompts(prompts![broken]).resources(resources![one]).layer(map);
    let client = TestClient::connect(server).await?;
    let error = client.get_prompt("broken", json!({})).await.unwrap_err();
    assert_eq!((error.code(), &*error.to_string()), (Some(-32602), "mapped"));
    assert_eq!(client.read("broken://one").await.unwrap_err().to_string(), "mapped");
    Ok(())
}
