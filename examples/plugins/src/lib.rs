//! Tools made at run time from a TOML file, and changed while they are served when the file changes.
//!
//! - `file`: reads the file, watches it, and applies changes to the server.
//! - `plugin`: makes a tool of a declaration, with the schema of its arguments.
//! - `template`: what the tools do: fill the blanks of a text.

mod file;
mod plugin;
mod template;

use mcp_runtime::prelude::*;

pub use crate::file::{Plugins, Problem};

/// A server for these plugins. [`Plugins::watch`] keeps it up to date.
pub fn server(plugins: &Plugins) -> Server {
    Server::new("plugins", env!("CARGO_PKG_VERSION")).dynamic().tools(plugins.tools())
}
