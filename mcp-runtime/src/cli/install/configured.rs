//! The servers that are configured in the clients of this machine.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::client::Client;
use super::client::launch::Launch;
use super::client::scope::Scope;
use super::file::ConfigFile;
use super::machine::Machine;
use crate::cli::error::CliError;
use crate::suggest;

/// A server in the configuration of a client.
#[derive(Debug, Clone)]
pub struct Configured {
    /// The client whose configuration names the server.
    pub client: &'static Client,
    /// Who sees the server: the user everywhere, or a project.
    pub scope: Scope,
    /// The file it is configured in.
    pub file: PathBuf,
    /// The name of the server in that file.
    pub name: String,
    /// How the client starts or reaches it.
    pub launch: Launch,
}

impl Configured {
    /// The name that means this server and no other: `cursor:weather`.
    pub fn full_name(&self) -> String {
        format!("{}:{}", self.client.id, self.name)
    }
}

/// What is configured on a machine.
#[derive(Debug, Clone, Default)]
pub struct Configuration {
    /// The servers, client by client, in the order of their files.
    pub servers: Vec<Configured>,
    /// The files that cannot be read: what is wrong with each.
    pub unreadable: Vec<CliError>,
}

/// Reads the files of all clients: of the user, of the project in the current directory, and of both for Claude Code.
pub fn configured(machine: &Machine) -> Configuration {
    let mut all = Configuration::default();
    for client in Client::all() {
        for scope in [Scope::User, Scope::Project] {
            let Some(path) = client.file(scope, machine) else { continue };
            match ConfigFile::read(client, scope, path) {
                Ok(file) => all.add(client, scope, &file, machine),
                Err(error) => all.unreadable.push(error),
            }
        }
    }
    all
}

impl Configuration {
    /// Finds a server by its name (`weather`), or by its client and name (`cursor:weather`). One that several clients
    /// start in the same way is found; one that they start in different ways is an error, which names the clients.
    pub fn find(&self, name: &str) -> Result<&Configured, CliError> {
        let (client, plain) = match name.split_once(':') {
            Some((client, plain)) => (Some(Client::named(client)?), plain),
            None => (None, name),
        };
        let in_client = |server: &&Configured| client.is_none_or(|client| client.id == server.client.id);
        let found: Vec<_> = self.servers.iter().filter(in_client).filter(|server| server.name == plain).collect();
        match found.as_slice() {
            [] => {
                let names = self.servers.iter().filter(in_client).map(|server| server.name.as_str());
                let meant = suggest::closest(plain, names).map(|meant| format!("; did you mean `{meant}`?"));
                Err(CliError::usage(format!(
                    "no client on this machine has a server `{name}`{}",
                    meant.unwrap_or_default()
                )))
            }
            // of several files of one client, the nearest counts, as it does for the client
            [first, rest @ ..] if rest.iter().all(|other| other.launch == first.launch) => Ok(first),
            [.., last] if client.is_some() => Ok(last),
            several => {
                let mut names: Vec<String> = several.iter().map(|server| server.full_name()).collect();
                names.dedup();
                if let [_] = names.as_slice() {
                    return Ok(several[several.len() - 1]);
                }
                Err(CliError::usage(format!("`{name}` is configured in different ways: choose {}", names.join(" or "))))
            }
        }
    }

    fn add(&mut self, client: &'static Client, scope: Scope, file: &ConfigFile, machine: &Machine) {
        let mut push = |scope, name: &String, entry: &Value| {
            if let Some(launch) = Launch::read(entry) {
                let file = file.path().to_owned();
                self.servers.push(Configured { client, scope, file, name: name.clone(), launch });
            }
        };
        for (name, entry) in file.entries() {
            push(scope, name, entry);
        }
        if client.id == "claude-code" && scope == Scope::User {
            for (name, entry) in local(file.members(), machine).into_iter().flatten() {
                push(Scope::Local, name, entry);
            }
        }
    }
}

/// Claude Code's servers of one user in one project: `projects["<directory>"].mcpServers`.
fn local<'a>(members: &'a Map<String, Value>, machine: &Machine) -> Option<&'a Map<String, Value>> {
    // on Windows with slashes, too
    let project = machine.directory().to_str()?.replace('\\', "/");
    members.get("projects")?.get(&project)?.get("mcpServers")?.as_object()
}
