//! [`Client`]: a program that starts MCP servers, and where its configuration is.

pub(super) mod launch;
pub(super) mod links;
pub(super) mod own_command;
pub(super) mod scope;
mod shape;
mod table;

use std::path::{Path, PathBuf};

use self::links::Link;
use self::own_command::OwnCommand;
use self::scope::Scope;
use self::shape::Shape;
use super::format::Format;
use super::machine::Machine;

/// A client that servers can be installed in.
#[derive(Debug)]
pub struct Client {
    /// The name on the command line: `claude-desktop`.
    pub id: &'static str,
    /// The name of the product: `Claude Desktop`.
    pub title: &'static str,
    pub(super) format: Format,
    /// The member of the file that has an entry per server.
    pub(super) table: &'static str,
    pub(super) shape: Shape,
    /// The client's own directory: where there is one, the client was started on this machine.
    directory: fn(&Machine) -> PathBuf,
    user_file: fn(&Machine) -> PathBuf,
    /// Relative to the project; the first that exists, or else the first.
    project_files: &'static [&'static str],
    /// The programs that come with it.
    programs: &'static [&'static str],
    pub(super) own_command: Option<OwnCommand>,
    pub(super) link: Option<Link>,
    /// What to do after the file has changed.
    pub(super) next: &'static str,
}

impl Client {
    /// The file of that scope, whether it exists or not. Not every client has files in projects.
    pub fn file(&self, scope: Scope, machine: &Machine) -> Option<PathBuf> {
        match scope {
            Scope::User | Scope::Local => Some((self.user_file)(machine)),
            // in the home directory, the file of the user is meant
            Scope::Project => {
                existing(machine.directory(), self.project_files).filter(|file| *file != (self.user_file)(machine))
            }
        }
    }

    /// Whether there is any trace of the client on this machine: its file, its directory or its program.
    pub fn is_found(&self, machine: &Machine) -> bool {
        (self.user_file)(machine).is_file()
            || (self.directory)(machine).is_dir()
            || self.programs.iter().any(|program| machine.find(program).is_some())
    }

    /// The name of a server's entry. goose compares names in lower case.
    pub(super) fn key(&self, name: &str) -> String {
        if self.id == "goose" { name.to_lowercase() } else { name.to_owned() }
    }
}

/// The first of the files that exists, or else the first.
fn existing(directory: &Path, files: &[&str]) -> Option<PathBuf> {
    let paths = || files.iter().map(|file| directory.join(file));
    paths().find(|path| path.exists()).or_else(|| paths().next())
}
