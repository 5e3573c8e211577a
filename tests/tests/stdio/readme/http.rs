use mcp_runtime::http::HttpService;
use mcp_runtime::prelude::*;

/// Add two integers.
#[tool(read_only)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn service() -> HttpService {
    let server = Server::new("hello", "0.1.0").tools(tools![add]);
    server.into_service().allow_hosts(["mcp.example.com", "localhost", "127.0.0.1"])
}

#[tokio::main]
async fn main() -> Result<(), ServerError> {
    service().serve("127.0.0.1:8080").await
}
