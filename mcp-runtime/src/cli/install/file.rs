//! [`ConfigFile`]: a client's file, read whole and replaced whole.
//!
//! The new text is written to a temporary file in the same directory, which is then renamed: a client never reads half
//! a file, and a full disk leaves the old one. A link is followed, because dotfiles are often links into a repository.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::client::Client;
use super::client::scope::Scope;
use super::format::unreadable::Unreadable;
use super::machine::plain_path;
use crate::cli::error::CliError;

/// The suffix of the one backup of a file. It is not `.bak` alone: that may be the user's own.
const BACKUP: &str = ".mcp.bak";

/// A client's file.
#[derive(Debug)]
pub(super) struct ConfigFile {
    client: &'static Client,
    scope: Scope,
    path: PathBuf,
    /// None: there is no file yet.
    text: Option<String>,
    members: Map<String, Value>,
}

impl ConfigFile {
    /// Reads the file of a client. A missing or empty file has no entries; one that does not parse is an error.
    pub(super) fn read(client: &'static Client, scope: Scope, path: PathBuf) -> Result<Self, CliError> {
        let text =
            match fs::read(&path) {
                Ok(bytes) => Some(String::from_utf8(bytes).map_err(|_| {
                    CliError::failed(format!("{} is not in UTF-8; nothing was changed", path.display()))
                })?),
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                Err(error) => return Err(CliError::failed(format!("{} cannot be read: {error}", path.display()))),
            };
        let members = client.format.parse(text.as_deref().unwrap_or_default()).map_err(|error| {
            let (line, column) = error.position.unwrap_or((1, 1));
            CliError::failed(format!(
                "{}:{line}:{column} does not parse: {}\nNothing was changed. Mend the file, and run the command again.",
                path.display(),
                error.reason
            ))
        })?;
        Ok(ConfigFile { client, scope, path, text, members })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn exists(&self) -> bool {
        self.text.is_some()
    }

    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// The entries of servers, by name.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.members.get(self.client.table).and_then(Value::as_object).into_iter().flatten()
    }

    pub(super) fn entry(&self, name: &str) -> Option<&Value> {
        self.entries().find(|(found, _)| *found == name).map(|(_, entry)| entry)
    }

    pub(super) fn members(&self) -> &Map<String, Value> {
        &self.members
    }

    /// The text with an entry set.
    pub(super) fn with(&self, name: &str, entry: &Map<String, Value>) -> Result<String, CliError> {
        let edited = self.client.format.set(self.text(), self.client.table, name, entry);
        edited.map_err(|error| self.refused(&error))
    }

    /// The text without an entry.
    pub(super) fn without(&self, name: &str) -> Result<String, CliError> {
        let edited = self.client.format.remove(self.text(), self.client.table, name);
        edited.map_err(|error| self.refused(&error))
    }

    fn refused(&self, error: &Unreadable) -> CliError {
        CliError::failed(format!(
            "{} cannot be edited: {error}\nNothing was changed. Edit it by hand: `install {} --print` shows the entry.",
            self.path.display(),
            self.client.id
        ))
    }

    /// Replaces the text. Returns the path of the backup, if there was anything to back up.
    pub(super) fn write(&self, text: &str) -> Result<Option<PathBuf>, CliError> {
        let path = target(&self.path);
        let failed = |error: io::Error| {
            CliError::failed(format!(
                "{} cannot be written: {error}\nNothing was changed. `install {} --print` shows the entry to add by hand.",
                path.display(),
                self.client.id
            ))
        };
        let directory = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory).map_err(failed)?;
        let mode = self.text.as_ref().map(|_| fs::metadata(&path).map(|file| file.permissions()));
        let mode = mode.transpose().map_err(failed)?;
        let old = self.text.as_deref().filter(|old| !old.is_empty());
        let backup = match old {
            Some(old) => {
                let backup = suffixed(&path, BACKUP);
                replace(&backup, old, mode.as_ref(), false).map_err(failed)?;
                Some(backup)
            }
            None => None,
        };
        if fs::read(&path).ok().as_deref() != self.text.as_deref().map(str::as_bytes) {
            let text = format!("{} was changed by another program meanwhile; run the command again", path.display());
            return Err(CliError::failed(text));
        }
        replace(&path, text, mode.as_ref(), self.scope == Scope::User).map_err(failed)?;
        Ok(backup.map(plain_path))
    }
}

/// Where the text is: follows links, also one to a file that does not exist yet.
fn target(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // as many as Linux follows
    for _ in 0..40 {
        match fs::read_link(&path) {
            Ok(link) => path = path.parent().unwrap_or(Path::new("")).join(link),
            Err(_) => break,
        }
    }
    path
}

/// Writes a temporary file beside `path`, and renames it.
fn replace(path: &Path, text: &str, mode: Option<&Permissions>, private: bool) -> io::Result<()> {
    let temporary = suffixed(path, &format!(".{}.tmp", std::process::id()));
    let written = create(&temporary, mode.is_some() || private).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        if let Some(mode) = mode {
            file.set_permissions(mode.clone())?;
        }
        file.sync_all()?;
        drop(file);
        fs::rename(&temporary, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Entries hold tokens: a file is private from the beginning, until it has the mode of the one it replaces.
#[cfg(unix)]
fn create(path: &Path, private: bool) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mode = if private { 0o600 } else { 0o666 };
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}

#[cfg(not(unix))]
fn create(path: &Path, _private: bool) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
