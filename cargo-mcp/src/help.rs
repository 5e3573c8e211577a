//! `cargo mcp --help`.

use std::io::{Write as _, stdout};
use std::process::ExitCode;

use mcp_runtime::cli::Query;
use mcp_runtime::cli::terminal::Terminal;

use crate::failure::Failure;

/// The subcommands, in groups.
const COMMANDS: [(&str, &[(&str, &str)]); 3] = [
    (
        "Make a server",
        &[
            ("new NAME [--from EXAMPLE]", "a new server from an example; --list shows them"),
            ("dev [-- ARGS]", "run it, rebuild on changes, keep its client connected"),
            ("pack", "a .mcpb bundle and a server.json for the registry"),
            ("skill", "a SKILL.md that teaches an agent to use it from a shell"),
        ],
    ),
    (
        "Use any server",
        &[
            ("inspect", "everything at a glance"),
            ("tools [NAME] | resources | prompts", "what it offers; --json, --tokens"),
            ("call TOOL key=value …", "call a tool"),
            ("read URI | get PROMPT key=value …", "read a resource, get a prompt"),
            ("complete PROMPT key=typed …", "complete an argument"),
            ("schema | lint", "its contract; what models stumble over"),
            ("doctor URL", "why clients cannot log in there; --token-env NAME"),
            ("discover", "the servers in this machine's MCP clients"),
        ],
    ),
    (
        "Which server",
        &[
            ("-- COMMAND …", "a program that speaks over stdio; --env NAME=value"),
            ("--url URL", "a server over HTTP; --header 'Name: value'"),
            ("--server NAME", "one that `discover` lists"),
            ("(none)", "the package in the current directory"),
        ],
    ),
];

/// The column of the explanations.
const COLUMN: usize = 38;

pub(crate) fn print() -> ExitCode {
    let terminal = Terminal::stdout();
    let mut text = vec![format!("{} cargo mcp COMMAND\n", terminal.green("Usage:"))];
    for (heading, commands) in COMMANDS {
        text.push(format!("\n{}\n", terminal.green(heading)));
        for (command, what) in commands {
            let pad = COLUMN.saturating_sub(command.chars().count());
            text.push(format!("  {}{:pad$}{what}\n", terminal.cyan(command), ""));
        }
    }
    text.push("\nA server's own command line has the same commands: `cargo run -- --help`.\n".to_owned());
    // A reader that closes its end has seen enough.
    let _ = stdout().lock().write_all(text.concat().as_bytes());
    ExitCode::SUCCESS
}

pub(crate) fn version() -> ExitCode {
    let _ = writeln!(stdout().lock(), "cargo-mcp {}", env!("CARGO_PKG_VERSION"));
    ExitCode::SUCCESS
}

/// The error for a subcommand that does not exist.
pub(crate) fn unknown(name: &str) -> Failure {
    let known = Query::commands().chain(["new", "dev", "pack", "skill", "discover", "doctor"]);
    let hint = mcp_runtime::cli::closest(name, known).map(|meant| format!("did you mean `{meant}`? "));
    Failure::usage(format!("no subcommand `{name}`; {}`cargo mcp --help` lists them", hint.unwrap_or_default()))
}
