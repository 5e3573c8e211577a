//! `files --root DIR`, once for each directory to serve.

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use files::Roots;
use mcp_runtime::prelude::*;
use notify::Watcher;

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let mut directories = Vec::new();
    // The server's own options come first; the rest is the command line that every server has.
    while arguments.len() > 1 && arguments[0] == "--root" {
        directories.extend(arguments.drain(..2).nth(1));
    }
    match watched(&directories) {
        Ok((server, _watcher)) => server.run_with(arguments).await,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The server, and what announces changes to its clients until it is dropped.
fn watched(directories: &[OsString]) -> Result<(Server, impl Watcher)> {
    let roots = Roots::open(directories)?;
    let server = files::server(roots.clone());
    let watcher = files::watch(&roots, server.handle())?;
    Ok((server, watcher))
}
