//! The command line of a server, as a person and as a script use it.

mod commands;
mod doctor;
mod exit_codes;
mod install;
mod output;
#[cfg(target_os = "linux")]
mod questions;
#[cfg(target_os = "linux")]
mod terminal;
