//! The blocks of `docs/book/migrating.md` that are written for rmcp 3.8.0, so that they compile, and tests of what the page
//! says rmcp does. A test of the repository compares the texts.
#![forbid(unsafe_code)]

pub mod asking;
pub mod http;
pub mod lists;
pub mod negotiation;
pub mod notebook;
pub mod notices;
pub mod rounds;
pub mod tasks;
pub mod tools;

#[cfg(test)]
mod tests;
