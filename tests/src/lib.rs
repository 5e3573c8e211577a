//! What the tests share: a server with one of everything, and the transcript runner.

pub mod fixture;
pub mod transcript;
