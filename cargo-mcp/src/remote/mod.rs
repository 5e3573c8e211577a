//! `cargo mcp tools|call|read|…`: the commands of a server's own command line, against any server.
//!
//! The server is a command (`-- npx some-server`), a URL (`--url`), one that is configured in a client (`--server
//! weather`), or, without these, that of the package in the current directory.

mod failed;
mod headers;
mod http;
mod lines;
mod process;
mod sse;

use std::ffi::OsString;
use std::process::ExitCode;

use mcp_runtime::cli::install::{Launch, Machine, configured};
use mcp_runtime::cli::{self, CliError, Query, Target};

use self::http::HttpWire;
use self::process::ServerProcess;
use crate::failure::Failure;

/// The server that is meant.
#[derive(Debug, Default, PartialEq, Eq)]
struct Server {
    url: Option<String>,
    headers: Vec<(String, String)>,
    environment: Vec<(String, String)>,
    directory: Option<String>,
    command: Vec<OsString>,
}

/// Runs a command against a server.
pub(crate) fn run(command: &str, arguments: Vec<OsString>) -> Result<ExitCode, Failure> {
    let (server, arguments) = Server::parse(arguments)?;
    let query = Query::parse(command, arguments)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::new)?;
    let done = runtime.block_on(server.ask(&query));
    // Not waited for: threads that still read from a server.
    runtime.shutdown_background();
    Ok(done?)
}

/// Examines the authorization of a server over HTTP.
pub(crate) fn doctor(arguments: Vec<OsString>) -> Result<ExitCode, Failure> {
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        return Ok(crate::help::print());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::new)?;
    Ok(runtime.block_on(cli::doctor(arguments))?)
}

impl Server {
    /// Takes the options that name the server; the others are the command's own.
    fn parse(arguments: Vec<OsString>) -> Result<(Self, Vec<OsString>), CliError> {
        let mut server = Server::default();
        let (mut rest, mut named) = (Vec::new(), None);
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let text = argument.to_string_lossy().into_owned();
            let (option, attached) = match text.split_once('=').filter(|_| text.starts_with("--")) {
                Some((option, value)) => (option, Some(value.to_owned())),
                None => (&*text, None),
            };
            let mut value = || {
                let value = attached.clone().or_else(|| arguments.next().and_then(|value| value.into_string().ok()));
                value.ok_or_else(|| CliError::usage(format!("`{option}` needs a value")))
            };
            match option {
                "--" => {
                    server.command = arguments.collect();
                    break;
                }
                "--url" => server.url = Some(value()?),
                "--server" => named = Some(value()?),
                "--header" => server.headers.push(pair(&value()?, ':', "--header 'Name: value'")?),
                "--env" => server.environment.push(pair(&value()?, '=', "--env NAME=value")?),
                _ => rest.push(argument),
            }
        }
        let given = [server.url.is_some(), !server.command.is_empty(), named.is_some()];
        if given.iter().filter(|given| **given).count() > 1 {
            return Err(CliError::usage("name one server: `--url URL`, `--server NAME`, or `-- COMMAND`"));
        }
        if let Some(name) = named {
            server.launch(&name)?;
        }
        Ok((server, rest))
    }

    /// Takes the server from the configuration of a client.
    fn launch(&mut self, name: &str) -> Result<(), CliError> {
        match configured(&Machine::this()?).find(name)?.launch.clone() {
            Launch::Http { url, headers } => {
                self.url = Some(url);
                self.headers.extend(headers);
            }
            Launch::Command { command, args, env, directory } => {
                self.command = [vec![command], args].concat().into_iter().map(OsString::from).collect();
                self.environment = [env, std::mem::take(&mut self.environment)].concat();
                self.directory = directory;
            }
        }
        Ok(())
    }

    async fn ask(self, query: &Query) -> Result<ExitCode, CliError> {
        if let Some(url) = &self.url {
            let (wire, target) = HttpWire::open(url, self.headers)?;
            let done = cli::run(query, target).await;
            wire.close();
            return done;
        }
        let mut process = ServerProcess::start(&self.command, &self.environment, self.directory.as_deref())?;
        let target = Target::new(process.client());
        let done = cli::run(query, target).await;
        process.end(done)
    }
}

fn pair(text: &str, separator: char, usage: &str) -> Result<(String, String), CliError> {
    let (name, value) = text.split_once(separator).ok_or_else(|| CliError::usage(format!("write `{usage}`")))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<(Server, Vec<OsString>), CliError> {
        Server::parse(line.split(' ').map(OsString::from).collect())
    }

    #[test]
    fn options_of_the_server_are_told_from_those_of_the_command() {
        let (server, rest) = parse("add a=1 --raw --env A=b=c -- npx --url x").unwrap();
        assert_eq!(rest, ["add", "a=1", "--raw"]);
        assert_eq!(server.command, ["npx", "--url", "x"]);
        assert_eq!(server.environment, [("A".to_owned(), "b=c".to_owned())]);
        let (server, _) = parse("--url=http://x/mcp --header Authorization:Bearer").unwrap();
        assert_eq!(server.url.as_deref(), Some("http://x/mcp"));
        assert_eq!(server.headers, [("Authorization".to_owned(), "Bearer".to_owned())]);
        assert!(parse("--url http://x -- npx y").unwrap_err().to_string().contains("name one server"));
        assert_eq!(parse("--url").unwrap_err().code(), 2);
    }
}
