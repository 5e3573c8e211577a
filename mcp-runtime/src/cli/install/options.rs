//! The command line of `install` and `uninstall`.

use std::collections::BTreeMap;
use std::ffi::OsString;

use lexopt::{Arg, Parser, ValueExt};

use super::client::Client;
use super::client::scope::Scope;
use super::program::InstallCommand;
use crate::cli::error::CliError;

/// What is asked for.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) mode: Mode,
    /// None with `--list` and `--help`.
    pub(super) client: Option<&'static Client>,
    pub(super) name: Option<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) scope: Scope,
    pub(super) http: Option<String>,
    pub(super) dev: bool,
    /// Edit the file, even where the client has a command.
    pub(super) edit: bool,
    /// The server's own arguments.
    pub(super) args: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Write,
    DryRun,
    Print,
    List,
    Help,
}

impl Options {
    pub(super) fn parse(command: InstallCommand, mut arguments: Vec<OsString>) -> Result<Self, CliError> {
        let mut options = Options {
            mode: Mode::Write,
            client: None,
            name: None,
            env: BTreeMap::new(),
            headers: BTreeMap::new(),
            scope: Scope::User,
            http: None,
            dev: false,
            edit: false,
            args: Vec::new(),
        };
        if let Some(end) = arguments.iter().position(|argument| argument == "--") {
            let rest = arguments.split_off(end).into_iter().skip(1);
            options.args = rest.map(ValueExt::string).collect::<Result<_, _>>()?;
        }
        let mut parser = Parser::from_args(arguments);
        while options.take(command, &mut parser)? {}
        options.check(command)?;
        Ok(options)
    }

    /// Takes one argument. False: there are no more.
    fn take(&mut self, command: InstallCommand, parser: &mut Parser) -> Result<bool, CliError> {
        let Some(argument) = parser.next()? else { return Ok(false) };
        let install = command == InstallCommand::Install;
        match argument {
            Arg::Short('h') | Arg::Long("help") => self.mode = Mode::Help,
            Arg::Long("dry-run") => self.mode = Mode::DryRun,
            Arg::Long("edit") => self.edit = true,
            Arg::Long("name") => self.name = Some(valid_name(parser.value()?.string()?)?),
            Arg::Long("scope") => self.scope = scope(&parser.value()?.string()?)?,
            Arg::Long("list") if install => self.mode = Mode::List,
            Arg::Long("print") if install => self.mode = Mode::Print,
            Arg::Long("dev") if install => self.dev = true,
            Arg::Long("http") if install => self.http = Some(url(parser.value()?.string()?)?),
            Arg::Short('e') | Arg::Long("env") if install => self.env.extend([variable(&parser.value()?.string()?)?]),
            Arg::Long("header") if install => self.headers.extend([header(&parser.value()?.string()?)?]),
            Arg::Value(id) if self.client.is_none() => self.client = Some(Client::named(&id.string()?)?),
            Arg::Value(other) => {
                let other = other.string()?;
                let text =
                    format!("unexpected argument `{other}`: one client at a time; the server's own go after `--`");
                return Err(CliError::usage(text));
            }
            other => return Err(other.unexpected().into()),
        }
        Ok(true)
    }

    fn check(&self, command: InstallCommand) -> Result<(), CliError> {
        let ids = || Client::all().iter().map(|client| client.id).collect::<Vec<_>>().join(", ");
        let mistake = match self {
            Options { mode: Mode::List | Mode::Help, .. } => return Ok(()),
            Options { client: None, .. } => {
                return Err(CliError::usage(format!(
                    "which client? `{} CLIENT`, one of: {}\n`install --list` shows those on this machine",
                    command.name(),
                    ids()
                )));
            }
            Options { args, .. } if command == InstallCommand::Uninstall && !args.is_empty() => {
                "`uninstall` takes no arguments of the server"
            }
            Options { http: Some(_), dev: true, .. } => "`--dev` starts a program: it does not go with `--http`",
            Options { http: Some(_), env, args, .. } if !env.is_empty() || !args.is_empty() => {
                "`--http` starts no program: `--env` and arguments after `--` do not go with it"
            }
            Options { http: None, headers, .. } if !headers.is_empty() => "`--header` goes with `--http URL`",
            _ => return Ok(()),
        };
        Err(CliError::usage(mistake))
    }
}

/// Every client takes these letters in the name of a server.
pub(super) fn is_valid_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '-'
}

fn valid_name(name: String) -> Result<String, CliError> {
    if !name.is_empty() && name.chars().all(is_valid_letter) {
        return Ok(name);
    }
    Err(CliError::usage(format!("`{name}` is no name that every client takes: use letters, digits, `-` and `_`")))
}

fn scope(text: &str) -> Result<Scope, CliError> {
    match text {
        "user" => Ok(Scope::User),
        "project" => Ok(Scope::Project),
        _ => Err(CliError::usage(format!("there is no scope `{text}`: `user` or `project`"))),
    }
}

fn url(text: String) -> Result<String, CliError> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    match rest {
        Some(rest) if !rest.is_empty() && !text.contains(char::is_whitespace) => Ok(text),
        _ => Err(CliError::usage(format!("`--http {text}`: expected a URL such as http://127.0.0.1:8000/mcp"))),
    }
}

fn variable(text: &str) -> Result<(String, String), CliError> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(CliError::usage(format!("`--env {text}`: expected NAME=VALUE"))),
    }
}

fn header(text: &str) -> Result<(String, String), CliError> {
    match text.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.trim().to_owned())),
        _ => Err(CliError::usage(format!("`--header '{text}'`: expected 'NAME: VALUE'"))),
    }
}
