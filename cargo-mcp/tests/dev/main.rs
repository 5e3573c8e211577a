//! `cargo mcp dev` as a process: a client stays connected over three edits, one of them broken.

#[path = "../shared/env.rs"]
mod env;
mod fixture;
mod http;
#[cfg(unix)]
mod page;
mod stdio;
