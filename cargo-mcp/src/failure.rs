//! [`Failure`]: why a subcommand failed, and the exit code that says so.

use std::fmt::Display;
use std::io::{Write as _, stderr};
use std::process::ExitCode;

use mcp_runtime::cli::CliError;
use mcp_runtime::cli::terminal::Terminal;

/// Why a subcommand failed. The text says what to do next.
#[derive(Debug)]
pub(crate) struct Failure {
    text: String,
    code: u8,
}

impl Failure {
    /// It did not work: exit code 1.
    pub(crate) fn new(text: impl Display) -> Self {
        Failure { text: text.to_string(), code: 1 }
    }

    /// The command line is wrong: exit code 2.
    pub(crate) fn usage(text: impl Display) -> Self {
        Failure { text: text.to_string(), code: 2 }
    }

    /// Tells the person.
    pub(crate) fn report(&self, terminal: Terminal) -> ExitCode {
        // Nobody may be left to tell.
        let _ = writeln!(stderr(), "{} {}", terminal.red("error:"), terminal.clean(&self.text));
        ExitCode::from(self.code)
    }
}

impl From<CliError> for Failure {
    fn from(error: CliError) -> Self {
        Failure { text: error.to_string(), code: error.code() }
    }
}

impl From<lexopt::Error> for Failure {
    fn from(error: lexopt::Error) -> Self {
        Failure::usage(error)
    }
}
