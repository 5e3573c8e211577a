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

/// The pages of the book, the README, and the AGENTS.md of new servers, whose Rust blocks are compiled and run.
#[cfg(doctest)]
pub mod pages {
    include!(concat!(env!("OUT_DIR"), "/book.rs"));

    #[doc = include_str!("../../README.md")]
    pub struct Readme;

    #[doc = include_str!("../../cargo-mcp/template/AGENTS.md")]
    pub struct Agents;
}
