//! `install --list`: the clients of this machine, and which of them have the server.

use std::io::{self, Write as _};
use std::path::Path;

use super::client::Client;
use super::client::launch::Launch;
use super::client::scope::Scope;
use super::file::ConfigFile;
use super::machine::Machine;
use super::page::Page;

enum State {
    Installed(String),
    Found,
    NotFound,
    Unreadable,
}

/// Writes a line per client and file.
pub(super) fn write(page: &mut Page<'_>, machine: &Machine, name: &str, program: &Path) -> io::Result<()> {
    let width = Client::all().iter().map(|client| client.id.len()).max().unwrap_or_default();
    for client in Client::all() {
        for scope in [Scope::User, Scope::Project] {
            let Some(path) = client.file(scope, machine) else { continue };
            // a project's file matters where there is one
            if scope == Scope::Project && !path.is_file() {
                continue;
            }
            let terminal = page.terminal;
            let path_text = machine.short(&path);
            let mut remark = String::new();
            let state = match state(client, scope, machine, (name, program)) {
                State::Installed(text) => {
                    remark = text;
                    terminal.green(format!("{:<10}", "installed"))
                }
                State::Found => terminal.bold(format!("{:<10}", "found")),
                State::NotFound => terminal.dim(format!("{:<10}", "not found")),
                State::Unreadable => terminal.red(format!("{:<10}", "unreadable")),
            };
            if scope == Scope::Project {
                remark.insert_str(0, " (project)");
            }
            writeln!(page.out, "{:width$}  {state}  {path_text}{remark}", client.id)?;
        }
    }
    Ok(())
}

fn state(client: &'static Client, scope: Scope, machine: &Machine, (name, program): (&str, &Path)) -> State {
    let Some(path) = client.file(scope, machine) else { return State::NotFound };
    let Ok(file) = ConfigFile::read(client, scope, path) else { return State::Unreadable };
    let runs = |launch: &Launch| matches!(launch, Launch::Command { command, .. } if Path::new(command) == program);
    let launches = || file.entries().filter_map(|(name, entry)| Some((name, Launch::read(entry)?)));
    if let Some((found, _)) = launches().find(|(_, launch)| runs(launch)) {
        let other = *found != client.key(name);
        return State::Installed(if other { format!(" (as {found})") } else { String::new() });
    }
    if let Some((_, launch)) = launches().find(|(found, _)| **found == client.key(name)) {
        return State::Installed(match launch {
            Launch::Command { command, .. } => format!(" (runs {command})"),
            Launch::Http { url, .. } => format!(" ({url})"),
        });
    }
    if client.is_found(machine) { State::Found } else { State::NotFound }
}
