//! The methods, and the revisions that have them.

use crate::error::RpcError;
use crate::protocol::Revision;

/// A request the server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Initialize,
    Ping,
    Discover,
    ToolsList,
    ToolsCall,
    ResourcesList,
    TemplatesList,
    ResourcesRead,
    PromptsList,
    PromptsGet,
    Complete,
}

impl Method {
    /// The method called `name` in `revision`; one that only other revisions have is unknown.
    pub(crate) fn find(name: &str, revision: Revision) -> Result<Self, RpcError> {
        let method = match name {
            "tools/call" => Self::ToolsCall,
            "resources/read" => Self::ResourcesRead,
            "prompts/get" => Self::PromptsGet,
            "tools/list" => Self::ToolsList,
            "resources/list" => Self::ResourcesList,
            "resources/templates/list" => Self::TemplatesList,
            "prompts/list" => Self::PromptsList,
            "completion/complete" => Self::Complete,
            "initialize" if !revision.is_modern() => Self::Initialize,
            "ping" if !revision.is_modern() => Self::Ping,
            "server/discover" if revision.is_modern() => Self::Discover,
            _ => return Err(unknown(name)),
        };
        Ok(method)
    }

    /// Whether only the modern era has a method of this name.
    pub(crate) fn is_modern_only(name: &str) -> bool {
        matches!(name, "server/discover" | "subscriptions/listen")
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Ping => "ping",
            Self::Discover => "server/discover",
            Self::ToolsList => "tools/list",
            Self::ToolsCall => "tools/call",
            Self::ResourcesList => "resources/list",
            Self::TemplatesList => "resources/templates/list",
            Self::ResourcesRead => "resources/read",
            Self::PromptsList => "prompts/list",
            Self::PromptsGet => "prompts/get",
            Self::Complete => "completion/complete",
        }
    }
}

pub(crate) fn unknown(name: &str) -> RpcError {
    RpcError::new(RpcError::METHOD_NOT_FOUND, format!("Method not found: {name}"))
}
