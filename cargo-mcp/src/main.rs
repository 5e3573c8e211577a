//! `cargo mcp`: scaffold, run, call, install and pack MCP servers.
#![forbid(unsafe_code)]

mod contract;
mod dev;
mod discover;
mod failure;
mod help;
mod new;
mod pack;
mod package;
mod remote;
mod skill;

use std::ffi::OsString;
use std::process::ExitCode;

use failure::Failure;
use mcp_runtime::cli::Query;
use mcp_runtime::cli::terminal::Terminal;

fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // `cargo mcp new` runs `cargo-mcp mcp new`.
    if arguments.first().is_some_and(|first| first == "mcp") {
        arguments.remove(0);
    }
    match run(arguments) {
        Ok(code) => code,
        Err(failure) => failure.report(Terminal::stderr()),
    }
}

/// Runs a subcommand with the arguments after its name.
fn run(arguments: Vec<OsString>) -> Result<ExitCode, Failure> {
    let mut arguments = arguments.into_iter();
    let command = arguments.next().map(|command| command.to_string_lossy().into_owned());
    let rest: Vec<OsString> = arguments.collect();
    match command.as_deref() {
        None | Some("--help" | "-h" | "help") => Ok(help::print()),
        Some("--version" | "-V") => Ok(help::version()),
        Some("dev") => dev::run(&rest),
        Some("discover") => discover::run(rest),
        Some("doctor") => remote::doctor(rest),
        Some("new") => new::run(rest),
        Some("pack") => pack::run(rest),
        Some("skill") => skill::run(rest),
        Some(command) if Query::is_command(command) => {
            if rest
                .iter()
                .take_while(|argument| *argument != "--")
                .any(|argument| argument == "--help" || argument == "-h")
            {
                return Ok(help::print());
            }
            remote::run(command, rest)
        }
        Some(other) => Err(help::unknown(other)),
    }
}
