//! `plugins --file plugins.toml`; without the option, `PLUGINS` names the file.

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use mcp_runtime::prelude::*;
use notify::Watcher;
use plugins::Plugins;

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = env::args_os().skip(1).collect();
    // The server's own option comes first; the rest is the command line that every server has.
    let named = (arguments.len() > 1 && arguments[0] == "--file").then(|| arguments.drain(..2).nth(1)).flatten();
    let Some(file) = named.or_else(|| env::var_os("PLUGINS")) else {
        eprintln!("name the file with the tools: `plugins --file /path/to/plugins.toml`, or set PLUGINS");
        return ExitCode::FAILURE;
    };
    match watched(file) {
        Ok((server, _watcher)) => server.run_with(arguments).await,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The server, and what reads the file again when it changes, until it is dropped.
fn watched(file: OsString) -> Result<(Server, impl Watcher)> {
    let plugins = Plugins::load(file)?;
    let server = plugins::server(&plugins);
    let watcher = plugins.watch(server.handle(), |problem| eprintln!("{problem}\nThe tools stay as they were."))?;
    Ok((server, watcher))
}
