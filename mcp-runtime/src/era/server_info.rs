//! What the encoder says of the server itself: its name, its instructions, its cache hints.

use crate::protocol::Cache;

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
    pub(crate) server: Cache,
    pub(crate) tools: Option<Cache>,
    pub(crate) prompts: Option<Cache>,
    pub(crate) resources: Option<Cache>,
}

impl Default for CacheHints {
    fn default() -> Self {
        CacheHints { server: Cache::NONE, tools: None, prompts: None, resources: None }
    }
}

impl CacheHints {
    /// For contents of a resource that says nothing of its own.
    pub(crate) fn reads(self) -> Cache {
        self.resources.unwrap_or(self.server)
    }
}
