//! `cargo mcp call` and its like against servers that are written down message by message, on stdio and over HTTP.

mod connecting;
mod http;
mod script;
#[cfg(unix)]
mod tasks;

use std::process::{Command, Stdio};

/// What a command did.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: i32,
}

pub(crate) fn cargo_mcp(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-mcp"));
    command.arg("mcp").args(line.split(' ')).env("NO_COLOR", "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn run(command: &mut Command) -> Done {
    let output = command.output().expect("cargo-mcp runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Done { out: text(&output.stdout), err: text(&output.stderr), code: output.status.code().expect("an exit code") }
}
