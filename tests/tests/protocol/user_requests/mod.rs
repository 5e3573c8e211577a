//! What the first users requested, one test each.

mod errors;
mod lifecycle;
mod messages;
mod server;

use mcp_runtime::Revision;
use mcp_runtime::testing::TestClient;
use mcp_tests::fixture;
use serde_json::Value;

/// The `_meta` that a request of 2026-07-28 needs, whatever the session is.
const MODERN: &str =
    r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// A client in a session of 2025-11-25 with the server that has everything.
async fn client() -> TestClient {
    TestClient::with_revision(fixture::server(), Revision::V2025_11_25).await.unwrap()
}

/// Sends a line and reads the next.
async fn exchange(client: &TestClient, line: &str) -> Value {
    serde_json::from_str(&client.exchange(line).await.unwrap()).unwrap()
}

/// The server has sent nothing: the next line answers this ping.
async fn is_silent(client: &TestClient) {
    let answer = client.exchange(r#"{"jsonrpc":"2.0","id":"silent?","method":"ping"}"#).await.unwrap();
    assert_eq!(answer, r#"{"jsonrpc":"2.0","id":"silent?","result":{}}"#);
}
