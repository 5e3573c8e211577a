//! `install` and `uninstall`: entries for a server in the configuration of MCP clients, and the servers that are
//! configured there already.
//!
//! A client's own command is preferred (`claude mcp add`): it knows the client's newest files. Where there is none,
//! the file is edited: `format` changes one entry and keeps the rest of the text, `file` replaces the file at once.
//! The clients are the literals of `client/table.rs`.

mod client;
mod commands;
mod configured;
mod difference;
mod file;
mod format;
mod list;
mod machine;
mod options;
mod page;
mod program;

use std::ffi::OsString;
use std::io::Write;

use self::commands::{Target, default_name};
use self::options::{Mode, Options};
use self::page::{Open, Page};
use super::error::CliError;
use super::terminal::Terminal;

pub use self::client::Client;
pub use self::client::launch::Launch;
pub use self::client::scope::Scope;
pub use self::configured::{Configuration, Configured, configured};
pub use self::machine::{Machine, OperatingSystem, plain_path};
pub use self::program::{InstallCommand, Program};

/// Runs `install` or `uninstall` with the arguments behind that word. The person reads `out`.
pub fn run(
    command: InstallCommand,
    arguments: Vec<OsString>,
    program: &Program,
    machine: &Machine,
    out: &mut dyn Write,
    terminal: Terminal,
) -> Result<(), CliError> {
    let options = Options::parse(command, arguments)?;
    let mut page = Page { out: Open(out), terminal };
    let name = || options.name.clone().unwrap_or_else(|| default_name(program));
    match (options.mode, options.client) {
        (Mode::List, _) => list::write(&mut page, machine, &name(), &program.path)?,
        (Mode::Help, _) | (_, None) => write!(page.out, "{}", help(command))?,
        (_, Some(client)) => {
            let target = Target::new(client, &options, program, machine)?;
            match command {
                InstallCommand::Install => target.install(program, &mut page)?,
                InstallCommand::Uninstall => target.uninstall(&mut page)?,
            }
        }
    }
    Ok(())
}

fn help(command: InstallCommand) -> String {
    let usage = match command {
        InstallCommand::Install => include_str!("install.txt"),
        InstallCommand::Uninstall => include_str!("uninstall.txt"),
    };
    let clients: Vec<&str> = Client::all().iter().map(|client| client.id).collect();
    let lines: Vec<String> = clients.chunks(6).map(|ids| format!("  {}\n", ids.join(", "))).collect();
    format!("{usage}\nClients:\n{}", lines.concat())
}
