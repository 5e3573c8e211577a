//! `cargo mcp dev` as a process: a client stays connected over three edits, one of them broken.

mod fixture;
mod http;
mod stdio;
