//! The commands that ask a server: what they send, and what they print.

mod call;
mod contract;
#[cfg(feature = "auth-fetch")]
pub(super) mod doctor;
mod find;
pub(super) mod list;
mod read;

use std::process::ExitCode;
use std::time::Duration;

use tokio::time::Instant;

use super::error::CliError;
use super::query::{Command, Query};
use super::target::Target;
use super::terminal::{Terminal, say};
use crate::client::TestClient;

/// How long a server may take until it is connected, unless `--timeout` says.
const CONNECT: Duration = Duration::from_secs(30);
/// The exit code after Ctrl-C, as of a process that the signal ended.
const INTERRUPTED: u8 = 130;

/// Runs a command against a server, and prints what it answers. The exit code is 0, 1 if a tool failed, or 130 after
/// Ctrl-C. Whatever the server still does for the command then, or after `--timeout`, is cancelled.
///
/// # Errors
///
/// If the command line does not fit the server, or the server cannot be reached. [`CliError::code`] is the exit code.
pub async fn run(query: &Query, target: Target) -> Result<ExitCode, CliError> {
    if let (Command::Schema | Command::Lint, Some(surface)) = (query.command, &target.surface) {
        return contract::show(query, surface);
    }
    let limit = query.options.timeout;
    let until = limit.map(|limit| Instant::now() + limit);
    let client = tokio::select! {
        client = target.connect(&query.options, limit.unwrap_or(CONNECT)) => client?,
        () = interrupted() => return Ok(ExitCode::from(INTERRUPTED)),
    };
    let mut work = Box::pin(answered(query, &client));
    let stopped = tokio::select! {
        biased;
        done = &mut work => return done,
        () = interrupted() => Ok(ExitCode::from(INTERRUPTED)),
        late = expired(limit, until) => Err(late),
    };
    client.abandon().await;
    drop(work);
    if Terminal::stderr().is_interactive() {
        // A question may stand on the line.
        say!();
    }
    stopped
}

/// Completes with Ctrl-C.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Completes when the time is over.
async fn expired(limit: Option<Duration>, until: Option<Instant>) -> CliError {
    let (Some(limit), Some(until)) = (limit, until) else { return std::future::pending().await };
    tokio::time::sleep_until(until).await;
    CliError::protocol(format!("no answer within {} s; `--timeout SECONDS` waits longer", limit.as_secs_f64()))
}

async fn answered(query: &Query, client: &TestClient) -> Result<ExitCode, CliError> {
    let done = match query.command {
        Command::Call => return call::call(query, client).await,
        Command::Lint | Command::Schema => return contract::show(query, &super::target::surface(client).await?),
        Command::Inspect => list::inspect(query, client).await,
        Command::Tools => list::tools(query, client).await,
        Command::Resources => list::resources(query, client).await,
        Command::Prompts => list::prompts(query, client).await,
        Command::Read => read::read(query, client).await,
        Command::Get => read::get(query, client).await,
        Command::Complete => read::complete(query, client).await,
    };
    done.map(|()| ExitCode::SUCCESS)
}
