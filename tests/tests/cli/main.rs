//! The command line of a server, as a person and as a script use it.

mod commands;
mod install;
#[cfg(target_os = "linux")]
mod terminal;
