//! What the encoder says of the server itself: its name, its instructions, its cache hints.

use crate::protocol::CacheHint;

/// A server, as clients are told of it.
#[derive(Debug)]
pub(crate) struct ServerInfo {
    /// The server's name and version as JSON, sent as it is.
    pub(crate) implementation: Box<str>,
    pub(crate) instructions: Option<String>,
    pub(crate) caches: CacheHints,
}

/// The hints of one server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheHints {
    pub(crate) server: CacheHint,
    pub(crate) tools: Option<CacheHint>,
    pub(crate) prompts: Option<CacheHint>,
    pub(crate) resources: Option<CacheHint>,
}

impl Default for CacheHints {
    fn default() -> Self {
        CacheHints { server: CacheHint::NONE, tools: None, prompts: None, resources: None }
    }
}

impl CacheHints {
    /// For contents of a resource that says nothing of its own.
    pub(crate) fn reads(self) -> CacheHint {
        self.resources.unwrap_or(self.server)
    }
}
