//! [`Program`]: the server that is installed, and what is done with it.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use super::machine::{Machine, plain_path};

/// What is done to the configuration of a client: `install` or `uninstall`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallCommand {
    /// Adds or updates the entry of a server.
    Install,
    /// Removes the entry of a server.
    Uninstall,
}

impl InstallCommand {
    /// The word on the command line.
    pub fn name(self) -> &'static str {
        match self {
            InstallCommand::Install => "install",
            InstallCommand::Uninstall => "uninstall",
        }
    }
}

/// The server that is installed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Program {
    /// The name of the MCP server; the entry gets it, unless `--name` says otherwise.
    pub name: String,
    /// The absolute path of the program: clients do not have the user's `PATH`.
    pub path: PathBuf,
    /// The program's own arguments, before those of the client: `--db notes.db`.
    pub arguments: Vec<String>,
}

impl Program {
    /// A program without arguments of its own.
    pub fn new(name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Program { name: name.into(), path: path.into(), arguments: Vec::new() }
    }

    /// The program of this process, without arguments of its own.
    pub fn this(name: impl Into<String>) -> io::Result<Self> {
        let path = std::env::current_exe()?;
        Ok(Program::new(name, plain_path(path.canonicalize().unwrap_or(path))))
    }

    /// The arguments that the program took for itself, before the command line `rest`. Those that name a file or a
    /// directory become absolute: a client starts the program elsewhere.
    #[must_use]
    pub fn with_own_arguments(mut self, all: &[OsString], rest: &[OsString], machine: &Machine) -> Self {
        let own = all.strip_suffix(rest).unwrap_or_default();
        let absolute = |argument: &OsString| {
            let path = machine.directory().join(argument);
            let text = argument.to_string_lossy().into_owned();
            if !text.is_empty() && path.exists() { plain_path(path).to_string_lossy().into_owned() } else { text }
        };
        self.arguments = own.iter().map(absolute).collect();
        self
    }
}
