//! What the tests share: a server with one of everything, and the transcript runner.

pub mod fixture;
pub mod transcript;

/// The README, whose Rust blocks are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
