//! `cargo mcp dev`: runs a server, and replaces it when its source changes, without dropping the client.
//!
//! [`build`] watches and builds; [`session`] decides what a client and the versions of its server are told, without any
//! input or output; [`stdio`] performs it. [`http`] is the same for the clients of a port.

mod adapt;
mod build;
mod catalog;
mod http;
mod inspector;
mod message;
mod options;
mod process;
mod report;
mod session;
mod stdio;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use build::{Builder, Project};
use options::{HELP, Options};
use process::Launch;
use report::Report;

use crate::failure::Failure;

/// Runs `cargo mcp dev`.
pub(crate) fn run(arguments: &[OsString]) -> Result<ExitCode, Failure> {
    let options = Options::parse(arguments)?;
    if options.help {
        std::io::stdout().write_all(HELP.as_bytes()).ok();
        return Ok(ExitCode::SUCCESS);
    }
    if options.inspector {
        return inspector::run(arguments, &options);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start the runtime: {error}")))?;
    let result = runtime.block_on(serve(options));
    // A read of standard input cannot be interrupted.
    runtime.shutdown_background();
    result
}

async fn serve(options: Options) -> Result<ExitCode, Failure> {
    let report = Report::new(options.quiet);
    let project = Project::read(&options.target).await?;
    let name = project.executable.clone();
    let mut arguments: Vec<OsString> = Vec::new();
    if options.http.is_some() {
        arguments.extend(options.http_arguments.iter().map(OsString::from));
    }
    arguments.extend(options.arguments.iter().cloned());
    let launch = Launch { arguments, manifest_directory: project.manifest_directory.clone() };
    let builder = Builder::new(project, options.target.clone(), report, options.quiet)?;
    match &options.http {
        Some(address) => http::serve(builder, launch, name, address, report).await,
        None if std::io::stdin().is_terminal() => Err(Failure::usage(
            "standard input is a terminal, and a client is expected there; let a client start this command, or use \
             `--inspector` or `--http`",
        )),
        None => Ok(stdio::serve(builder, launch, name, report).await),
    }
}

/// Completes when the process is to end.
async fn shutdown() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    tokio::signal::ctrl_c().await.ok();
}
