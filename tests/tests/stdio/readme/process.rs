use std::process::{Command, Stdio};

use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;

#[tokio::test]
async fn binary_serves_its_client() -> Result<()> {
    let mut process = Command::new(env!("CARGO_BIN_EXE_commands")).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (output, input) = (process.stdout.take().unwrap(), process.stdin.take().unwrap());
    let client = TestClient::over(output, input).connect().await?;
    assert_eq!(client.call("add", json!({"a": 2, "b": 3})).await?.text(), "5");
    client.close().await?; // closes the input, as clients do
    assert!(process.wait()?.success());
    Ok(())
}
