//! `schema` and `lint`: everything a server offers, and what is to improve about it.

use std::io::{Write as _, stdout};
use std::process::ExitCode;

use serde_json::json;

use crate::cli::error::CliError;
use crate::cli::query::{Command, Query};
use crate::cli::show::content::written;
use crate::cli::terminal::Terminal;
use crate::error::PAGE;
use crate::lint::{self, Finding, LintOptions};
use crate::surface::Surface;

pub(super) fn show(query: &Query, surface: &Surface) -> Result<ExitCode, CliError> {
    if query.command == Command::Schema {
        written(stdout().lock().write_all(surface.to_json().as_bytes()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let findings = lint::check(surface, &LintOptions::new());
    if query.options.json { as_json(&findings) } else { as_text(&findings) }?;
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn as_json(findings: &[Finding]) -> Result<(), CliError> {
    let finding = |Finding { rule, place, text, remedy }: &Finding| json!({"rule": rule.as_str(), "place": place, "text": text, "remedy": remedy});
    let all: Vec<_> = findings.iter().map(finding).collect();
    written(writeln!(stdout().lock(), "{}", serde_json::to_string_pretty(&all).unwrap_or_default()))
}

fn as_text(findings: &[Finding]) -> Result<(), CliError> {
    let terminal = Terminal::stdout();
    let mut out = stdout().lock();
    for Finding { rule, place, text, remedy } in findings {
        let (warning, place, rule) =
            (terminal.yellow("warning:"), terminal.bold(place), terminal.dim(format!("[{rule}]")));
        written(writeln!(out, "{warning} {place}: {text} {rule}\n  {remedy}"))?;
    }
    let rule = lint::section(findings);
    let summary = match findings.len() {
        0 => terminal.green("no findings").to_string(),
        1 => format!("1 finding; see {PAGE}#{rule}"),
        count => format!("{count} findings; see {PAGE}#{rule}"),
    };
    written(writeln!(out, "{summary}"))
}
