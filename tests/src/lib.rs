//! What the tests share: a server with one of everything, the transcript runner, a process.

pub mod fixture;
pub mod process;
pub mod transcript;

/// The README, whose Rust blocks are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
