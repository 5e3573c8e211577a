//! The support library of the tests: fixtures, the transcript runner, an HTTP client, a server process.

pub mod fake_issuer;
pub mod file_stores;
pub mod fixture;
pub mod http;
pub mod placeholders;
pub mod process;
pub mod transcript;

/// The revisions whose clients open a session.
pub fn with_sessions() -> impl Iterator<Item = mcp_runtime::Revision> {
    mcp_runtime::Revision::ALL.iter().copied().filter(|revision| !revision.is_modern())
}

/// The README, the pages in `docs/`, and the AGENTS.md of new servers, whose Rust blocks are compiled and run.
#[cfg(doctest)]
pub mod pages {
    #[doc = include_str!("../../README.md")]
    pub struct Readme;

    #[doc = include_str!("../../docs/http.md")]
    pub struct Http;

    #[doc = include_str!("../../docs/authorization.md")]
    pub struct Authorization;

    #[doc = include_str!("../../docs/middleware.md")]
    pub struct Middleware;

    #[doc = include_str!("../../docs/replicas.md")]
    pub struct Replicas;

    #[doc = include_str!("../../docs/observability.md")]
    pub struct Observability;

    #[doc = include_str!("../../docs/cargo-mcp.md")]
    pub struct CargoMcp;

    #[doc = include_str!("../../docs/dev.md")]
    pub struct Dev;

    #[doc = include_str!("../../docs/install.md")]
    pub struct Install;

    #[doc = include_str!("../../cargo-mcp/template/AGENTS.md")]
    pub struct Agents;
}
