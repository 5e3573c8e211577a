//! `cargo mcp discover`: the servers that are configured in the MCP clients of this machine.

use std::ffi::OsString;
use std::io::{Write as _, stdout};
use std::process::ExitCode;

use lexopt::{Arg, Parser};
use mcp_runtime::cli::install::{Configured, Launch, Machine, configured};
use mcp_runtime::cli::terminal::Terminal;
use serde_json::json;

use crate::failure::Failure;

const HELP: &str = "\
List the servers that are configured in the MCP clients of this machine.

Usage: cargo mcp discover [--json]

Options:
  --json      as JSON, with the file of each
  -h, --help  show this page

Each can be used by its name: `cargo mcp tools --server NAME`.
";

pub(crate) fn run(arguments: Vec<OsString>) -> Result<ExitCode, Failure> {
    let mut as_json = false;
    let mut parser = Parser::from_args(arguments);
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Long("json") => as_json = true,
            Arg::Long("help") | Arg::Short('h') => {
                let _ = stdout().lock().write_all(HELP.as_bytes());
                return Ok(ExitCode::SUCCESS);
            }
            other => return Err(other.unexpected().into()),
        }
    }
    let all = configured(&Machine::this()?);
    for error in &all.unreadable {
        eprintln!("{} {error}", Terminal::stderr().yellow("warning:"));
    }
    let text = if as_json { json_list(&all.servers) } else { list(&all.servers, Terminal::stdout()) };
    if all.servers.is_empty() && !as_json {
        eprintln!("no MCP client on this machine has a server; `install --list` of a server shows the clients");
    }
    // A reader that closes its end has seen enough.
    let _ = stdout().lock().write_all(text.as_bytes());
    Ok(ExitCode::SUCCESS)
}

fn list(servers: &[Configured], terminal: Terminal) -> String {
    let width = servers.iter().map(|server| server.full_name().chars().count()).max().unwrap_or_default();
    let line = |server: &Configured| {
        let name = server.full_name();
        let pad = width - name.chars().count();
        vec![format!("{}{:pad$}  {}\n", terminal.bold(&name), "", terminal.dim(shown(&server.launch)))]
    };
    servers.iter().flat_map(line).collect()
}

/// How a client starts or reaches a server, without values that may be secrets.
fn shown(launch: &Launch) -> String {
    match launch {
        Launch::Http { url, .. } => url.clone(),
        Launch::Command { command, args, .. } => [std::slice::from_ref(command), args].concat().join(" "),
    }
}

fn json_list(servers: &[Configured]) -> String {
    let server = |server: &Configured| {
        let launch = match &server.launch {
            Launch::Http { url, .. } => json!({"url": url}),
            Launch::Command { command, args, .. } => json!({"command": command, "args": args}),
        };
        json!({
            "client": server.client.id, "name": server.name, "scope": server.scope.name(), "file": server.file,
            "launch": launch,
        })
    };
    let all: Vec<_> = servers.iter().map(server).collect();
    format!("{}\n", serde_json::to_string_pretty(&all).unwrap_or_default())
}
