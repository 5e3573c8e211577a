//! The command line of a server.
#![doc = include_str!("../../docs/cli.md")]

mod commands;
mod error;
pub mod install;
mod page;
mod query;
mod questions;
mod show;
mod target;
pub mod terminal;
mod values;

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _, stdin, stdout};
use std::process::ExitCode;

pub use commands::run;
pub use error::CliError;
pub use query::Query;
pub use target::Target;

use self::install::{InstallCommand, Machine, Program};
use self::show::content::written;
use self::terminal::{Terminal, say};
use crate::server::Server;

/// The closest of these names to one that does not exist, if it is close: "did you mean …?".
pub fn closest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    crate::suggest::closest(name, candidates)
}

impl Server {
    /// Runs the server as a program: it serves the client that started it, or does what the command line says. See
    /// [`cli`](crate::cli).
    ///
    /// It prints errors itself, so `main` is one line:
    ///
    /// ```no_run
    /// use std::process::ExitCode;
    /// use mcp_runtime::prelude::*;
    ///
    /// /// Add two integers.
    /// #[tool(read_only)]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// #[tokio::main]
    /// async fn main() -> ExitCode {
    ///     Server::new("hello", "0.1.0").tools(tools![add]).run().await
    /// }
    /// ```
    pub async fn run(self) -> ExitCode {
        self.run_with(std::env::args_os().skip(1)).await
    }

    /// Like [`run`](Self::run), with these arguments instead of the process's: those that the program's own parser
    /// leaves. The first is the command, not the program's name.
    pub async fn run_with(self, arguments: impl IntoIterator<Item: Into<OsString>>) -> ExitCode {
        let arguments = arguments.into_iter().map(Into::into).collect();
        match self.execute(arguments).await {
            Ok(code) => code,
            Err(error) => error.report(),
        }
    }

    async fn execute(self, arguments: Vec<OsString>) -> Result<ExitCode, CliError> {
        self.check_set_up().map_err(CliError::Failed)?;
        let mut rest = arguments.into_iter();
        let Some(first) = rest.next() else { return self.start().await };
        let first = first.into_string().map_err(|other| CliError::usage(format!("no command {}", other.display())))?;
        let (option, attached) = match first.split_once('=').filter(|_| first.starts_with("--")) {
            Some((option, value)) => (option, Some(value.to_owned())),
            None => (&*first, None),
        };
        match option {
            "--stdio" => self.serve_stdio().await.map(|()| ExitCode::SUCCESS).map_err(CliError::failed),
            "--http" => {
                let address = attached.or_else(|| rest.next().and_then(|address| address.into_string().ok()));
                self.listen(&listen_address(address.as_deref())).await
            }
            "--help" | "-h" | "help" => self.print(page::help),
            "--version" | "-V" => self.print(|name, version, _, _| format!("{name} {version}\n")),
            #[cfg(feature = "auth-fetch")]
            "doctor" => {
                if is_help(rest.as_slice()) {
                    return self.print(page::help);
                }
                let scopes = self.surface().scopes();
                commands::doctor::run(rest, self.auth.auth.as_ref().map(|auth| (auth, scopes))).await
            }
            #[cfg(not(feature = "auth-fetch"))]
            "doctor" => Err(missing_feature("auth-fetch")),
            "install" => self.install(InstallCommand::Install, rest.collect()),
            "uninstall" => self.install(InstallCommand::Uninstall, rest.collect()),
            command if Query::is_command(command) => {
                if is_help(rest.as_slice()) {
                    return self.print(page::help);
                }
                let query = Query::parse(command, rest)?;
                run(&query, Target::server(self)).await
            }
            other => {
                let others = ["doctor", "install", "uninstall", "--http", "--stdio", "--help", "--version"];
                let known = Query::commands().chain(others);
                let hint = crate::suggest::closest(other, known).map(|meant| format!("did you mean `{meant}`? "));
                Err(CliError::usage(format!("no command `{other}`; {}`--help` lists them", hint.unwrap_or_default())))
            }
        }
    }

