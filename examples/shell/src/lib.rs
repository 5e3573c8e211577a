//! Commands of an allow list: their output streamed as progress, with a timeout, and killed when the call is cancelled.
//!
//! - `allowed`: which commands, and with which arguments.
//! - `process`: runs one.

mod allowed;
mod process;

use std::path::PathBuf;
use std::time::Duration;

use mcp_runtime::Json;
use mcp_runtime::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

pub use crate::allowed::{Allowed, allowed};
use crate::process::Outcome;

struct Shell {
    commands: Vec<Allowed>,
    directory: PathBuf,
}

/// The commands of this server.
#[derive(Serialize, JsonSchema)]
struct Commands<'a> {
    commands: &'a [Allowed],
}

#[handlers]
impl Shell {
    /// List the commands that `run` accepts.
    #[tool(title = "List commands", read_only)]
    fn commands(&self) -> Json<Commands<'_>> {
        Json(Commands { commands: &self.commands })
    }

    /// Run a command to its end, and return its exit code and its output. Each line of output is a progress report.
    #[tool(title = "Run a command", destructive, open_world, task)]
    async fn run(
        &self,
        ctx: &Context,
        /// The name of a command, as `commands` lists it.
        command: String,
        /// Words to add to the command, if it takes arguments.
        #[arg(default, max_items = 50)]
        arguments: Vec<String>,
        /// The seconds after which the command is killed.
        #[arg(default = 60, min = 1, max = 3600)]
        timeout: u64,
    ) -> Result<Json<Outcome>> {
        let Some(allowed) = self.commands.iter().find(|allowed| allowed.name == command) else {
            let names: Vec<&str> = self.commands.iter().map(|allowed| &*allowed.name).collect();
            return Err(Error::msg(format!("`{command}` is not allowed: choose one of {}", names.join(", "))));
        };
        let mut process = allowed.command(&arguments, &self.directory)?;
        let outcome = process::run(ctx, &mut process, Duration::from_secs(timeout)).await;
        outcome.map(Json).map_err(|error| Error::msg(format!("cannot run `{command}`: {error}")))
    }
}

/// A server that runs these commands in a directory.
pub fn server(commands: Vec<Allowed>, directory: impl Into<PathBuf>) -> Server {
    Server::new("shell", env!("CARGO_PKG_VERSION"))
        .instructions("`commands` lists what `run` can run.")
        .mount(Shell { commands, directory: directory.into() })
}
