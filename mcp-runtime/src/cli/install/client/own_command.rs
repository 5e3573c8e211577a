//! [`OwnCommand`]: the command that a client has for its own configuration.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Map, Value};

use super::launch::Launch;
use super::scope::Scope;
use crate::cli::error::CliError;
use crate::cli::install::machine::{Machine, OperatingSystem};

/// The command that a client has for its own configuration.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OwnCommand {
    Claude,
    Codex,
    Copilot,
    Gemini,
    VsCode,
}

/// A command to run.
#[derive(Debug)]
pub(crate) struct Invocation {
    program: &'static str,
    path: Option<PathBuf>,
    args: Vec<String>,
}

impl OwnCommand {
    fn program(self) -> &'static str {
        match self {
            OwnCommand::Claude => "claude",
            OwnCommand::Codex => "codex",
            OwnCommand::Copilot => "copilot",
            OwnCommand::Gemini => "gemini",
            OwnCommand::VsCode => "code",
        }
    }

    /// The command that adds a server. None if the client's command cannot say it.
    pub(crate) fn add(
        self,
        name: &str,
        launch: &Launch,
        entry: &Map<String, Value>,
        scope: Scope,
    ) -> Option<Invocation> {
        let mut args = match (self, scope) {
            (OwnCommand::Codex | OwnCommand::Copilot | OwnCommand::VsCode, Scope::Project) => return None,
            (OwnCommand::Claude, _) => claude(name, launch, &["--scope", scope.name()]),
            (OwnCommand::Copilot, _) => claude(name, launch, &[]),
            (OwnCommand::Codex, _) => codex(name, launch)?,
            (OwnCommand::Gemini, _) => gemini(name, launch, scope),
            (OwnCommand::VsCode, _) => {
                let mut named = Map::from_iter([("name".to_owned(), name.into())]);
                named.extend(entry.clone());
                words(&["--add-mcp", &Value::Object(named).to_string()])
            }
        };
        if !matches!(self, OwnCommand::VsCode) {
            args.splice(0..0, words(&["mcp", "add"]));
        }
        Some(Invocation { program: self.program(), path: None, args })
    }

    /// The command that removes a server. None if the client has none.
    pub(crate) fn remove(self, name: &str, scope: Scope) -> Option<Invocation> {
        let args = match (self, scope) {
            (OwnCommand::VsCode, _) | (OwnCommand::Codex | OwnCommand::Copilot, Scope::Project) => return None,
            (OwnCommand::Codex | OwnCommand::Copilot, _) => words(&["mcp", "remove", name]),
            (OwnCommand::Claude | OwnCommand::Gemini, _) => words(&["mcp", "remove", "--scope", scope.name(), name]),
        };
        Some(Invocation { program: self.program(), path: None, args })
    }
}

/// Claude's `--env` and `--header` take several values, and would swallow the name: another option stands between them.
fn claude(name: &str, launch: &Launch, scope: &[&str]) -> Vec<String> {
    let mut args = Vec::new();
    match launch {
        Launch::Command { command, args: rest, env, .. } => {
            args.extend(repeated("--env", "=", env));
            args.extend(words(&[&["--transport", "stdio"], scope, &[name, "--", command]].concat()));
            args.extend(rest.iter().cloned());
        }
        Launch::Http { url, headers } => {
            args.extend(repeated("--header", ": ", headers));
            args.extend(words(&[&["--transport", "http"], scope, &[name, url]].concat()));
        }
    }
    args
}

fn codex(name: &str, launch: &Launch) -> Option<Vec<String>> {
    let mut args = words(&[name]);
    match launch {
        Launch::Command { command, args: rest, env, .. } => {
            args.extend(repeated("--env", "=", env));
            args.extend(words(&["--", command]));
            args.extend(rest.iter().cloned());
        }
        Launch::Http { url, headers } if headers.is_empty() => args.extend(words(&["--url", url])),
        // it knows headers only by the names of environment variables
        Launch::Http { .. } => return None,
    }
    Some(args)
}

fn gemini(name: &str, launch: &Launch, scope: Scope) -> Vec<String> {
    let mut args = Vec::new();
    match launch {
        Launch::Command { command, args: rest, env, .. } => {
            args.extend(repeated("--env", "=", env));
            args.extend(words(&["--transport", "stdio", "--scope", scope.name(), name, command]));
            if !rest.is_empty() {
                args.push("--".to_owned());
                args.extend(rest.iter().cloned());
            }
        }
        Launch::Http { url, headers } => {
            args.extend(repeated("--header", ": ", headers));
            args.extend(words(&["--transport", "http", "--scope", scope.name(), name, url]));
        }
    }
    args
}

/// The option once per pair.
fn repeated(option: &str, between: &str, pairs: &[(String, String)]) -> impl Iterator<Item = String> {
    pairs.iter().flat_map(move |(name, value)| [option.to_owned(), format!("{name}{between}{value}")])
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().copied().map(str::to_owned).collect()
}

impl Invocation {
    /// Looks for the program on `PATH`.
    pub(crate) fn found(mut self, machine: &Machine) -> Option<Self> {
        self.path = Some(machine.find(self.program)?);
        Some(self)
    }

    /// As a person types it.
    pub(crate) fn line(&self, machine: &Machine) -> String {
        let words = self.args.iter().map(|word| quoted(word, machine.system()));
        std::iter::once(self.program.to_owned()).chain(words).collect::<Vec<_>>().join(" ")
    }

    /// Runs it. The error is what it says when it fails.
    pub(crate) fn run(&self, machine: &Machine) -> Result<(), CliError> {
        let path = self.path.as_deref().unwrap_or(Path::new(self.program));
        let output = Command::new(path)
            .args(&self.args)
            .current_dir(machine.directory())
            .stdin(Stdio::null())
            .output()
            .map_err(|error| CliError::failed(format!("`{}` cannot be started: {error}", path.display())))?;
        if output.status.success() {
            return Ok(());
        }
        let said = [output.stderr, output.stdout].map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
        let said = said.into_iter().find(|said| !said.is_empty()).unwrap_or_else(|| "(no output)".to_owned());
        let indented = said.replace('\n', "\n    ");
        Err(CliError::failed(format!("`{}` failed ({}):\n    {indented}", self.program, output.status)))
    }
}

/// A word for the shell of that system.
fn quoted(word: &str, system: OperatingSystem) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@%+,".contains(letter);
    match system {
        _ if !word.is_empty() && word.chars().all(plain) => word.to_owned(),
        OperatingSystem::Windows if word.chars().all(|letter| letter == '\\' || plain(letter)) && !word.is_empty() => {
            word.to_owned()
        }
        OperatingSystem::Windows => format!("\"{}\"", word.replace('"', "\\\"")),
        _ => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
