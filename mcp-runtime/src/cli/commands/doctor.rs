//! `doctor [URL]`: what is wrong with the authorization of a live server.

use std::ffi::OsString;
use std::io::{Write as _, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use lexopt::{Arg, Parser, ValueExt as _};
use serde_json::json;

use crate::auth::doctor::{Check, Diagnosis, Doctor, Finding, Status};
use crate::auth::{Auth, HttpsFetcher, Secret};
use crate::cli::error::CliError;
use crate::cli::show::content::written;
use crate::cli::show::text::{clean, wrapped};
use crate::cli::terminal::{Terminal, say};

/// Where what was seen begins.
const COLUMN: usize = 30;

/// What was typed after the command.
#[derive(Debug, Default)]
struct Options {
    url: Option<String>,
    token_env: Option<String>,
    ca_file: Option<PathBuf>,
    json: bool,
}

/// Examines the server at the URL that was typed, or that of this program's own authorization, with the scopes of its handlers.
pub(crate) async fn run(
    arguments: impl IntoIterator<Item = OsString>,
    own: Option<(&Auth, Vec<String>)>,
) -> Result<ExitCode, CliError> {
    let options = Options::parse(arguments)?;
    let mut doctor = options.doctor(own)?;
    if let Some(name) = &options.token_env {
        let token = std::env::var(name).ok().filter(|token| !token.is_empty());
        let missing = || CliError::usage(format!("the environment variable `{name}` has no token: `export {name}=…`"));
        doctor = doctor.token(Secret::from(token.ok_or_else(missing)?));
    }
    if let Some(path) = &options.ca_file {
        let unreadable = |error: &dyn std::fmt::Display| CliError::usage(format!("`{}`: {error}", path.display()));
        let pem = std::fs::read(path).map_err(|error| unreadable(&error))?;
        doctor = doctor.client(HttpsFetcher::with_root_certificates(&pem).map_err(|error| unreadable(&error))?);
    }
    if Terminal::stderr().is_interactive() {
        say!("{}", Terminal::stderr().dim("asking the server, and the authorization servers it names …"));
    }
    let diagnosis = doctor.examine().await;
    if options.json { as_json(&diagnosis) } else { as_table(&diagnosis) }?;
    Ok(if diagnosis.is_healthy() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Options {
    fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, CliError> {
        let mut options = Options::default();
        let mut parser = Parser::from_args(arguments);
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Value(url) if options.url.is_none() => options.url = Some(url.string()?),
                Arg::Value(other) => {
                    let text = format!("unexpected argument `{}`: write `doctor URL`", other.display());
                    return Err(CliError::usage(text));
                }
                Arg::Long("token-env") => options.token_env = Some(parser.value()?.string()?),
                Arg::Long("ca-file") => options.ca_file = Some(parser.value()?.into()),
                Arg::Long("json") => options.json = true,
                other => return Err(other.unexpected().into()),
            }
        }
        Ok(options)
    }

    /// The configuration says more than a URL, if it is about that URL.
    fn doctor(&self, own: Option<(&Auth, Vec<String>)>) -> Result<Doctor, CliError> {
        let configured = own.filter(|(auth, _)| auth.resource_url().is_some());
        match (&self.url, configured) {
            (Some(url), Some((auth, scopes))) if auth.resource_url() == Some(url) => {
                Ok(Doctor::of(auth).scopes(scopes))
            }
            (None, Some((auth, scopes))) => Ok(Doctor::of(auth).scopes(scopes)),
            (Some(url), _) => Ok(Doctor::new(url)),
            (None, None) => Err(CliError::usage(
                "write `doctor URL`, the URL that people type into their client; a server whose `Server::authorize` has a \
                 `resource` knows its own",
            )),
        }
    }
}

fn as_json(diagnosis: &Diagnosis) -> Result<(), CliError> {
    let finding = |Finding { check, status, seen, remedy }: &Finding| json!({"check": check.as_str(), "status": status.as_str(), "seen": seen, "remedy": remedy});
    let findings: Vec<_> = diagnosis.findings.iter().map(finding).collect();
    let all = json!({"resource": diagnosis.resource, "healthy": diagnosis.is_healthy(), "findings": findings});
    written(writeln!(stdout().lock(), "{}", serde_json::to_string_pretty(&all).unwrap_or_default()))
}

fn as_table(diagnosis: &Diagnosis) -> Result<(), CliError> {
    let terminal = Terminal::stdout();
    let mut out = stdout().lock();
    written(writeln!(out, "{}\n", terminal.bold(&diagnosis.resource)))?;
    for finding in &diagnosis.findings {
        written(out.write_all(row(finding, terminal).as_bytes()))?;
    }
    let count = |status| diagnosis.count(status);
    let has_token = diagnosis.findings.iter().any(|finding| finding.check == Check::Token);
    let good = terminal.green(if has_token { "clients can connect" } else { "no failures" });
    let summary = match (count(Status::Failure), count(Status::Warning)) {
        (0, 0) => good.to_string(),
        (0, warnings) => format!("{good}, but see the warnings: {warnings}"),
        (failures, warnings) => {
            format!("{} {failures}, warnings: {warnings}", terminal.red("failures:"))
        }
    };
    written(writeln!(out, "\n{summary}"))?;
    if !has_token {
        let more = "what tokens say (for whom they are, and their scopes) is seen with one: `--token-env NAME`";
        written(writeln!(out, "{}", terminal.dim(more)))?;
    }
    Ok(())
}

fn row(Finding { check, status, seen, remedy }: &Finding, terminal: Terminal) -> String {
    let name = format!("{:<7}", status.as_str());
    let name = match status {
        Status::Ok => terminal.green(name).to_string(),
        Status::Warning => terminal.yellow(name).to_string(),
        Status::Failure => terminal.red(name).to_string(),
        Status::Skipped => terminal.dim(name).to_string(),
    };
    let indented = |text: &str| wrapped(&clean(terminal, text), COLUMN, terminal.width().max(COLUMN + 40));
    let remedy = remedy.as_ref().map(|remedy| terminal.cyan(indented(&format!("→ {remedy}"))).to_string() + "\n");
    format!("{name}  {:<19}  {}\n{}", check.as_str(), indented(seen).trim_start(), remedy.unwrap_or_default())
}
