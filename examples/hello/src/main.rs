use mcp_runtime::prelude::*;

/// Add two integers.
#[tool(read_only)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tokio::main]
async fn main() -> std::process::ExitCode {
    Server::new("hello", "0.1.0").tools(tools![add]).run().await
}

#[test]
fn contract_is_kept() {
    mcp_runtime::testing::assert_contract!(Server::new("hello", "0.1.0").tools(tools![add]));
}
