//! [`CliError`]: why a command failed, and the exit code that says so.

use std::fmt;
use std::process::ExitCode;

use super::terminal::{Terminal, say};
use crate::error::ServerError;
use crate::jsonrpc::error::RpcError;

/// Why a command failed. The text says what to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CliError {
    /// The command itself failed, at a file or at a program for example: exit code 1, as for a tool that failed.
    Failed(String),
    /// The command line is wrong, or names what the server does not have: exit code 2.
    Usage(String),
    /// The server cannot be reached, does not answer in time, or answers with an error of the protocol: exit code 3.
    Protocol(String),
}

impl CliError {
    /// A [`Failed`](Self::Failed) with this text, for a command that failed on this side.
    pub fn failed(text: impl fmt::Display) -> Self {
        CliError::Failed(text.to_string())
    }

    /// A [`Usage`](Self::Usage) error with this text, for a wrong command line.
    pub fn usage(text: impl fmt::Display) -> Self {
        CliError::Usage(text.to_string())
    }

    /// A [`Protocol`](Self::Protocol) error with this text, for a server that cannot be reached or breaks the protocol.
    pub fn protocol(text: impl fmt::Display) -> Self {
        CliError::Protocol(text.to_string())
    }

    /// The server's error about what was typed: a name or an argument that it does not take is the command line's mistake.
    pub(super) fn refused(error: ServerError) -> Self {
        let mistaken = [RpcError::INVALID_PARAMS, RpcError::RESOURCE_NOT_FOUND];
        let is_mistake = error.code().is_some_and(|code| mistaken.contains(&code));
        match CliError::from(error) {
            CliError::Protocol(text) if is_mistake => CliError::Usage(text),
            error => error,
        }
    }

    /// The code that the process exits with.
    pub fn code(&self) -> u8 {
        match self {
            CliError::Failed(_) => 1,
            CliError::Usage(_) => 2,
            CliError::Protocol(_) => 3,
        }
    }

    /// Tells the person, on standard error.
    pub fn report(&self) -> ExitCode {
        let terminal = Terminal::stderr();
        say!("{} {}", terminal.red("error:"), terminal.clean(&self.to_string()));
        ExitCode::from(self.code())
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (CliError::Failed(text) | CliError::Usage(text) | CliError::Protocol(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for CliError {}

impl From<lexopt::Error> for CliError {
    fn from(error: lexopt::Error) -> Self {
        CliError::usage(error)
    }
}

impl From<ServerError> for CliError {
    fn from(error: ServerError) -> Self {
        let details = error.data().and_then(|data| data["details"].as_str());
        CliError::Protocol(match (error.code(), details) {
            (Some(code), Some(details)) => format!("{error} ({code}). {details}"),
            (Some(code), None) => format!("{error} ({code})"),
            (None, _) => error.to_string(),
        })
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        CliError::failed(error)
    }
}