    /// Without arguments: a client talks through a pipe, a person sits at a terminal.
    async fn start(self) -> Result<ExitCode, CliError> {
        if !stdin().is_terminal() {
            return self.serve_stdio().await.map(|()| ExitCode::SUCCESS).map_err(CliError::failed);
        }
        let program = page::program(&self.info.name);
        say!("{}", page::page(&self.surface(), &self.info.version, &program, Terminal::stderr()).trim_end());
        Ok(ExitCode::SUCCESS)
    }

    #[cfg(feature = "http")]
    async fn listen(self, address: &str) -> Result<ExitCode, CliError> {
        self.into_service().serve_by_hand(address).await.map(|()| ExitCode::SUCCESS).map_err(CliError::failed)
    }

    #[cfg(not(feature = "http"))]
    #[allow(clippy::unused_async, clippy::unused_self)]
    async fn listen(self, _address: &str) -> Result<ExitCode, CliError> {
        Err(missing_feature("http"))
    }

    fn install(&self, command: InstallCommand, arguments: Vec<OsString>) -> Result<ExitCode, CliError> {
        let machine = Machine::this()?;
        let all: Vec<OsString> = std::env::args_os().skip(1).collect();
        let rest = [&[command.name().into()], &arguments[..]].concat();
        let program = Program::this(&self.info.name)?.with_own_arguments(&all, &rest, &machine);
        install::run(command, arguments, &program, &machine, &mut stdout().lock(), Terminal::stdout())?;
        Ok(ExitCode::SUCCESS)
    }

    fn print(&self, text: impl FnOnce(&str, &str, &str, Terminal) -> String) -> Result<ExitCode, CliError> {
        let program = page::program(&self.info.name);
        let text = text(&self.info.name, &self.info.version, &program, Terminal::stdout());
        written(stdout().lock().write_all(text.as_bytes())).map(|()| ExitCode::SUCCESS)
    }
}

fn is_help(arguments: &[OsString]) -> bool {
    arguments.iter().any(|argument| argument == "--help" || argument == "-h")
}

/// The error of a command that needs another feature.
#[cfg(not(all(feature = "http", feature = "auth-fetch")))]
fn missing_feature(name: &str) -> CliError {
    let remedy = format!("in Cargo.toml: `mcp-runtime = {{ version = \"0.1\", features = [\"cli\", \"{name}\"] }}`");
    CliError::usage(format!("this server was built without the feature `{name}` of mcp-runtime; {remedy}"))
}

/// Runs `doctor URL` with these arguments: examines the authorization of a live server. See
/// [`Doctor`](crate::auth::doctor::Doctor). Requires the feature `auth-fetch`.
///
/// # Errors
///
/// If the command line is wrong. What is wrong with the server is printed, and told by the exit code: 0 or 1.
#[cfg(feature = "auth-fetch")]
pub async fn doctor(arguments: impl IntoIterator<Item = OsString>) -> Result<ExitCode, CliError> {
    commands::doctor::run(arguments, None).await
}

/// `--http`, `--http 8080` and `--http :8080` listen on this machine only.
fn listen_address(given: Option<&str>) -> String {
    match given {
        None => "127.0.0.1:8080".to_owned(),
        Some(port) if port.trim_start_matches(':').parse::<u16>().is_ok() => {
            format!("127.0.0.1:{}", port.trim_start_matches(':'))
        }
        Some(address) => address.to_owned(),
    }
}

/// The type a JSON Schema describes, as signatures have it: `integer`, `string[]`, `"metric" | "imperial"`. References
/// are looked up in `root`.
pub fn type_text(root: &serde_json::Value, schema: &serde_json::Value) -> String {
    show::schema::type_text(root, schema)
}

#[cfg(test)]
mod tests {
    use super::listen_address;

    #[test]
    fn addresses_may_be_short() {
        assert_eq!(listen_address(None), "127.0.0.1:8080");
        assert_eq!(listen_address(Some("9000")), "127.0.0.1:9000");
        assert_eq!(listen_address(Some(":9000")), "127.0.0.1:9000");
        assert_eq!(listen_address(Some("0.0.0.0:80")), "0.0.0.0:80");
        assert_eq!(listen_address(Some("[::1]:80")), "[::1]:80");
    }
}
