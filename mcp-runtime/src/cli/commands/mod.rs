//! The commands that ask a server: what they send, and what they print.

mod call;
mod contract;
mod find;
pub(super) mod list;
mod read;

use std::process::ExitCode;

use super::error::CliError;
use super::query::{Command, Query};
use super::target::Target;
use crate::client::TestClient;

/// Runs a command against a server, and prints what it answers. The exit code is 0, or 1 if a tool failed.
///
/// # Errors
///
/// If the command line does not fit the server, or the server cannot be reached. [`CliError::code`] is the exit code.
pub async fn run(query: &Query, target: Target) -> Result<ExitCode, CliError> {
    let options = &query.options;
    let work = async {
        if let (Command::Schema | Command::Lint, Some(surface)) = (query.command, &target.surface) {
            return contract::show(query, surface);
        }
        let client = target.connect(options).await?;
        answered(query, &client).await
    };
    let Some(limit) = options.timeout else { return work.await };
    let late = |_| Err(CliError::failed(format!("no answer within {} s", limit.as_secs_f64())));
    tokio::time::timeout(limit, work).await.unwrap_or_else(late)
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
