//! Streamable HTTP without sessions, arguments in headers, and the request that a call came with.

use axum::http::request::Parts;
use rmcp::handler::server::tool::Extension;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{tool, tool_router};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Place {
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
}

#[derive(Clone)]
pub struct Weather;

#[tool_router(server_handler)]
impl Weather {
    #[tool(description = "Forecast the weather.")]
    fn forecast(&self, Parameters(place): Parameters<Place>) -> String {
        format!("sunny in {}", place.region)
    }

    #[tool(description = "Tell who calls.")]
    fn whoami(&self, Extension(parts): Extension<Parts>) -> String {
        parts.extensions.get().cloned().unwrap_or("nobody".to_owned())
    }
}

/// The service of this server.
pub type Service = StreamableHttpService<Weather, LocalSessionManager>;

/// Without sessions, for clients of every revision.
pub fn stateless() -> Service {
    let config = StreamableHttpServerConfig::default().with_legacy_session_mode(false).with_json_response(true);
    StreamableHttpService::new(|| Ok(Weather), LocalSessionManager::default().into(), config)
}

/// The same, for the clients alone that say their revision with each request.
pub fn strict() -> Service {
    let config = StreamableHttpServerConfig::default().with_legacy_session_mode(false).with_json_response(true);
    let config = config.with_stateless_protocol_metadata_required(true);
    StreamableHttpService::new(|| Ok(Weather), LocalSessionManager::default().into(), config)
}
