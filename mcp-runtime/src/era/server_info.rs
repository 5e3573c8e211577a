//! The server's own data in messages: its name, its instructions, its cache hints.

use std::sync::Arc;

use crate::protocol::CacheHint;

/// A server, as its clients see it.
#[derive(Debug)]
pub(crate) struct ServerInfo {
    pub(crate) name: Arc<str>,
    /// The server's name and version as JSON.
    pub(crate) implementation: Box<str>,
    pub(crate) instructions: Option<String>,
    pub(crate) caches: CacheHints,
}

/// The cache hints of a server: the default, and those per kind.
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
    /// The hint for resource contents that have none of their own.
    pub(crate) fn reads(self) -> CacheHint {
        self.resources.unwrap_or(self.server)
    }
}
