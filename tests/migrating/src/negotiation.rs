//! What a server says that it supports.

use std::borrow::Cow;

use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, tool, tool_handler, tool_router};

#[derive(Clone)]
pub struct Atlas;

#[tool_router]
impl Atlas {
    #[tool(description = "Tell the revision of the client.")]
    fn revision(&self, ctx: RequestContext<RoleServer>) -> String {
        ctx.protocol_version().map(|version| version.to_string()).unwrap_or_default()
    }
}

#[tool_handler]
impl ServerHandler for Atlas {
    fn get_info(&self) -> ServerConfig {
        let offered = ServerCapabilities::builder().enable_tools().enable_resources().enable_resources_subscribe();
        ServerConfig::new(offered.build())
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&[ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28])
    }
}
