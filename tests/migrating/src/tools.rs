//! Tools, their errors, and how they are served.

use rmcp::transport::streamable_http_server::StreamableHttpService;

use rmcp::handler::server::wrapper::Parameters;
use rmcp::{ServiceExt, tool, tool_router, transport::stdio};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct AddParams {
    a: i64,
    b: i64,
}

#[derive(Clone)]
struct Calculator;

#[tool_router(server_handler)]
impl Calculator {
    #[tool(description = "Add two integers.")]
    fn add(&self, Parameters(AddParams { a, b }): Parameters<AddParams>) -> String {
        (a + b).to_string()
    }
}

/// The `main` of a server over stdio.
pub async fn over_stdio() -> Result<(), Box<dyn std::error::Error>> {
    Calculator.serve(stdio()).await?.waiting().await?;
    Ok(())
}

/// The `main` of a server over HTTP.
pub async fn over_http() -> std::io::Result<()> {
    use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

    let sessions = LocalSessionManager::default().into();
    let service = StreamableHttpService::new(|| Ok(Calculator), sessions, Default::default());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await
}

/// Errors and several kinds of content.
pub mod errors {
    use rmcp::ErrorData;
    use rmcp::handler::server::wrapper::Parameters;
    use rmcp::model::{CallToolResult, ContentBlock};
    use rmcp::{tool, tool_router};

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    pub struct Query {
        text: String,
    }

    #[derive(Clone)]
    pub struct Library;

    #[tool_router(server_handler)]
    impl Library {
        #[tool(description = "Find a book.")]
        fn find(&self, Parameters(query): Parameters<Query>) -> Result<CallToolResult, ErrorData> {
            if query.text.is_empty() {
                return Err(ErrorData::invalid_params("`text` is empty", None));
            }
            if query.text != "Emma" {
                return Ok(CallToolResult::error(vec![ContentBlock::text("no such book")]));
            }
            Ok(CallToolResult::success(vec![ContentBlock::text("shelf 3")]))
        }
    }
}
